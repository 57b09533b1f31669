import Foundation
import LoopbackReceiver
import Testing

/// A server that assigns ids to the notes.
private struct Made: Sendable {
    var notes: [String: String] = [:]
    var files: [String] = []
    var log: [String] = []
    /// The number of POSTs to refuse first.
    var refusals = 0

    mutating func answer(_ request: ReceivedRequest) -> Answer {
        log.append("\(request.method) \(request.path)")
        let parts = request.path.split(separator: "/").map(String.init)
        let title = (request.json as? [String: Any])?["title"] as? String ?? ""
        switch (request.method, parts.count) {
        case ("POST", 1):
            if refusals > 0 {
                refusals -= 1
                return .json(422, #"{"error":"no"}"#)
            }
            // The same request is the same note.
            let id = "N-\(request.header("Idempotency-Key")?.filter { $0 != "\"" } ?? "")"
            notes[id] = title
            return .json(201, "{\"data\":{\"id\":\"\(id)\"}}")
        case ("PATCH", 2):
            guard notes[parts[1]] != nil else { return .status(404) }
            notes[parts[1]] = title
            return .json("{\"id\":\"\(parts[1])\",\"title\":\"\(title)\"}")
        case ("PUT", 3):
            guard notes[parts[1]] != nil else { return .status(404) }
            files.append("\(parts[1]):\(request.text)")
            return .status(204)
        case ("DELETE", 2): return .status(notes.removeValue(forKey: parts[1]) == nil ? 404 : 204)
        default: return .status(400)
        }
    }
}

/// Chains: a create whose server assigns the id, and its followers.
struct ChainTests {
    private let server: Emulation<Made>
    private let drainq: Drainq

    init() throws {
        server = try Emulation(Made()) { $1.answer($0) }
        drainq = try Drainq(Self.configuration(server.url))
    }

    private static func configuration(_ url: String) -> String {
        """
        { routes: {
            default: { ordering: "key", retry: "quick" },
            create: { url: "\(url)/notes", keep: { note: "/data/id" }, onFailure: "hold" },
            update: { url: "\(url)/notes/{kept.note}", method: "PATCH", keepAnswer: true },
            upload: { url: "\(url)/notes/{kept.note}/file", method: "PUT" },
            remove: { url: "\(url)/notes/{kept.note}", method: "DELETE", body: "" },
        } }
        """
    }

    @discardableResult
    private func add(_ type: String, _ key: String, _ payload: String = "{}", id: String? = nil) throws -> Finished {
        let added = try drainq.start(
            ["add", "--type", type, "--key", key] + (id.map { ["--id", $0] } ?? []), input: payload + "\n"
        ).finish()
        try #require(added.status == 0, "\(added.error)")
        return added
    }

