import Foundation
import LoopbackReceiver
import Scratch
import Testing

/// A table of notes and a store of attachments, in the manner of PostgREST and its storage.
private struct NotesService: Sendable {
    var token = "good"
    var titles: [String: String] = [:]
    /// The existing folders of notes.
    var folders: Set<String> = []
    var attachments: [String: [UInt8]] = [:]
    var writes = 0
    /// Answers to give first.
    var troubles: [Answer] = []
    /// The number of answers to lose after a write.
    var lost = 0

    mutating func answer(_ request: ReceivedRequest) -> Answer {
        if !troubles.isEmpty { return troubles.removeFirst() }
        let isAuthorized = request.header("Authorization") == "Bearer \(token)"
        let answer =
            request.path.hasPrefix("/storage/v1/object/attachments/")
            ? store(request, isAuthorized) : row(request, isAuthorized)
        if lost > 0, (200...299).contains(answer.status) {
            lost -= 1
            return .close
        }
        return answer
    }

    private mutating func row(_ request: ReceivedRequest, _ isAuthorized: Bool) -> Answer {
        guard isAuthorized else { return .json(401, #"{"code":"PGRST301","message":"JWT expired"}"#) }
        guard request.path == "/rest/v1/notes" else { return .status(404) }
        let row = request.json as? [String: Any]
        let title = "\(row?["title"] ?? "")"
        let filter = request.query("id").flatMap { $0.hasPrefix("eq.") ? String($0.dropFirst(3)) : nil }
        let isShown = request.header("Prefer")?.contains("return=representation") == true
        switch (request.method, filter) {
        case ("POST", nil):
            let id = "\(row?["id"] ?? "")"
            if title == "secret" {
                return .json(403, #"{"code":"42501","message":"violates row-level security policy"}"#)
            }
            if let folder = row?["folder"] as? String, !folders.contains(folder) {
                return .json(409, #"{"code":"23503","message":"violates foreign key constraint"}"#)
            }
            if titles[id] != nil { return Self.duplicate(of: "notes_pkey") }
            if title == "taken" { return Self.duplicate(of: "notes_title_key") }
            titles[id] = title
            writes += 1
            return .status(201)
        case ("PATCH", let id?):
            // PATCH without a matching row is no error.
            guard titles[id] != nil else { return isShown ? .json("[]") : .status(204) }
            titles[id] = title
            writes += 1
            return isShown ? .json("[{\"id\":\(id)}]") : .status(204)
        case ("DELETE", let id?):
            guard request.body.isEmpty else { return .status(400) }
            titles[id] = nil
            writes += 1
            return .status(204)
        case ("GET", let id?):
            guard request.body.isEmpty else { return .status(400) }
            return .json(titles[id] == nil ? "[]" : "[{\"id\":\(id)}]")
        default: return .status(405)
        }
    }

    private static func duplicate(of constraint: String) -> Answer {
        let message = #"duplicate key value violates unique constraint \"\#(constraint)\""#
        return .json(409, #"{"code":"23505","details":null,"hint":null,"message":"\#(message)"}"#)
    }

    /// Every error is a 400, with the real status in the body.
    private mutating func store(_ request: ReceivedRequest, _ isAuthorized: Bool) -> Answer {
        func refusal(_ status: Int, _ error: String, _ message: String) -> Answer {
            .json(400, #"{"statusCode":"\#(status)","error":"\#(error)","message":"\#(message)"}"#)
        }
        guard isAuthorized else { return refusal(403, "Unauthorized", "jwt expired") }
        let name = String(request.path.split(separator: "/").last ?? "")
        if name.hasPrefix("secret") {
            return refusal(403, "Unauthorized", "new row violates row-level security policy")
        }
        guard request.method == "POST", attachments[name] == nil else {
            return refusal(409, "Duplicate", "The resource already exists")
        }
        attachments[name] = request.body
        return .json(#"{"Key":"attachments/\#(name)"}"#)
    }
}

struct NotesTests {
    private let service: Emulation<NotesService>
    private let drainq: Drainq

    init() throws {
        service = try Emulation(NotesService()) { $1.answer($0) }
        let files = Scratch.directory.appending(path: "drainq-notes-\(UUID().uuidString)").path
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

    @Test func `an insert whose answer was lost is delivered, and writes its row once`() throws {
        service.change { $0.lost = 1 }
        try add("insert", #"{"id":7,"title":"tea"}"#)
        #expect(try drainq.run("run").status == 75)
        let run = try drainq.run("run", "--now", "--json")
        #expect(run.status == 0)
        #expect(
            try json(run.lines[0])["rule"] as? String
                == "answers[0]: status 409, /code equals \"23505\", /message contains \"\\\"notes_pkey\\\"\", "
                + "an earlier request may have arrived: deliver")
        #expect(service.state.writes == 1)
    }

    @Test func `an insert that violates another constraint fails, and holds its update`() throws {
        try add("insert", #"{"id":7,"title":"taken"}"#)
        try add("update", #"{"id":7,"title":"green tea"}"#)
        #expect(try drainq.run("run").status == 1)
        #expect(service.state.titles.isEmpty)
        #expect(try drainq.list().compactMap { $0["state"] as? String }.sorted() == ["failed", "held"])
    }

    @Test func `an insert that refers to a missing row is deferred until the row exists`() throws {
        try add("insert", #"{"id":7,"title":"tea","folder":"f"}"#)
        #expect(try drainq.run("run").status == 75)
        #expect(try drainq.list().first?["rule"] as? String == "answers[2]: status 409, /code equals \"23503\": defer")
        service.change { _ = $0.folders.insert("f") }
        #expect(try drainq.run("run", "--now").status == 0)
        #expect(service.state.titles == ["7": "tea"])
    }

    @Test func `an update does not overtake its insert, and a PATCH of no row is no delivery`() throws {
        service.change { $0.troubles = [.status(503)] }
        try add("insert", #"{"id":7,"title":"tea"}"#)
        try add("update", #"{"id":7,"title":"green tea"}"#)
        #expect(try drainq.run("run").status == 75)
        #expect(service.receiver.receivedCount == 1)
        #expect(try drainq.run("run", "--now").status == 0)
        #expect(service.state.titles == ["7": "green tea"])
        // Another machine makes the row later.
        try drainq.run("add", "--type", "update", "--key", "8", input: #"{"id":8,"title":"black tea"}"#)
        #expect(try drainq.run("run", "--now").status == 75)
        #expect(try drainq.list().first?["rule"] as? String == "accept: /0 does not exist: defers")
        service.change { $0.titles["8"] = "tea" }
        #expect(try drainq.run("run", "--now").status == 0)
        #expect(service.state.titles["8"] == "black tea")
    }

    @Test func `a row refused by its policy fails alone`() throws {
        try add("insert", #"{"id":7,"title":"secret"}"#)
        try drainq.run("add", "--type", "insert", "--key", "8", input: #"{"id":8,"title":"tea"}"#)
        #expect(try drainq.run("run").status == 1)
        #expect(service.state.titles == ["8": "tea"])
        #expect(try drainq.list().map { $0["state"] as? String } == ["failed"])
    }

    @Test func `a failed insert holds the update of its note until a drop`() throws {
        let id = try add("insert", #"{"id":7,"title":"secret"}"#)
        try add("update", #"{"id":7,"title":"green tea"}"#)
        #expect(try drainq.run("run").status == 1)
        let states = try drainq.list().compactMap { $0["state"] as? String }
        #expect(states.sorted() == ["failed", "held"])
        #expect(service.receiver.receivedCount == 1)
        try drainq.run("drop", id)
        service.change { $0.titles["7"] = "tea" }
        #expect(try drainq.run("run").status == 0)
        #expect(service.state.titles["7"] == "green tea")
    }

    @Test func `an expired token holds the destination until a new token exists`() throws {
        service.change { $0.token = "renewed" }
        try add("insert", #"{"id":7,"title":"tea"}"#)
        try drainq.run("add", "--type", "insert", "--key", "8", input: #"{"id":8,"title":"tea"}"#)
        #expect(try drainq.run("run").status == 69)
        #expect(try drainq.list().allSatisfy { $0["attempts"] as? Int == 0 })
        try drainq.write("renewed\n", as: "notes.token")
        #expect(try drainq.run("run").status == 0)
        #expect(service.state.titles.count == 2)
    }

    @Test func `a missing row is asked for again by the aggressive schedule`() throws {
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

    /// A queue whose body files lie in `folder`, with an operation for each of the named files.
    private func uploading(_ names: String..., in folder: URL, _ bytes: Data) throws -> Drainq {
        let drainq = try Drainq(
            example: "notes",
            replacing: [
                "https://notes.example.com": service.url, "/etc/drainq/notes.token": "../notes.token",
                "[\"/var/lib/notes\"]": "[\"\(folder.path)\"]",
            ])
        try drainq.write("good\n", as: "notes.token")
        for name in names {
            let file = folder.appending(path: name)
            try bytes.write(to: file)
            let added = try drainq.run(
                "add", "--type", "upload", "--key", name, "--content-type", "image/jpeg", "--body-file", file.path)
            #expect(added.status == 0, "\(added.error)")
        }
        return drainq
    }

    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = try FileManager.default.url(
            for: .itemReplacementDirectory, in: .userDomainMask, appropriateFor: drainq.directory, create: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    @Test func `an attachment is sent from its file, byte for byte`() throws {
        let bytes = Data((0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        try withFolder { folder in
            let drainq = try uploading("7.jpg", in: folder, bytes)
            #expect(try drainq.run("run").status == 0)
        }
        #expect(service.state.attachments["7.jpg"].map { Data($0) } == bytes)
    }

    @Test func `an attachment whose answer was lost is sent a second time, and delivered`() throws {
        service.change { $0.lost = 1 }
        try withFolder { folder in
            let drainq = try uploading("7.jpg", in: folder, Data("x".utf8))
            #expect(try drainq.run("run").status == 75)
            #expect(try drainq.run("run", "--now").status == 0)
            #expect(service.receiver.receivedCount == 2)
        }
    }

    @Test(arguments: [
        ("409", "TransactionError", "could not serialize access"), ("423", "ResourceLocked", "The resource is locked"),
        ("503", "DatabaseConnectionLimit", "Please try again later"), ("429", "SlowDown", "Too many requests"),
    ])
    func `an attachment that the storage did not accept is sent again`(status: String, error: String, message: String)
        throws
    {
        let body = #"{"statusCode":"\#(status)","error":"\#(error)","message":"\#(message)"}"#
        service.change { $0.troubles = [.json(400, body)] }
        try withFolder { folder in
            let drainq = try uploading("7.jpg", in: folder, Data("x".utf8))
            #expect(try drainq.run("run").status == 75)
            #expect(service.state.attachments.isEmpty)
            #expect(try drainq.run("run", "--now").status == 0)
        }
        #expect(service.state.attachments["7.jpg"] != nil)
    }

    @Test func `the body of a 400 from the storage decides the outcome`() throws {
        try withFolder { folder in
            let drainq = try uploading("secret.jpg", "7.jpg", in: folder, Data("x".utf8))
            #expect(try drainq.run("run").status == 1)
            #expect(try drainq.list().map { $0["key"] as? String } == ["secret.jpg"])
            #expect(service.state.attachments.keys.sorted() == ["7.jpg"])
        }
        service.change { $0.token = "renewed" }
        try withFolder { folder in
            let drainq = try uploading("8.jpg", in: folder, Data("x".utf8))
            #expect(try drainq.run("run").status == 69)
            try drainq.write("renewed\n", as: "notes.token")
            #expect(try drainq.run("run").status == 0)
        }
        #expect(service.state.attachments["8.jpg"] != nil)
    }

    @Test func `an operation whose attempt times out is sent again`() throws {
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
    func `an operation is not sent again after a lasting status`(status: Int) throws {
        service.change { $0.troubles = Array(repeating: .status(status), count: 9) }
        try add("insert", #"{"id":7,"title":"tea"}"#)
        try drainq.run("run")
        let asked = service.receiver.receivedCount
        try drainq.run("run", "--now")
        #expect(service.receiver.receivedCount == asked)
        #expect(try drainq.list().count == 1)
    }

    @Test(arguments: [Answer.status(500), .status(502), .status(429), .reset, .close])
    func `an operation is sent again after a passing failure`(answer: Answer) throws {
        service.change { $0.troubles = [answer] }
        try add("insert", #"{"id":7,"title":"tea"}"#)
        #expect(try drainq.run("run").status == 75)
        try drainq.run("release", "--all")
        #expect(try drainq.run("run", "--now").status == 0)
        #expect(service.state.titles == ["7": "tea"])
    }

    @Test(arguments: ["http://nowhere.invalid", "http://127.0.0.1:1"])
    func `an operation for an unreachable server is deferred`(url: String) throws {
        let drainq = try Drainq(
            example: "notes",
            replacing: ["https://notes.example.com": url, "/etc/drainq/notes.token": "../notes.token"])
        try drainq.write("good\n", as: "notes.token")
        try drainq.run("add", "--type", "insert", "--key", "7", input: #"{"id":7,"title":"tea"}"#)
        #expect(try drainq.run("run").status == 75)
        #expect(try drainq.list().first?["state"] as? String == "deferred")
    }

    @Test(arguments: [("", 0o600), ("good\n", 0o644), ("go\nod\n", 0o600)])
    func `an invalid token is not sent`(content: String, mode: Int) throws {
        try drainq.write(content, as: "notes.token", mode: mode)
        try add("insert", #"{"id":7,"title":"tea"}"#)
        let run = try drainq.run("run")
        #expect(run.status == 69)
        #expect(run.error.contains("the secret 'token'"))
        #expect(!run.error.contains("go"))
        #expect(service.receiver.receivedCount == 0)
    }
}
