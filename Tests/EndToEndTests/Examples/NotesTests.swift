import Foundation
import LoopbackReceiver
import Testing

/// A table of notes and a store of attachments, as PostgREST and its storage serve them.
private struct NotesService: Sendable {
    var token = "good"
    var titles: [String: String] = [:]
    var attachments: [String: [UInt8]] = [:]
    var writes = 0
    /// Answered first.
    var troubles: [Answer] = []

    mutating func answer(_ request: ReceivedRequest) -> Answer {
        if !troubles.isEmpty { return troubles.removeFirst() }
        guard request.header("Authorization") == "Bearer \(token)" else { return .status(401) }
        if request.path.hasPrefix("/storage/v1/object/attachments/"), request.method == "PUT" {
            attachments[String(request.path.split(separator: "/").last ?? "")] = request.body
            return .json(#"{"Key":"stored"}"#)
        }
        guard request.path == "/rest/v1/notes" else { return .status(404) }
        let row = (request.json as? [String: Any]).map { ("\($0["id"] ?? "")", "\($0["title"] ?? "")") }
        let filter = request.query("id").flatMap { $0.hasPrefix("eq.") ? String($0.dropFirst(3)) : nil }
        switch (request.method, filter) {
        case ("POST", nil):
            guard let row, request.header("Prefer")?.contains("resolution=merge-duplicates") == true else {
                return .status(400)
            }
            titles[row.0] = row.1
        case ("PATCH", let id?):
            guard let row, titles[id] != nil else { return .json(404, "{}") }
            titles[id] = row.1
        case ("DELETE", let id?):
            guard request.body.isEmpty else { return .status(400) }
            titles[id] = nil
        case ("GET", let id?):
            guard request.body.isEmpty else { return .status(400) }
            return .json(titles[id] == nil ? "[]" : "[{\"id\":\(id)}]")
        default: return .status(405)
        }
        writes += 1
        return .status(204)
    }
}

@Suite struct NotesTests {
    private let service: Emulation<NotesService>
    private let drainq: Drainq

    init() throws {
        service = try Emulation(NotesService()) { $1.answer($0) }
        let files = FileManager.default.temporaryDirectory.appending(path: "drainq-notes-\(UUID().uuidString)").path
        drainq = try Drainq(
            example: "notes",
            replacing: [
                "https://notes.example.com": service.url, "/etc/drainq/notes.token": "../notes.token",
                "[\"/var/lib/notes\"]": "[\"\(files)\"]",
            ])
        try drainq.write("good\n", as: "notes.token")
    }

    @discardableResult
    private func add(_ type: String, _ payload: String) throws -> String {
        try #require(try drainq.run("add", "--type", type, "--key", "7", input: payload).lines.first)
    }

