import DrainqCLI
import Foundation
import LoopbackReceiver
import Testing

/// Programs that a run calls for events.
struct HookTests {
    /// A queue with scripts of `sh` as hooks, by event.
    private func queue(
        to receiver: LoopbackReceiver, every: String = "0s", _ hooks: [String: String], more: String = ""
    ) throws -> Drainq {
        let queue = try Drainq()
        var keys = ""
        for (event, script) in hooks {
            let file = queue.directory.appending(path: "hook-\(event)")
            try "cd '\(queue.directory.path)' || exit 9\n\(script)\n".write(
                to: file, atomically: true, encoding: .utf8)
            // The shell reads the file. Execution would fail while a child of a concurrent test has the file open.
            keys += "\(event): [\"/bin/sh\", \"\(file.path)\", \"an argument\"], "
        }
        let text = """
            { routes: { default: { url: "\(receiver.url)/{type}", headers: { X: "${secret:t}" } } },
              secrets: { t: { env: "HOOK_TEST_TOKEN" } }, \(more)
              hooks: { \(keys) atMostEvery: "\(every)" } }
            """
        try text.write(to: queue.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        queue.environment["HOOK_TEST_TOKEN"] = "hidden-token"
        return queue
    }

    private func told(_ queue: Drainq, _ file: String = "told") throws -> [[String: Any]] {
        let url = queue.directory.appending(path: file)
        guard FileManager.default.fileExists(atPath: url.path) else { return [] }
        return try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map { line in
            try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    /// Whoever recovers a dead run tells what the run could not tell any more.
    @Test(arguments: [["run"], ["check", "--repair"], ["send", "--type", "t"]])
    func `the failures of a run that was killed reach the log, the counters and the hook`(next: [String]) throws {
        let receiver = try LoopbackReceiver(
            script: .deciding { _, index in
                index == 0 ? .status(422) : index == 2 ? .status(204).delayed(.seconds(30)) : .status(204)
            })
        defer { receiver.stop() }
        let queue = try queue(to: receiver, ["failed": "cat >> told"])
        let path = queue.queue.appending(path: "drainq.json")
        try String(contentsOf: path, encoding: .utf8)
            .replacingOccurrences(of: "{type}\",", with: "{type}\", ordering: \"key\", onFailure: \"continue\",")
            .write(to: path, atomically: true, encoding: .utf8)
        let ids = try queue.run("add", "--type", "t", input: numbered(3)).lines
        let victim = try queue.start("run", "--concurrency", "1")
        #expect(receiver.wait(forRequests: 3, within: .seconds(120)))
        while try queue.names("failed").isEmpty { usleep(1000) }
        victim.signal(SIGKILL)
        _ = try victim.finish()
        #expect(try told(queue).isEmpty)
        let answer = try queue.shell("echo '{}' | HOOK_TEST_TOKEN=t drainq " + next.joined(separator: " "))
        let mail = answer.error + (try queue.run("run").error)
        if next == ["run"] { #expect(answer.status == 1 && answer.error.contains(ids[0]), "\(answer)") }
        if next[0] == "check" { #expect(mail.contains("1 operation failed at '\(receiver.url)': 422"), "\(mail)") }
        let told = try told(queue)
        #expect(told.count == 1 && told.first?["ids"] as? [String] == [ids[0]], "\(told)")
        let log = try queue.run("log").output
        #expect(log.contains("1 operation failed"), "\(log)")
        let counts = try String(contentsOf: queue.queue.appending(path: "state/reports.json"), encoding: .utf8)
        #expect(counts.contains(#""failed":1"#), "\(counts)")
    }

    @Test(arguments: [["run"], ["check", "--repair"], ["send", "--type", "t", "--key", "k"]])
    func `what a run that was killed had delivered reaches the log, the counters and the hook`(next: [String]) throws {
        let receiver = try LoopbackReceiver(
            script: .deciding { _, index in index == 0 ? .status(204).delayed(.seconds(30)) : .status(204) })
        defer { receiver.stop() }
        let queue = try queue(to: receiver, ["delivered": "cat >> told"])
        let path = queue.queue.appending(path: "drainq.json")
        try String(contentsOf: path, encoding: .utf8)
            .replacingOccurrences(of: "{type}\",", with: "{type}\", ordering: \"key\",")
            .write(to: path, atomically: true, encoding: .utf8)
        let ids = try queue.run("add", "--type", "t", input: numbered(1)).lines
        let victim = try queue.start("run")
        #expect(receiver.wait(forRequests: 1, within: .seconds(120)))
        victim.signal(SIGKILL)
        _ = try victim.finish()
        try queue.markDelivered()
        #expect(try queue.start(next, input: next[0] == "send" ? "1" : "").finish().status == 0)
        for _ in 0..<2 { try queue.run("run") }
        #expect(try told(queue).compactMap { $0["ids"] as? [String] } == [ids])
        #expect(try queue.run("log").output.contains("\(receiver.url): "))
        let counts = try String(contentsOf: queue.queue.appending(path: "state/reports.json"), encoding: .utf8)
        #expect(counts.contains(next[0] == "send" ? #""delivered":2"# : #""delivered":1"#), "\(counts)")
    }

    /// The ledger of reports owes the log what the log refuses.
    @Test func `failures that could not be logged are counted once, and logged once by a later run`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(422)))
        defer { receiver.stop() }
        let queue = try queue(to: receiver, ["failed": "cat >> told"])
        try queue.run("add", "--type", "t", input: numbered(1))
        let log = queue.queue.appending(path: "state/log")
        try "".write(to: log, atomically: false, encoding: .utf8)
        #expect(try queue.run("run").status == 1)
        #expect(try queue.names("claimed").isEmpty)
        let next = try queue.run("run")
        #expect(next.status == 0 && next.error.isEmpty, "told within the hour: \(next)")
        try FileManager.default.removeItem(at: log)
        #expect(try !queue.run("log").output.contains("failed"))
        for _ in 0..<2 {
            #expect(try queue.run("run").status == 0)
            #expect(try queue.run("log").output.components(separatedBy: "1 operation failed").count == 2)
        }
        let counts = try String(contentsOf: queue.queue.appending(path: "state/reports.json"), encoding: .utf8)
        #expect(counts.contains(#""failed":1"#), "\(counts)")
        #expect(try told(queue).map { $0["count"] as? Int } == [1])
    }

    @Test(arguments: [["run"], ["check", "--repair"], ["send", "--type", "t", "--key", "k"]])
    func `what a recovery quarantines reaches its user, the log, the counters and the hook`(next: [String]) throws {
        let receiver = try LoopbackReceiver(
            script: .deciding { _, index in index < 5 ? .status(204).delayed(.seconds(30)) : .status(204) })
        defer { receiver.stop() }
        let queue = try queue(to: receiver, ["quarantined": "cat >> told"])
        let path = queue.queue.appending(path: "drainq.json")
        try String(contentsOf: path, encoding: .utf8)
            .replacingOccurrences(of: "{type}\",", with: "{type}\", ordering: \"key\",")
            .write(to: path, atomically: true, encoding: .utf8)
        try queue.run("add", "--type", "t", input: numbered(1))
        for death in 1...5 {
            let victim = try queue.start("run")
            #expect(receiver.wait(forRequests: death, within: .seconds(120)))
            victim.signal(SIGKILL)
            _ = try victim.finish()
        }
        let answer = try queue.start(next, input: next[0] == "send" ? "1" : "").finish()
        #expect(next == ["run"] ? answer.status == 65 : answer.status != 74)
        #expect((answer.output + answer.error).contains("its run died 5 times"), "\(answer)")
        #expect(try queue.run("log").output.contains("quarantine"))
        let counts = try String(contentsOf: queue.queue.appending(path: "state/reports.json"), encoding: .utf8)
        #expect(counts.contains(#""quarantined":1"#), "\(counts)")
        try queue.run("run")
        #expect(try told(queue).count == 1)
    }

    @Test func `a hook gets the failures on its input and in its environment, without secrets`() throws {
        let receiver = try LoopbackReceiver(script: Script(["400", "204", "422"]))
        defer { receiver.stop() }
        let queue = try queue(
            to: receiver, ["failed": "cat >> told; env > environment; printf '%s' \"$1\" > argument"])
        let ids = try queue.run("add", input: numbered(3)).lines
        let finished = try queue.run("run", "--concurrency", "1")
        #expect(finished.status == 1)
        let document = try #require(told(queue).first)
        #expect(document["schema"] as? Int == 1 && document["event"] as? String == "failed")
        #expect(document["count"] as? Int == 2 && document["ids"] as? [String] == [ids[0], ids[2]])
        #expect(document["destination"] as? String == receiver.url)
        #expect(document["destinations"] as? [String] == [receiver.url])
        #expect(document["reason"] as? String == "400")
        #expect(document["queue"] as? String == queue.queue.resolvingSymlinksInPath().path)
        #expect((document["time"] as? String)?.hasSuffix("Z") == true)
        let environment = try String(
            contentsOf: queue.directory.appending(path: "environment"), encoding: .utf8)
        for line in [
            "DRAINQ_EVENT=failed", "DRAINQ_COUNT=2", "DRAINQ_DESTINATION=\(receiver.url)", "DRAINQ_REASON=400",
            "DRAINQ_IDS=\(ids[0]) \(ids[2])", "DRAINQ_QUEUE=\(queue.queue.resolvingSymlinksInPath().path)",
        ] {
            #expect(environment.split(separator: "\n").contains(Substring(line)), "\(line)")
        }
        #expect(!environment.contains("hidden-token"))
        #expect(
            try String(contentsOf: queue.directory.appending(path: "argument"), encoding: .utf8) == "an argument")
    }

    @Test(arguments: [400, 401])
    func `a secret in an answer is hidden in hooks, errors and the log`(status: Int) throws {
        let receiver = try LoopbackReceiver(script: Script(["\(status) body=\"no such token: hidden-token\""]))
        defer { receiver.stop() }
        let queue = try queue(to: receiver, ["failed": "cat >> told; env >> told", "held": "cat >> told; env >> told"])
        try queue.run("add", input: numbered(2))
        let finished = try queue.run("run")
        #expect(finished.status == (status == 400 ? 1 : 69))
        let told = try String(contentsOf: queue.directory.appending(path: "told"), encoding: .utf8)
        for text in [told, finished.error, try queue.run("log").output, try queue.run("log", "--json").output] {
            #expect(text.contains("no such token: ") && !text.contains("hidden-token"))
        }
    }

    @Test func `hooks are called at the beginning and end of an outage and a backlog, and not in between`() throws {
        let receiver = try LoopbackReceiver(script: Script(["503 *2", "204"]))
        defer { receiver.stop() }
        let events = ["down", "up", "backlog", "cleared"]
        let queue = try queue(to: receiver, Dictionary(uniqueKeysWithValues: events.map { ($0, "cat >> told") }))
        let file = queue.queue.appending(path: "drainq.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        try text.replacing("hooks: {", with: "hooks: { downAfter: \"0s\", backlogAfter: \"0s\",").write(
            to: file, atomically: true, encoding: .utf8)
        try queue.run("add", input: numbered(1))
        for _ in 0..<3 { try queue.run("run", "--now") }
        #expect(try told(queue).map { $0["event"] as? String } == ["down", "backlog", "up", "cleared"])
        #expect(try told(queue)[0]["destination"] as? String == receiver.url)
        #expect((try told(queue)[0]["reason"] as? String)?.hasPrefix("answers 503, since ") == true)
    }

    @Test func `hooks are called at the beginning and end of a hold, and not in between`() throws {
        let receiver = try LoopbackReceiver(script: Script(["401 *2", "204"]))
        defer { receiver.stop() }
        let queue = try queue(to: receiver, ["held": "cat >> told", "released": "cat >> told"])
        try queue.run("add", input: numbered(2))
        #expect(try queue.run("run").status == 69)
        #expect(try queue.run("run").status == 69)
        #expect(try told(queue).map { $0["event"] as? String } == ["held"])
        #expect(try told(queue)[0]["reason"] as? String == "401")
        queue.environment["HOOK_TEST_TOKEN"] = "renewed"
        #expect(try queue.run("run").status == 0)
        #expect(try queue.run("run").status == 0)
        #expect(try told(queue).map { $0["event"] as? String } == ["held", "released"])
        #expect(try told(queue).map { $0["destination"] as? String } == [receiver.url, receiver.url])
    }

    @Test func `a single call reports all quarantined files`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try queue(to: receiver, ["quarantined": "cat >> told"])
        for number in 0..<12 { try queue.drop(Data("{".utf8), as: "bad-\(number)") }
        #expect(try queue.run("run").status == 65)
        let told = try told(queue)
        #expect(told.count == 1)
        #expect(told[0]["count"] as? Int == 12 && (told[0]["ids"] as? [String])?.count == 10)
        #expect(told[0]["destination"] == nil && told[0]["reason"] is String)
    }

    @Test func `failures too soon after a call are reported by the next call`() throws {
        let receiver = try LoopbackReceiver(script: Script(["400"]))
        defer { receiver.stop() }
        let queue = try queue(to: receiver, every: "1h", ["failed": "cat >> told"])
        for _ in 0..<3 {
            try queue.run("add", input: numbered(1))
            #expect(try queue.run("run").status == 1)
        }
        #expect(try told(queue).count == 1)
        // The file's time then lies more than an hour back.
        let file = queue.queue.appending(path: "state/reports.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        try text.replacing(/"told":"[^"]*"/, with: "\"told\":\"2020-01-01T00:00:00Z\"")
            .write(to: file, atomically: true, encoding: .utf8)
        #expect(try queue.run("run").status == 0)
        #expect(try told(queue).map { $0["count"] as? Int } == [1, 2])
    }

    @Test(arguments: [
        ("exit 3", "exited with status 3"), ("kill -9 $$", "was killed by signal 9 (Killed)"),
        ("exec <&-; exit 4", "exited with status 4"),
    ])
    func `a failed hook gives a single warning and changes no status`(script: String, words: String) throws {
        let receiver = try LoopbackReceiver(script: Script(["400"]))
        defer { receiver.stop() }
        let queue = try queue(to: receiver, every: "1h", ["failed": script])
        try queue.run("add", input: numbered(1))
        let finished = try queue.run("run")
        #expect(finished.status == 1)
        let program = "/bin/sh"
        let warnings = finished.error.split(separator: "\n").filter { $0.contains("warning") }
        #expect(warnings == ["drainq: warning: the hook 'failed' ('\(program)') \(words)"])
        try queue.run("add", input: numbered(1))
        #expect(try !queue.run("run").error.contains("warning"))
    }

    @Test func `a hook that reads nothing and prints a lot does not stop the run`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(400, body: String(repeating: "x", count: 190))))
        defer { receiver.stop() }
        let queue = try queue(to: receiver, ["failed": "head -c 3000000 /dev/zero; echo oops >&2; exit 0"])
        try queue.run("add", input: numbered(4))
        let finished = try queue.run("run")
        #expect(finished.status == 1)
        #expect(!finished.error.contains("warning") && !finished.error.contains("oops") && finished.output.isEmpty)
    }

