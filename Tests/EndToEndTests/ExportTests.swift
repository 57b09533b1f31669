import DrainqCLI
import Foundation
import LoopbackReceiver
import Testing

/// Export from a queue and import into a second queue.
struct ExportTests {
    /// Returns every operation file of a queue, by its path.
    private func files(_ queue: Drainq) throws -> [String: Data] {
        var files: [String: Data] = [:]
        for state in ["new", "deferred", "failed", "delivered"] {
            for name in try queue.names(state) {
                files["\(state)/\(name)"] = try Data(contentsOf: queue.queue.appending(path: "\(state)/\(name)"))
            }
        }
        return files
    }

    /// A queue with operations that are new, deferred, failed, held, binary or due later.
    private func variety() throws -> Drainq {
        let receiver = try LoopbackReceiver(script: .sequence([.status(503), .status(400)]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", "--type", "t", "--key", "schlüssel", input: numbered(2))
        try queue.run("run", "--concurrency", "1")
        #expect(try queue.names("deferred").count == 1 && queue.names("failed").count == 1)
        try queue.run("add", "--delay", "1h", "-H", "X: 1", input: numbered(1))
        try queue.run("add", "--content-type", "application/x", input: "\u{0}\r\nü{")
        let held = try queue.run("add", input: "{\n \"pretty\": 1.10 }").lines
        try queue.run("hold", held[0])
        return queue
    }

    @Test func `an export whose lines were lost has shown nobody the failed operations`() throws {
        let queue = try Drainq("{ routes: { default: { url: 'http://127.0.0.1:1/', expiresAfter: '1s' } } }")
        try queue.run("add", "--expires", "2020-01-01T00:00:00Z", input: numbered(1))
        try queue.run("run")
        #expect(try queue.run("status", "--check").output.contains("1 operation failed for good: expired at 2020"))
        #expect(try queue.shell("$DRAINQ export --state failed >/dev/full").status == 74)
        #expect(try queue.run("status", "--check").output.contains("1 operation failed for good"))
        #expect(try queue.run("export", "--state", "failed").status == 0)
        #expect(try !queue.run("status", "--check").output.contains("failed for good"))
    }

    @Test func `what an export has dropped is new when it fails again under its name`() throws {
        let queue = try Drainq("{ routes: { default: { url: 'http://127.0.0.1:1/' } } }")
        try queue.run("add", "--expires", "2020-01-01T00:00:00Z", input: numbered(1))
        try queue.run("run")
        let name = try queue.names("failed")
        let file = queue.directory.appending(path: "saved").path
        #expect(try queue.run("export", "--state", "failed", "--to", file, "--then-drop").status == 0)
        #expect(try queue.run("import", file).status == 0)
        #expect(try queue.names("failed") == name)
        #expect(try queue.run("status", "--check").output.contains("1 operation failed for good"))
    }

    @Test func `export says that kept values stay in the queue`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(200, body: #"{"id":"N7"}"#)))
        let queue = try Drainq(
            """
            { routes: { create: { url: "\(receiver.url)/", keep: { n: "/id" } },
                update: { url: "\(receiver.url)/{kept.n}" } } }
            """)
        try queue.run("add", "--type", "create", "--key", "k", input: "1")
        #expect(try queue.run("run").status == 0)
        try queue.run("add", "--type", "update", "--key", "k", "--delay", "1h", input: numbered(2))
        let exported = try queue.run("export")
        #expect(exported.status == 0 && exported.lines.count == 2)
        #expect(exported.error.contains("kept values are not exported: 2 exported operations are to send them"))
        #expect(try queue.run("export", "--quiet").error.isEmpty)
    }

    @Test func `export and import make the same files under the same names`() throws {
        let (from, to) = (try variety(), try Drainq())
        let exported = try from.run("export")
        #expect(exported.status == 0 && exported.error == "")
        #expect(exported.lines.count == 5)
        let imported = try to.run("import", input: exported.output)
        #expect(imported.status == 0 && imported.error == "")
        #expect(imported.lines.count == 5)
        #expect(try files(to) == files(from))
        let again = try to.run("import", input: exported.output)
        #expect(again.status == 1 && again.lines == imported.lines)
        #expect(again.error.contains("is in the queue already (failed): not imported again"))
        #expect(try files(to) == files(from))
        #expect(try to.run("export").output.split(separator: "\n").sorted() == exported.lines.map { $0[...] }.sorted())
    }

    @Test func `ids, filters and standard input choose the exported operations`() throws {
        let queue = try variety()
        let failed = try queue.run("export", "--state", "failed").lines
        #expect(failed.count == 1)
        let id = try queue.run("list", "--state", "failed", "--json").lines
        #expect(try queue.run("export", "-", input: id[0]).lines == failed)
        #expect(try queue.run("export", "--state", "held").output.contains("\"held\":true"))
        #expect(try queue.run("export", "gone").error.contains("cannot export 'gone': no such operation in the queue"))
        #expect(try queue.run("export", "--all", "--state", "failed").status == 64)
        #expect(try queue.run("export", "--state", "quarantined").status == 64)
    }

    @Test func `files that are not operations are not exported, and export says so`() throws {
        let queue = try variety()
        try queue.run("add", input: "{\n")
        try queue.drop(Data("{}".utf8), as: "foreign")
        let exported = try queue.run("export")
        #expect(exported.status == 0 && exported.lines.count == 5)
        #expect(exported.error.contains("1 file in quarantine is not exported"))
        #expect(exported.error.contains("1 file in 'new' is not exported"))
        #expect(try queue.run("export", "--quiet").error == "")
        try Data("{".utf8).write(to: queue.queue.appending(path: "new/20261121T091500.000000Z-bad.json"))
        let bad = try queue.run("export")
        #expect(bad.status == 65 && bad.lines.count == 5)
        #expect(
            bad.error.contains("cannot export 'new/20261121T091500.000000Z-bad.json': it ends within the header line"))
    }

    @Test func `a bad line is reported with its number and kept, and good lines are imported`() throws {
        let (from, to) = (try variety(), try Drainq())
        let lines = try from.run("export").lines
        let input = (lines.prefix(2) + ["{\"schema\":1}", "no"] + lines.dropFirst(2)).joined(separator: "\n")
        let finished = try to.run("import", input: input)
        #expect(finished.status == 65 && finished.lines.count == 5)
        #expect(finished.error.contains("cannot import line 3 of 'standard input': field 'header': missing"))
        #expect(finished.error.contains("cannot import line 4 of 'standard input': expected a value"))
        #expect(try to.names("quarantine").count == 4)
        let atomic = try Drainq()
        let none = try atomic.run("import", "--atomic", input: input)
        #expect(none.status == 65 && none.lines == [])
        #expect(none.error.contains("no operation was imported"))
        #expect(try files(atomic).isEmpty && atomic.names("quarantine").isEmpty)
    }

    @Test func `an edited operation is imported with its edits`() throws {
        let (from, to) = (try variety(), try Drainq())
        let line = try #require(try from.run("export", "--state", "failed").lines.first)
        let edited = line.replacing("\"payload\":{\"n\":2}", with: "\"payload\":{\"n\":\"edited\"}")
            .replacing("\"state\":\"failed\",\"attempts\":1", with: "\"state\":\"new\",\"attempts\":0")
        #expect(edited != line)
        let ids = try to.run("import", input: edited).lines
        let shown = try to.run("show", "--json", ids[0]).output
        #expect(shown.contains(#""body":"{\"n\":\"edited\"}""#))
        #expect(shown.contains("\"state\":\"new\""))
    }

    @Test func `an operation deferred in a queue is delivered by the importing queue`() throws {
        let from = try variety()
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let to = try Drainq(to: receiver)
        try to.run("import", input: try from.run("export", "--state", "deferred").output)
        #expect(try to.run("run", "--now").status == 0)
        #expect(receiver.requests().map(\.text) == ["{\"n\":1}"])
    }

    @Test func `import --replace replaces operations by edited operations of the same ids`() throws {
        let receiver = try LoopbackReceiver(script: Script(["422 *2", "204"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let ids = try queue.run("add", input: "{\"n\":1}\n{\"n\":2}\n").lines
        #expect(try queue.run("run").status == 1)
        let before = try queue.run("export").output
        let vain = try queue.run("import", input: before)
        #expect(vain.status == 1 && vain.error.contains("no operation was imported: every id is in the queue already"))
        #expect(vain.error.contains("drainq import --replace"))
        let edited = before.replacing("\"payload\":{\"n\":", with: "\"payload\":{\"v\":2,\"n\":")
        let replaced = try queue.run("import", "--replace", "--json", input: edited)
        #expect(replaced.status == 0)
        #expect(try replaced.lines.map { try json($0)["replaced"] as? Bool } == [true, true])
        let payloads = try queue.run("export").lines.map { try json($0)["payload"] as? [String: Int] }
        #expect(Set(payloads) == [["v": 2, "n": 1], ["v": 2, "n": 2]])
        #expect(try queue.names("failed").count == 2 && queue.names("tmp").isEmpty)
        #expect(try queue.run("retry", "-", input: ids.joined(separator: "\n")).lines == ids)
        #expect(try queue.run("run").status == 0)
        #expect(Set(receiver.requests().suffix(2).map(\.text)) == ["{\"v\":2,\"n\":1}", "{\"v\":2,\"n\":2}"])
    }

    @Test func `import --replace says that an operation was delivered, and proposes no second delivery`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let id = try #require(try queue.run("add", input: numbered(1)).lines.first)
        let exported = try queue.run("export").output
        #expect(try queue.run("run").status == 0)
        let replaced = try queue.run("import", "--replace", input: exported)
        #expect(replaced.status == 1 && replaced.lines.isEmpty)
        #expect(replaced.error == "drainq: error: '\(id)': it was delivered, and was not replaced\n")
    }

    @Test func `import --replace refuses changes outside of the content, with a hint`() throws {
        let queue = try Drainq()
        try queue.run("add", "--type", "crm", input: "1\n")
        let edited = try queue.run("export").output.replacing("\"type\":\"crm\"", with: "\"type\":\"erp\"")
        let replaced = try queue.run("import", "--replace", input: edited)
        #expect(replaced.status == 65 && replaced.lines.isEmpty)
        #expect(replaced.error.contains("types in conflict"))
        #expect(replaced.error.contains("drop the operation in the queue, then import this one"))
        #expect(try queue.run("list", "--json", "--state", "new").lines.count == 1)
    }

    @Test func `an operation in flight is not replaced, and import says so`() throws {
        let receiver = try LoopbackReceiver(script: .always(.silence))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let ids = try queue.run("add", input: "1\n2\n").lines
        let running = try queue.start("run", "--limit", "1", "--grace", "0s")
        #expect(receiver.wait(forRequests: 1, within: .seconds(120)))
        let exported = try queue.run("export").output.replacing("\"payload\":", with: "\"payload\":1")
        let replaced = try queue.run("import", "--replace", input: exported)
        #expect(replaced.status == 75 && replaced.lines == [ids[1]])
        #expect(replaced.error.contains("'\(ids[0])': it is in flight, and was not replaced"))
        let whole = try queue.run("import", "--replace", "--atomic", input: exported)
        #expect(whole.status == 75 && whole.lines.isEmpty)
        #expect(whole.error.contains("'\(ids[0])': it is in flight, and was not replaced"))
        #expect(whole.error.contains("no operation was imported"))
        running.signal(SIGTERM)
        _ = try running.finish()
        let bodies = try queue.run("export").lines.map { try json($0)["payload"] as? Int }
        #expect(Set(bodies) == [1, 12])
    }
}