    private func addNote(_ key: String) throws {
        try add("create", key, #"{"title":"tea"}"#, id: "c-\(key)")
        try add("update", key, #"{"title":"green tea"}"#, id: "u-\(key)")
        try add("upload", key, #""leaf""#, id: "f-\(key)")
    }

    @Test func `operations added offline are sent in order, with the ids that the server assigns`() throws {
        for key in ["a", "b"] { try addNote(key) }
        try add("remove", "b")
        // The server is unreachable for a day.
        let url = server.url
        try Self.configuration("http://127.0.0.1:9").write(
            to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        #expect(try drainq.run("run", "--now").status == 75)
        try Self.configuration(url).write(
            to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        let listed = try drainq.list("--type", "update")
        #expect(listed.allSatisfy { ($0["waitsFor"] as? [String: Any])?["what"] as? String == "older" })
        #expect(try drainq.run("run", "--now").status == 0)
        #expect(server.state.notes == ["N-c-a": "green tea"])
        #expect(server.state.files.sorted() == [#"N-c-a:"leaf""#, #"N-c-b:"leaf""#])
        #expect(server.state.log.count == 7)
        #expect(try drainq.waiting() == 0)
        // The app edits the note the next day.
        try add("update", "a", #"{"title":"black tea"}"#, id: "next")
        #expect(try drainq.run("run").status == 0)
        #expect(server.state.notes == ["N-c-a": "black tea"])
        let waited = try drainq.run("wait", "next")
        #expect(waited.status == 0 && waited.output == #"{"id":"N-c-a","title":"black tea"}"#)
        let unknown = try drainq.run("wait", "nothing", "--timeout", "0s")
        #expect(unknown.status == 66 && unknown.error.contains("no operation 'nothing' in the queue"))
        let shown = try drainq.run("show", "next")
        #expect(shown.output.contains("answer:") && shown.output.contains("black tea"))
        let story = try json(drainq.run("show", "--json", "next").lines[0])
        #expect((story["answer"] as? [String: Any])?["contentType"] as? String == "application/json")
    }

    @Test func `a failed create holds its followers, and drop releases or drops the followers`()
        throws
    {
        server.change { $0.refusals = 2 }
        for key in ["a", "b"] { try addNote(key) }
        #expect(try drainq.run("run").status == 1)
        #expect(try drainq.list("--state", "held").count == 4)
        let shown = try drainq.run("show", "u-a")
        #expect(shown.output.contains("held behind 'c-a', which failed"))
        let rehearsed = try drainq.run("drop", "--followers", "--dry-run", "c-a")
        #expect(rehearsed.lines == ["f-a", "u-a", "c-a"] && rehearsed.status == 0)
        #expect(try drainq.list().count == 6)
        let dropped = try drainq.run("drop", "--followers", "c-a")
        #expect(dropped.lines == ["f-a", "u-a", "c-a"] && dropped.status == 0 && dropped.error.isEmpty)
        #expect(try drainq.list().count == 3)
        #expect(try drainq.run("drop", "c-b").status == 0)
        #expect(try drainq.run("run").status == 0)
        let waiting = try drainq.list("--type", "update")
        #expect((waiting[0]["waitsFor"] as? [String: Any])?["what"] as? String == "kept")
        #expect((waiting[0]["waitsFor"] as? [String: Any])?["name"] as? String == "note")
        #expect(try drainq.run("status").output.contains("1 waiting for kept values"))
        #expect(try drainq.run("list").output.contains("for kept note"))
        #expect(server.state.log == ["POST /notes", "POST /notes"])
    }

    @Test func `a retried create is sent before its followers`() throws {
        server.change { $0.refusals = 1 }
        try addNote("a")
        #expect(try drainq.run("run").status == 1)
        #expect(try drainq.run("retry", "c-a").status == 0)
        #expect(try drainq.run("run").status == 0)
        #expect(server.state.log == ["POST /notes", "POST /notes", "PATCH /notes/N-c-a", "PUT /notes/N-c-a/file"])
    }

    @Test func `check finds a placeholder that no route keeps, and add refuses an operation without a key`() throws {
        let refused = try drainq.start(["add", "--type", "update"], input: "{}\n").finish()
        #expect(refused.status == 65 && refused.error.contains("the operation has no key"))
        let text = Self.configuration(server.url).replacing("{kept.note}/file", with: "{kept.nota}/file")
        try text.write(to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        let checked = try drainq.run("check")
        #expect(checked.status == 78 && checked.error.contains("drainq.json:5:"))
        #expect(checked.error.contains("routes.upload.url: no route keeps a value 'nota'"))
        #expect(checked.error.contains("did you mean 'note'?"))
        try Self.configuration(server.url).write(
            to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        let explained = try drainq.run("explain", "201", "--type", "create")
        #expect(explained.output.contains("{kept.note} from '/data/id'"))
    }

    @Test func `explain names the kept values that a route waits for, and the values missing for a key`() throws {
        try addNote("a")
        #expect(try drainq.run("run").status == 0)
        func explained(_ arguments: String...) throws -> String {
            let finished = try drainq.start(["explain", "--type", "update"] + arguments, input: "").finish()
            return finished.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        let text = "waits for {kept.note}, from earlier answers for its key"
        #expect(try explained().contains("\(text): --key KEY looks them up"))
        #expect(try explained("200", "--key", "a").contains("\(text); all exist"))
        #expect(try explained("--key", "b").contains("\(text); missing: {kept.note}"))
        let route = try json(drainq.run("explain", "--json", "--type", "update", "--key", "b").output)["route"]
        #expect((route as? [String: Any])?["sendsKept"] as? [String] == ["note"])
        #expect((route as? [String: Any])?["lacksKept"] as? [String] == ["note"])
        #expect(try !drainq.run("explain", "--type", "create").output.contains("waits for"))
    }
}

/// `drainq wait`.
struct WaitTests {
    @Test func `wait ends after runs settle every operation, and prints the kept answers`() throws {
        let server = try Emulation(0) { request, _ in
            request.text.contains("bad") ? .json(422, "{}") : .json("{\"got\":\(request.text)}")
        }
        let drainq = try Drainq(to: server.receiver, "keepAnswer: true")
        try drainq.run("add", "--id", "good", input: "1\n")
        try drainq.run("add", "--id", "worse", input: "\"bad\"\n")
        let waiting = try drainq.start("wait", "good", "worse")
        #expect(try drainq.run("run").status == 1)
        let waited = try waiting.finish()
        #expect(waited.status == 1 && waited.output == #"{"got":1}"#)
        #expect(waited.error.contains("'worse' failed: 422"))
        let lines = try drainq.run("wait", "--json", "good", "worse").lines.map(json)
        #expect(lines.map { $0["outcome"] as? String } == ["delivered", "failed"])
        #expect(lines[0]["answer"] as? String == #"{"got":1}"#)
    }

    @Test func `wait ends if the file of a finished operation cannot be read`() throws {
        let server = try Emulation(0) { request, _ in
            request.text.contains("bad") ? .json(422, "{}") : .json("{}")
        }
        let drainq = try Drainq(to: server.receiver, "keepAnswer: true")
        try drainq.run("add", "--id", "good", input: "1\n")
        try drainq.run("add", "--id", "worse", input: "\"bad\"\n")
        try drainq.run("run")
        for state in ["delivered", "failed"] {
            for name in try drainq.names(state) { try drainq.write("torn", as: "queue/\(state)/\(name)") }
        }
        let waited = try drainq.run("wait", "good", "worse", "--timeout", "60s")
        #expect(waited.status == 1 && waited.output == "")
        #expect(waited.error.contains("'good' was delivered, but its copy cannot be read: "))
        #expect(waited.error.contains("'worse' failed, and its file cannot be read: "))
    }

    @Test func `wait reports missing, waiting and held operations, and a paused queue`() throws {
        let drainq = try Drainq(#"{ routes: { default: { url: "http://127.0.0.1:9/" } } }"#)
        let unknown = try drainq.run("wait", "nobody")
        #expect(unknown.status == 66 && unknown.error.contains("no operation 'nobody' in the queue"))
        try drainq.run("add", "--id", "x", input: "1\n")
        try drainq.run("pause")
        let paused = try drainq.run("wait", "x", "--timeout", "50ms")
        #expect(paused.status == 75 && paused.error.contains("the queue is paused"))
        #expect(paused.error.contains("'x' is not delivered yet"))
        try drainq.run("resume")
        try drainq.run("hold", "x")
        let held = try drainq.run("wait", "x", "--timeout", "50ms", "--json")
        #expect(held.status == 69 && held.output.contains(#""outcome":"waiting""#))
        let open = try drainq.start("wait", "x")
        try drainq.run("drop", "x")
        let dropped = try open.finish()
        #expect(dropped.status == 1 && dropped.error.contains("'x' was dropped by an operator"))
        try drainq.run("add", input: "{\n")
        let item = try #require(drainq.names("quarantine").first { !$0.hasSuffix(".reason") })
        #expect(try drainq.run("wait", item).status == 1)
    }

    @Test func `a signal ends wait`() throws {
        let drainq = try Drainq(#"{ routes: { default: { url: "http://127.0.0.1:9/" } } }"#)
        try drainq.run("add", "--id", "x", input: "1\n")
        let waiting = try drainq.start("wait", "x")
        waiting.signal(SIGHUP)
        #expect(try waiting.finish().status == 128 + SIGHUP)
    }
}