    @Test func `a hanging hook is ended after ten seconds, with its children`() throws {
        let receiver = try LoopbackReceiver(script: Script(["400"]))
        defer { receiver.stop() }
        let queue = try queue(to: receiver, ["failed": "sleep 600 & echo $! > pid; sleep 600"])
        try queue.run("add", input: numbered(1))
        let start = ContinuousClock.now
        let finished = try queue.run("run")
        #expect(ContinuousClock.now - start < .seconds(30))
        #expect(finished.status == 1)
        #expect(finished.error.contains("') did not end within 10s"))
        let pid = try String(contentsOf: queue.directory.appending(path: "pid"), encoding: .utf8)
        // The process is gone, or a zombie that its parent has not reaped yet.
        var isAlive = true
        while isAlive, ContinuousClock.now - start < .seconds(60) {
            let state = try? String(contentsOfFile: "/proc/\(pid.dropLast())/stat", encoding: .utf8)
            isAlive = !(state?.contains(") Z ") ?? true)
        }
        #expect(!isAlive)
    }

    @Test func `a missing hook is a warning`() throws {
        let receiver = try LoopbackReceiver(script: Script(["400"]))
        defer { receiver.stop() }
        let queue = try Drainq(
            "{ routes: { default: { url: \"\(receiver.url)\" } }, hooks: { failed: [\"no-such-program-at-all\"] } }")
        try queue.run("add", input: numbered(1))
        let finished = try queue.run("run")
        #expect(finished.status == 1)
        #expect(
            finished.error.contains(
                "warning: the hook 'failed' ('no-such-program-at-all') cannot be started: No such file or directory"))
    }

    @Test func `a hook may run drainq on its queue`() throws {
        let receiver = try LoopbackReceiver(script: Script(["401"]))
        defer { receiver.stop() }
        let queue = try queue(
            to: receiver, ["held": "\"$DRAINQ\" pause --destination \"$DRAINQ_DESTINATION\""],
            more: "passEnvironment: [\"DRAINQ\"],")
        queue.environment["DRAINQ"] = try #require(queue.start("version").process.executableURL).path
        try queue.run("add", input: numbered(2))
        #expect(try queue.run("run").status == 69)
        #expect(try queue.run("status").output.contains("paused: '\(receiver.url)'"))
    }

    @Test func `hooks report the start, the deliveries and the end of a run, and an idle run calls no hook`() throws {
        let receiver = try LoopbackReceiver(script: Script(["204 *2", "503", "204"]))
        defer { receiver.stop() }
        let told = ["started": "cat >> told", "delivered": "cat >> told", "ended": "cat >> told"]
        let queue = try queue(to: receiver, told)
        let ids = try queue.run("add", input: numbered(3)).lines
        #expect(try queue.run("run", "--concurrency", "1").status == 75)
        #expect(try queue.run("run").status == 0)
        let events = try self.told(queue)
        #expect(events.map { $0["event"] as? String } == ["started", "delivered", "ended"])
        #expect(events.map { $0["count"] as? Int } == [1, 2, 1])
        #expect(events.map { $0["schema"] as? Int } == [1, 1, 1])
        #expect(events[0]["reason"] as? String == "3 operations are due")
        #expect(events[1]["ids"] as? [String] == [ids[0], ids[1]])
        #expect(events[1]["destination"] as? String == receiver.url && events[1]["reason"] as? String == "204")
        #expect(events[2]["reason"] as? String == "2 delivered, 1 deferred; exit status 75")
        #expect(events[2]["destination"] == nil)
    }

    @Test func `the hook gets the kept answers`() throws {
        let receiver = try LoopbackReceiver(
            script: .deciding { request, _ in
                .status(200, headers: ["Content-Type: application/json"], body: "{\"got\":\(request.text)}")
            })
        defer { receiver.stop() }
        let queue = try queue(to: receiver, ["delivered": "cat >> told"])
        let file = queue.queue.appending(path: "drainq.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        try text.replacing("routes: {", with: "routes: { asked: { keepAnswer: true }, ").write(
            to: file, atomically: true, encoding: .utf8)
        let ids = try ["asked", "other", "asked"].map { try queue.run("add", "--type", $0, input: "1").lines[0] }
        #expect(try queue.run("run").status == 0)
        let answers = try #require(told(queue).first?["answers"] as? [[String: Any]])
        #expect(Set(answers.map { $0["id"] as? String }) == [ids[0], ids[2]])
        #expect(answers.map { $0["body"] as? String } == ["{\"got\":1}", "{\"got\":1}"])
        #expect(answers.map { $0["contentType"] as? String } == ["application/json", "application/json"])
        #expect(try queue.run("show", "--json", ids[1]).status == 1)
    }

    @Test func `hooks are called before the page and the metrics are made, which may take long`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let hooks = ["delivered": "ls page metrics > there 2>/dev/null; echo called >> told"]
        let queue = try queue(to: receiver, hooks, more: "metrics: { page: \"../page\", textfile: \"../metrics\" },")
        try queue.run("add", "--type", "t", input: "1")
        #expect(try queue.run("run").status == 0)
        func read(_ file: String) throws -> String {
            try String(contentsOf: queue.directory.appending(path: file), encoding: .utf8)
        }
        #expect(try read("told") == "called\n" && read("there").isEmpty)
        #expect(try read("page").hasPrefix("<!doctype html>") && !read("metrics").isEmpty)
    }

    @Test func `a run waits for the hook of its start`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try queue(to: receiver, ["started": "drainq() { :; }; ls \"$DRAINQ_QUEUE/new\" > before"])
        try queue.run("add", input: numbered(1))
        #expect(try queue.run("run").status == 0)
        let before = try String(contentsOf: queue.directory.appending(path: "before"), encoding: .utf8)
        #expect(before.contains(".json"))
    }

    @Test func `runs that end too soon after a call are counted for the next call`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try queue(to: receiver, every: "1h", ["ended": "cat >> told"])
        for _ in 0..<3 {
            try queue.run("add", input: numbered(1))
            #expect(try queue.run("run").status == 0)
        }
        #expect(try told(queue).map { $0["count"] as? Int } == [1])
        let ledger = try String(contentsOf: queue.queue.appending(path: "state/reports.json"), encoding: .utf8)
        #expect(ledger.contains("\"count\":2"))
    }
}
