import Foundation
import LoopbackReceiver
import Testing

/// What an operator sees of a queue: the verdict, the log, the page, the status of a monitor.
struct EyesTests {
    private func log(_ queue: Drainq) throws -> String { try queue.run("log", "--verbose").output }

    private func setRuns(_ queue: Drainq, secondsAgo: [Int]) throws {
        var ring = Data(count: 1500 * 11)
        for ago in secondsAgo {
            let seconds = Int(Date().timeIntervalSince1970) - ago
            let start = seconds / 60 % 1500 * 11
            ring.replaceSubrange(start..<start + 11, with: Data("\(seconds)\n".utf8))
        }
        try ring.write(to: queue.queue.appending(path: "state/runs"))
    }

    // MARK: - The verdict

    @Test func `a monitor gets one line with figures and the status of a plugin`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(204)))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        func check() throws -> Finished { try queue.run("status", "--check") }
        let fresh = try check()
        #expect(fresh.status == 0 && fresh.lines.count == 1)
        #expect(fresh.output.hasPrefix("DRAINQ OK - nothing has been sent yet | waiting=0 due=0 oldest=0s failed=0 "))
        try queue.run("add", input: "1")
        #expect(try check().status == 1)
        try queue.run("run")
        let well = try check()
        #expect(well.status == 0 && well.output.hasPrefix("DRAINQ OK - all is well: nothing waits | "))
        try queue.run("add", input: "1")
        try setRuns(queue, secondsAgo: [4000, 4060, 4120])
        let dead = try check()
        #expect(
            dead.status == 2 && dead.output.hasPrefix("DRAINQ CRITICAL - nobody runs this queue: no run for 1h 6m | "))
        try queue.run("pause")
        #expect(try check().status == 0)
        try queue.run("resume")
        try Data("what\n".utf8).write(to: queue.queue.appending(path: "state/destinations.json"))
        #expect(try check().status == 3)
        let gone = try queue.run("status", "--check", "--queue", queue.directory.appending(path: "none").path)
        #expect(gone.status == 3 && gone.output.hasPrefix("DRAINQ UNKNOWN - "))
    }

    @Test func `runs that end with 77 are no runs for a monitor`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(204)))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: "1")
        try queue.run("run")
        try setRuns(queue, secondsAgo: [4000, 4060, 4120])
        try queue.run("add", input: "2")
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: queue.queue.path)
        for _ in 0..<2 { #expect(try queue.run("run").status == 77) }
        let check = try queue.run("status", "--check")
        #expect(check.status == 2 && check.output.hasPrefix("DRAINQ CRITICAL - nobody runs this queue: no run for 1h "))
        #expect(try queue.run("status").lines[1].contains("A run that cannot begin or is killed does not count"))
    }

    @Test func `a broken configuration is named first, what is in the queue is shown, and cron is told once an hour`()
        throws
    {
        let queue = try Drainq()
        try queue.run("add", input: "1")
        try Data("{ routes: { ".utf8).write(to: queue.queue.appending(path: "drainq.json"))
        let status = try queue.run("status")
        #expect(status.status == 0 && status.lines[0].hasPrefix("the configuration cannot be read: "))
        #expect(status.output.contains("1 new"))
        for command in ["list", "log"] {
            let shown = try queue.run(command)
            #expect(shown.status == 0 && shown.error.hasPrefix("drainq: error: runs send nothing: "))
        }
        #expect(try queue.run("list").lines.count == 2)
        #expect(try queue.run("status", "--check").status == 2)
        // The same holds for a configuration that --config names.
        let path = queue.queue.appending(path: "drainq.json").path
        try FileManager.default.moveItem(atPath: path, toPath: path + "5")
        #expect(try queue.run("status", "--config", path + "5").output.contains("drainq.json5:1:13: "))
        for named in [path + "5", path + "6"] {
            #expect(try queue.run("status", "--check", "--config", named).status == 2)
        }
        try FileManager.default.moveItem(atPath: path + "5", toPath: path)
        let runs = try (0..<3).map { _ in try queue.run("run") }
        #expect(runs.map(\.status) == [78, 78, 78] && runs.map(\.error.isEmpty) == [false, true, true])
    }

    @Test func `a directory of metrics that is not there is told once, and check names it`() throws {
        let queue = try Drainq("{ metrics: { textfile: 'gone/drainq.prom', page: 'none/page.html' } }")
        let runs = try (0..<2).map { _ in try queue.run("run") }
        #expect(runs.map(\.error.isEmpty) == [false, true])
        let check = try queue.run("check")
        #expect(check.error.contains("/gone/drainq.prom' of 'metrics.textfile'"))
        #expect(check.error.contains("/none/page.html' of 'metrics.page'"))
    }

    @Test func `a directory in the place of a file of metrics is told once with a hint, and check names it`() throws {
        let queue = try Drainq("{ metrics: { page: '../queue/state' } }")
        let runs = try (0..<2).map { _ in try queue.run("run") }
        #expect(runs.map(\.error.isEmpty) == [false, true])
        #expect(runs[0].error.contains("Is a directory") && runs[0].error.contains("hint: the path is that of a file"))
        let check = try queue.run("check")
        #expect(check.status == 78 && check.error.contains("state' of 'metrics.page': it is a directory"))
    }

    // MARK: - The feed

    @Test func `what add and import put into quarantine is logged, counted, and told by the next run's hook`() throws {
        let queue = try Drainq("{ hooks: { quarantined: ['tee', '-a', 'told'], atMostEvery: '0s' } }")
        try queue.run("add", input: "bad\nworse\n1\n")
        try queue.run("import", input: "no export\n")
        #expect(try log(queue).contains("2 files into quarantine") && log(queue).contains("1 file into quarantine"))
        #expect(
            try queue.run("status", "--prometheus").output.contains(
                "drainq_quarantined_total{queue=\"\(queue.queue.path)\"} 3"))
        let file = queue.queue.appending(path: "told")
        #expect(!FileManager.default.fileExists(atPath: file.path))
        try queue.run("run")
        let told = try String(contentsOf: file, encoding: .utf8)
        #expect(told.contains("\"event\":\"quarantined\"") && told.contains("\"count\":3"))
        try queue.run("run")
        #expect(try String(contentsOf: file, encoding: .utf8) == told)
    }

    @Test func `import is logged, with what it replaced`() throws {
        let queue = try Drainq()
        try queue.run("add", input: "{\"amount\":1}")
        let export = try queue.run("export").output
        try queue.run("import", "--replace", input: export.replacing("\"amount\":1", with: "\"amount\":1000"))
        #expect(try log(queue).contains("import --replace by "))
        try queue.run("drop", "--all")
        try queue.run("import", input: export)
        #expect(try log(queue).contains("import by "))
    }

    @Test func `a command that ends nothing says so, and is no line of the log`() throws {
        let queue = try Drainq()
        #expect(try queue.run("resume").error.contains("is not paused") && log(queue).isEmpty)
        try queue.run("pause")
        let once = try log(queue)
        #expect(try queue.run("pause").error.contains("paused already") && log(queue) == once)
    }

    @Test func `the target of a redirect is shown wherever the hold is`() throws {
        let target = "https://new.example.com/v9/orders"
        let receiver = try LoopbackReceiver(
            script: .always(.status(301, headers: [HeaderLine("Location", target)])))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: "1\n2\n3\n")
        let run = try queue.run("run")
        let shown = try [
            run.error, queue.run("status").output, queue.run("status", "--json").output, log(queue),
            queue.run("status", "--html").output, queue.run("list", "--json").output,
        ]
        for text in shown { #expect(text.contains(target)) }
        #expect(shown[1].contains("301 \"Location: \(target)\""))
    }

    @Test
    func `one command releases every destination that is held for one answer, and all names the operator's holds`()
        throws
    {
        let receiver = try LoopbackReceiver(script: .always(.status(401)))
        defer { receiver.stop() }
        let url = receiver.url
        let queue = try Drainq(
            "{ routes: { a: { url: '\(url)/a', destination: 'a' }, b: { url: '\(url)/b', destination: 'b' }, c: { url: '\(url)/c', destination: 'c' } } }"
        )
        for type in ["a", "b"] { try queue.run("add", "--type", type, input: "1\n2\n3\n") }
        try queue.run("run")
        try queue.run("hold", "--destination", "c", "--reason", "mine")
        #expect(try queue.run("release", "--status", "503").output.isEmpty)
        #expect(try queue.run("release", "--status", "401").lines == ["a", "b"])
        let all = try queue.run("release", "--all")
        #expect(all.error.contains("was held by a person: mine"))
    }

    @Test func `commands of a mail and of a page name the queue by its full path`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(401)))
        defer { receiver.stop() }
        let queue = try Drainq("{ routes: { default: { url: '\(receiver.url)/x' } }, metrics: { page: 'p.html' } }")
        try queue.run("add", input: "1\n2\n3\n")
        let mail = try queue.run("run").error
        #expect(mail.contains("'drainq release --destination \(receiver.url) --queue \(queue.queue.path)'"))
        let page = try String(contentsOf: queue.queue.appending(path: "p.html"), encoding: .utf8)
        #expect(page.contains("drainq release --destination \(receiver.url) --queue \(queue.queue.path)<"))
    }

    @Test func `a run without work writes the page again after a minute, and reads no log for it`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(204)))
        defer { receiver.stop() }
        let queue = try Drainq("{ routes: { default: { url: '\(receiver.url)/x' } }, metrics: { page: 'p.html' } }")
        try queue.run("add", input: "1")
        try queue.run("run")
        let page = queue.queue.appending(path: "p.html")
        let first = try String(contentsOf: page, encoding: .utf8)
        #expect(first.contains("All is well: nothing waits."))
        try queue.run("run")
        #expect(try String(contentsOf: page, encoding: .utf8) == first)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -61)], ofItemAtPath: page.path)
        // A log of the same size and inode is known: its bytes are not read.
        let events = queue.queue.appending(path: "state/log/events")
        let handle = try FileHandle(forWritingTo: events)
        try handle.write(contentsOf: Data("{}".utf8))
        try handle.close()
        try queue.run("run")
        let attributes = try FileManager.default.attributesOfItem(atPath: page.path)
        #expect(try #require(attributes[.modificationDate] as? Date).timeIntervalSinceNow > -30)
    }
}
