import Foundation
import LoopbackReceiver
import Testing

/// Profiles and settings of users. The last write of a value wins.
private struct ProfileService: Sendable {
    var token = "good"
    var values: [String: String] = [:]
    var writes = 0
    /// Statuses to answer first.
    var troubles: [Int] = []

    mutating func answer(_ request: ReceivedRequest) -> Answer {
        if !troubles.isEmpty { return .status(troubles.removeFirst()) }
        guard request.header("Authorization") == "Bearer \(token)" else { return .status(401) }
        let path = request.path.split(separator: "/").map(String.init)
        guard path.count == 4, path[0] == "v1", path[1] == "users",
            (request.method, path[3]) == ("PATCH", "profile")
                || request.method == "PUT" && ["settings", "notification-settings"].contains(path[3])
        else { return .status(404) }
        values["\(path[2])/\(path[3])"] = request.text
        writes += 1
        return .json("{}")
    }
}

struct ProfileTests {
    private let service: Emulation<ProfileService>
    private let drainq: Drainq

    init() throws {
        service = try Emulation(ProfileService()) { $1.answer($0) }
        drainq = try Drainq(
            example: "profile",
            replacing: [
                "https://api.example.com": service.url, "/etc/drainq/tokens": "../tokens",
            ])
        try FileManager.default.createDirectory(
            at: drainq.directory.appending(path: "tokens"), withIntermediateDirectories: false)
        for user in 1...103 { try login("good", user: "u\(user)") }
    }

    private func login(_ token: String, user: String) throws {
        try drainq.write("\(token)\n", as: "tokens/\(user).token")
    }

    @discardableResult
    private func update(_ name: String, user: String = "u1") throws -> String {
        let added = try drainq.run(
            "add", "--type", "updateProfile", "--key", user, input: "{\"user\":\"\(user)\",\"name\":\"\(name)\"}")
        return try #require(added.lines.first)
    }

