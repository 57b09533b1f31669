import DrainqCLI
import Foundation
import LoopbackReceiver
import Testing

/// Commands that remove or await operations lose none.
struct SafeCommandTests {
    private func moved(_ queue: Drainq) -> String { queue.directory.appending(path: "moved.ndjson").path }

    @Test func `export --then-drop moves the operations into a new file, and import restores the operations`() throws {
        let queue = try Drainq()
        let ids = try queue.run("add", "--type", "crm", input: numbered(3)).lines
        let other = try queue.run("add", "--type", "other", input: numbered(1)).lines
        let whole = try queue.run("export", "--type", "crm").output
        let finished = try queue.run("export", "--type", "crm", "--to", moved(queue), "--then-drop")
        #expect(finished.status == 0 && finished.output == "")
        #expect(finished.error == "drainq: 3 operations moved to '\(moved(queue))'\n")
        #expect(try String(contentsOfFile: moved(queue), encoding: .utf8) == whole)
        let mode = try FileManager.default.attributesOfItem(atPath: moved(queue))[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try queue.run("list", "--json").lines.count == 1)
        #expect(try queue.run("show", other[0]).status == 0)
        #expect(try queue.run("import", moved(queue)).lines.sorted() == ids.sorted())
    }

    @Test(arguments: ["there", "missing/moved", "/dev/full"])
    func `an operation stays if the file of the export cannot be made`(name: String) throws {
        let queue = try Drainq()
        try queue.run("add", input: numbered(20))
        try "other operations\n".write(
            to: queue.directory.appending(path: "there"), atomically: true, encoding: .utf8)
        let path = name.hasPrefix("/") ? name : queue.directory.appending(path: name).path
        let finished = try queue.run("export", "--to", path, "--then-drop")
        #expect(finished.status == 74 && finished.error.contains("cannot create '\(path)'"))
        #expect(try queue.names("new").count == 20)
        let untouched = try String(contentsOf: queue.directory.appending(path: "there"), encoding: .utf8)
        #expect(untouched == "other operations\n")
    }

    @Test func `an operation stays if the file of the export cannot be written whole, and the file is removed`() throws
    {
        let queue = try Drainq()
        try queue.run("add", input: numbered(40))
        let finished = try queue.shell("ulimit -f 2; drainq export --to moved.ndjson --then-drop")
        #expect(finished.status == 74 && finished.error.contains("cannot write"))
        #expect(try queue.names("new").count == 40)
        #expect(!FileManager.default.fileExists(atPath: moved(queue)))
    }

    @Test(arguments: ["new/out", "tmp/out", "state/../out", "link/out"])
    func `an export into the queue's directory, where a run would send or sweep the file, is refused`(
        place: String
    ) throws {
        let queue = try Drainq()
        try queue.run("add", input: numbered(1))
        let link = queue.directory.appending(path: "link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: queue.queue.appending(path: "new"))
        let path = (place.hasPrefix("link") ? queue.directory : queue.queue).appending(path: place).path
        let refused = try queue.run("export", "--to", path, "--then-drop")
        #expect(refused.status == 64 && refused.error.contains("cannot export to '\(path)'"), "\(refused.error)")
        #expect(try queue.names("new").count == 1 && queue.names("tmp").isEmpty)
    }

    @Test func `--then-drop needs a file, and drops no copies of delivered operations`() throws {
        let queue = try Drainq()
        #expect(try queue.run("export", "--then-drop").status == 64)
        #expect(
            try queue.run("export", "--state", "delivered", "--to", moved(queue), "--then-drop").error
                .contains("cannot drop the copies of delivered operations"))
    }

    @Test(arguments: ["--verbose", "--quiet"])
    func `a claimed operation is neither exported nor dropped, and the status says so`(option: String) throws {
        let receiver = try LoopbackReceiver(script: Script(["204 delay=30s"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: numbered(2))
        let running = try queue.start("run", "--concurrency", "1", "--limit", "1", "--grace", "0s")
        #expect(receiver.wait(forRequests: 1, within: .seconds(60)))
        let finished = try queue.run("export", "--to", moved(queue), "--then-drop", option)
        #expect(finished.status == 1 && finished.error.contains("cannot move "))
        #expect(finished.error.contains("it is in flight"))
        #expect(try String(contentsOfFile: moved(queue), encoding: .utf8).split(separator: "\n").count == 1)
        running.process.terminate()
        _ = try running.finish()
        #expect(try queue.waiting() == 1)
    }

    @Test func `drop --all asks only at a terminal`() throws {
        let queue = try Drainq()
        try queue.run("add", input: numbered(2))
        let finished = try queue.run("drop", "--all", input: "n\n")
        #expect(finished.lines.count == 2 && finished.error == "")
    }

    @Test func `add --wait misses no operation, with or without kept answers`() throws {
        let receiver = try LoopbackReceiver(script: Script(["200 body=one", "200 body=two", "200 body=three"]))
        defer { receiver.stop() }
        for (more, answered, output) in [("", 1, ""), ("keepAnswer: true", 3, "two\nthree")] {
            let queue = try Drainq(to: receiver, more)
            let adding = try queue.start(
                "add", "--wait", "--timeout", "60s", input: numbered(more.isEmpty ? 1 : 2))
            while receiver.answeredCount < answered { try queue.run("run", "--concurrency", "1") }
            let finished = try adding.finish()
            #expect(finished.status == 0 && finished.output == output)
            // The first run may begin before the command looks.
            #expect(["", "drainq: no run yet: see WHEN IT RUNS in drainq-setup(7)\n"].contains(finished.error))
        }
    }

    @Test func `add --wait ends with the result of the operations`() throws {
        let receiver = try LoopbackReceiver(script: Script(["400"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let adding = try queue.start("add", "--wait", "--timeout", "60s", input: numbered(1))
        while receiver.answeredCount < 1 { try queue.run("run") }
        let finished = try adding.finish()
        #expect(finished.status == 1 && finished.error.contains("failed: 400"))
        #expect(try queue.run("add", "--wait", "--timeout", "0s", "--delay", "1h", input: numbered(1)).status == 75)
        #expect(try queue.run("add", "--timeout", "1s", input: numbered(1)).status == 64)
    }
}