    @Test func `insert, update and delete of a note go out in their order`() throws {
        try add("insert", #"{"id":7,"title":"tea"}"#)
        try add("update", #"{"id":7,"title":"green tea"}"#)
        try drainq.run("run")
        try drainq.run("run")
        #expect(service.state.titles == ["7": "green tea"])
        try add("delete", #"{"id":7}"#)
        #expect(try drainq.run("run").status == 0)
        #expect(service.state.titles.isEmpty)
        #expect(service.state.writes == 3)
    }

    @Test func `a row that is not there is asked for again, by the aggressive schedule`() throws {
        try add("exists", #"{"id":7}"#)
        #expect(try drainq.delaysUntilGivenUp(are: [0.5, 1.25, 3.125, 7.812, 19.531]))
        service.change { $0.titles["8"] = "tea" }
        try add("exists", #"{"id":8}"#)
        #expect(try drainq.run("run").status == 0)
    }

    @Test func `the default schedule is 1, 2 and 4 s`() throws {
        service.change { $0.troubles = Array(repeating: .status(500), count: 9) }
        try add("insert", #"{"id":7,"title":"tea"}"#)
        #expect(try drainq.delaysUntilGivenUp(are: [1, 2, 4]))
    }

    @Test func `after a 429 the schedule is 5 and 15 s`() throws {
        service.change { $0.troubles = Array(repeating: .status(429), count: 9) }
        try add("insert", #"{"id":7,"title":"tea"}"#)
        #expect(try drainq.delaysUntilGivenUp(are: [5, 15], releasing: true))
    }

    @Test func `an attachment is sent from its file, byte for byte`() throws {
        let folder = try FileManager.default.url(
            for: .itemReplacementDirectory, in: .userDomainMask, appropriateFor: drainq.directory, create: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let drainq = try Drainq(
            example: "notes",
            replacing: [
                "https://notes.example.com": service.url, "/etc/drainq/notes.token": "../notes.token",
                "[\"/var/lib/notes\"]": "[\"\(folder.path)\"]",
            ])
        try drainq.write("good\n", as: "notes.token")
        let bytes = Data((0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        try bytes.write(to: folder.appending(path: "7.jpg"))
        let added = try drainq.run(
            "add", "--type", "upload", "--key", "7.jpg", "--content-type", "image/jpeg", "--body-file",
            folder.appending(path: "7.jpg").path)
        #expect(added.status == 0, "\(added.error)")
        #expect(try drainq.run("run").status == 0)
        #expect(service.state.attachments["7.jpg"].map { Data($0) } == bytes)
    }

    @Test func `what takes too long is tried again`() throws {
        let drainq = try Drainq(
            example: "notes",
            replacing: [
                "https://notes.example.com": service.url, "/etc/drainq/notes.token": "../notes.token",
                "retry: \"quick\",": "retry: \"quick\", timeouts: { total: \"300ms\" },",
            ])
        try drainq.write("good\n", as: "notes.token")
        service.change { $0.troubles = [.silence] }
        try drainq.run("add", "--type", "insert", "--key", "7", input: #"{"id":7,"title":"tea"}"#)
        #expect(try drainq.run("run").status == 75)
        #expect(try drainq.run("run", "--now").status == 0)
        #expect(service.state.titles == ["7": "tea"])
    }

    @Test(arguments: [401, 403, 404, 400])
    func `a status that will not change by itself is not tried again`(status: Int) throws {
        service.change { $0.troubles = Array(repeating: .status(status), count: 9) }
        try add("insert", #"{"id":7,"title":"tea"}"#)
        try drainq.run("run")
        let asked = service.receiver.receivedCount
        try drainq.run("run", "--now")
        #expect(service.receiver.receivedCount == asked)
        #expect(try drainq.list().count == 1)
    }

    @Test(arguments: [Answer.status(500), .status(502), .status(429), .reset, .close])
    func `what may pass is tried again`(answer: Answer) throws {
        service.change { $0.troubles = [answer] }
        try add("insert", #"{"id":7,"title":"tea"}"#)
        #expect(try drainq.run("run").status == 75)
        try drainq.run("release", "--all")
        #expect(try drainq.run("run", "--now").status == 0)
        #expect(service.state.titles == ["7": "tea"])
    }

    @Test(arguments: ["http://nowhere.invalid", "http://127.0.0.1:1"])
    func `a server that cannot be found is looked for again`(url: String) throws {
        let drainq = try Drainq(
            example: "notes",
            replacing: ["https://notes.example.com": url, "/etc/drainq/notes.token": "../notes.token"])
        try drainq.write("good\n", as: "notes.token")
        try drainq.run("add", "--type", "insert", "--key", "7", input: #"{"id":7,"title":"tea"}"#)
        #expect(try drainq.run("run").status == 75)
        #expect(try drainq.list().first?["state"] as? String == "deferred")
    }

    @Test(arguments: [("", 0o600), ("good\n", 0o644), ("go\nod\n", 0o600)])
    func `a token that cannot be one is not sent`(content: String, mode: Int) throws {
        try drainq.write(content, as: "notes.token", mode: mode)
        try add("insert", #"{"id":7,"title":"tea"}"#)
        let run = try drainq.run("run")
        #expect(run.status == 69)
        #expect(run.error.contains("the secret 'token'"))
        #expect(!run.error.contains("go"))
        #expect(service.receiver.receivedCount == 0)
    }
}