    @Test func `each type uses its route, and the last write for a key wins`() throws {
        for name in ["Ada", "Bea", "Cyd"] { try update(name) }
        try drainq.run("add", "--type", "updateSettings", "--key", "u1", input: #"{"user":"u1","theme":"dark"}"#)
        try drainq.run(
            "add", "--type", "updateNotificationSettings", "--key", "u1", input: #"{"user":"u1","email":false}"#)
        let run = try drainq.run("run", "--json")
        #expect(run.status == 0)
        #expect(try json(run.lines.last!)["delivered"] as? Int == 5)
        #expect(service.state.writes == 3)
        #expect(service.state.values["u1/notification-settings"] == #"{"user":"u1","email":false}"#)
        #expect(service.state.values["u1/profile"] == #"{"user":"u1","name":"Cyd"}"#)
        #expect(service.state.values["u1/settings"] == #"{"user":"u1","theme":"dark"}"#)
    }

    @Test func `a newer value supersedes a deferred older value`() throws {
        service.change { $0.troubles = [503] }
        try update("Ada")
        #expect(try drainq.run("run").status == 75)
        try update("Bea")
        #expect(try drainq.run("run", "--now").status == 0)
        #expect(service.state.values["u1/profile"] == #"{"user":"u1","name":"Bea"}"#)
        #expect(service.state.writes == 1)
        #expect(try drainq.list().isEmpty)
    }

    @Test func `a newer value has its own idempotency key`() throws {
        service.change { $0.troubles = [503] }
        try update("Ada")
        try drainq.run("run")
        try update("Bea")
        try drainq.run("run", "--now")
        let keys = service.receiver.requests().map { $0.header("Idempotency-Key") }
        #expect(keys.count == 2 && keys[0] != keys[1])
    }

    @Test func `six attempts are 1, 2, 4, 8 and 16 s apart, and list shows the third`() throws {
        service.change { $0.troubles = Array(repeating: 503, count: 10) }
        try update("Ada")
        for _ in 1...3 { try drainq.run("run", "--now") }
        #expect(try drainq.run("list").output.contains("3 of 6"))
        #expect(try drainq.delaysUntilGivenUp(are: [8, 16]))
        #expect(service.receiver.receivedCount == 6)
        #expect(try drainq.list("--state", "failed").count == 1)
    }

    @Test func `the delays follow the schedule`() throws {
        service.change { $0.troubles = Array(repeating: 500, count: 10) }
        try update("Ada")
        #expect(try drainq.delaysUntilGivenUp(are: [1, 2, 4, 8, 16]))
    }

    @Test func `at most a hundred operations wait, and the oldest make room`() throws {
        let ids = try (1...103).map { try update("n", user: "u\($0)") }
        let waiting = try drainq.list().compactMap { $0["id"] as? String }
        #expect(Set(waiting) == Set(ids.dropFirst(3)))
    }

    @Test(arguments: [408, 429, 500, 501, 502, 503, 504, 505])
    func `an operation is deferred after a passing status`(status: Int) throws {
        service.change { $0.troubles = [status] }
        try update("Ada")
        #expect(try drainq.run("run").status == 75)
        #expect(try drainq.list().first?["state"] as? String == "deferred")
    }

    @Test func `an operation is deferred while the server refuses connections`() throws {
        service.receiver.stop()
        try update("Ada")
        #expect(try drainq.run("run").status == 75)
        #expect(try drainq.list().first?["lastError"] as? String == "refused")
    }

    @Test func `a 401 parks the changes of its user until the user's token changes, and counts no attempt`() throws {
        try login("expired", user: "u1")
        for user in ["u1", "u2", "u1", "u3"] { try update("Ada", user: user) }
        #expect(try drainq.run("run").status == 75)
        #expect(try drainq.run("run").status == 75)
        #expect(try drainq.list().map { $0["attempts"] as? Int } == [0, 0])
        #expect(service.receiver.receivedCount == 3 && service.state.writes == 2)
        try login("good", user: "u1")
        #expect(try drainq.run("run").status == 0)
        #expect(try drainq.waiting() == 0)
    }

    @Test func `the changes of a user without a token wait alone, and never go with another user's token`() throws {
        try FileManager.default.removeItem(at: drainq.directory.appending(path: "tokens/u1.token"))
        let ids = try ["u1", "u2"].map { try update("Ada", user: $0) }
        let run = try drainq.run("run", "-v")
        #expect(run.status == 75 && run.error.contains("'\(ids[0])' waits: the secret"), "\(run)")
        #expect(service.receiver.receivedCount == 1 && service.state.values["u2/profile"] != nil)
        #expect(try drainq.list().map { $0["attempts"] as? Int } == [0])
        let shown = try drainq.run("show", ids[0])
        #expect(shown.output.contains("new: not sent: the secret") && shown.output.contains("u1.token"), "\(shown)")
        #expect(try drainq.run("show", "--json", ids[0]).output.contains(#""what":"secret""#))
        try login("good", user: "u1")
        #expect(try drainq.run("run").status == 0)
        #expect(service.state.values["u1/profile"] != nil)
    }

    @Test(arguments: ["", ".", "..", ".hidden", "a/b", "../session"])
    func `a user that names no file of a token is refused`(user: String) throws {
        let added = try drainq.run("add", "--type", "updateProfile", input: "{\"user\":\"\(user)\"}")
        #expect(added.status == 65 && added.error.contains("payload.user"))
    }

    @Test func `a corrupt file does not affect valid operations`() throws {
        try update("Ada")
        try drainq.drop(Data("{\"drainq\":1,".utf8), as: "junk")
        #expect(try drainq.run("run").status == 65)
        #expect(service.state.writes == 1)
    }

    @Test func `a dropped operation is not sent`() throws {
        let id = try update("Ada")
        #expect(try drainq.run("drop", id).lines == [id])
        #expect(try drainq.run("run").status == 0)
        #expect(service.receiver.receivedCount == 0)
    }

    @Test func `list shows a failed operation`() throws {
        service.change { $0.troubles = [400] }
        let id = try update("Ada")
        #expect(try drainq.run("run").status == 1)
        #expect(try drainq.list("--state", "failed").map { $0["id"] as? String } == [id])
    }

    @Test func `a new name and a later address are merged into a single write`() throws {
        try update("Ada")
        try drainq.run(
            "add", "--type", "updateProfile", "--key", "u1", input: #"{"user":"u1","email":"a@example.com"}"#)
        #expect(try drainq.run("run").status == 0)
        #expect(service.state.values["u1/profile"] == #"{"user":"u1","name":"Ada","email":"a@example.com"}"#)
        #expect(service.state.writes == 1)
        #expect(try drainq.waiting() == 0)
    }
}
