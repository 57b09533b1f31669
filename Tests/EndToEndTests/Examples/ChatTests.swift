import Foundation
import LoopbackReceiver
import Testing

/// A realtime database over its REST interface: PUT writes the value at a path, PATCH some members of the value,
/// `{".sv":"timestamp"}` becomes a time, the token in the query runs out, and rules refuse some writes with 401 as well.
private struct ChatService: Sendable {
    var token = "t1"
    var messages: [String: String] = [:]
    /// Members written by PATCH.
    var patched: [String: [String: String]] = [:]
    var writes: [String: Int] = [:]
    /// Paths in the order of their first writes.
    var order: [String] = []
    /// Requests whose body contains the text are answered 503.
    var trouble: String?

    mutating func answer(_ request: ReceivedRequest) -> Answer {
        guard ["PUT", "PATCH"].contains(request.method), request.path.hasSuffix(".json") else { return .status(404) }
        guard request.query("auth") == token else { return .json(401, #"{"error":"Auth token is expired"}"#) }
        let path = String(request.path)
        if path.contains("/private/") { return .json(401, #"{"error":"Permission denied"}"#) }
        if let trouble, request.text.contains(trouble) { return .status(503) }
        guard let members = request.json as? [String: String] ?? (request.json is [String: Any] ? [:] : nil) else {
            return .json(400, #"{"error":"Invalid data"}"#)
        }
        if request.method == "PATCH" {
            patched[path, default: [:]].merge(members) { $1 }
            writes[path, default: 0] += 1
            return .json(request.text)
        }
        let value = request.text.replacing(#"{".sv":"timestamp"}"#, with: "1795252500000")
        if messages.updateValue(value, forKey: path) == nil { order.append(path) }
        writes[path, default: 0] += 1
        return .json(value).delayed(.milliseconds(20))
    }
}

struct ChatTests {
    private let service: Emulation<ChatService>
    private let drainq: Drainq

    init() throws {
        service = try Emulation(ChatService()) { $1.answer($0) }
        drainq = try Drainq(
            example: "chat",
            replacing: [
                "https://example.firebaseio.com": service.url,
                #"["/usr/local/bin/chat-token"]"#: #"["sh", "../token.sh"]"#,
            ])
        // Prints the current token, and notes each call.
        try drainq.write("cat ../token\necho asked >>../asked\n", as: "token.sh")
        try drainq.write("t1\n", as: "token")
    }

    @discardableResult
    private func say(_ text: String, in conversation: String = "c1") throws -> String {
        let message = "{\"conversation\":\"\(conversation)\",\"text\":\"\(text)\",\"sentAt\":{\".sv\":\"timestamp\"}}"
        return try #require(
            try drainq.run("add", "--type", "message", "--key", conversation, input: message).lines.first)
    }

    @Test func `a message is written at the path of its conversation and id, and the server sets the time`() throws {
        let id = try say("hello")
        #expect(try drainq.run("run").status == 0)
        #expect(
            service.state.messages == [
                "/conversations/c1/messages/\(id).json":
                    #"{"conversation":"c1","text":"hello","sentAt":1795252500000}"#
            ])
    }

    @Test func `an expired token is renewed, and the message is sent under the same id`() throws {
        service.change { $0.token = "t2" }
        try drainq.write("cat ../token\necho t2 >../token\n", as: "token.sh")
        let id = try say("hello")
        #expect(try drainq.run("run").status == 0)
        let requests = service.receiver.requests()
        #expect(requests.map { $0.query("auth") } == ["t1", "t2"])
        #expect(Set(requests.map(\.path)) == ["/conversations/c1/messages/\(id).json"])
        #expect(requests.map { $0.header("Drainq-Attempt") } == ["1", "1"])
    }

    @Test func `the status of a message follows the message, and the last receipt supersedes older receipts`() throws {
        let id = try say("hello")
        let path = "/conversations/c1/messages/\(id).json"
        for status in ["delivered", "read"] {
            try drainq.run(
                "add", "--type", "status", "--key", "c1",
                input: #"{"conversation":"c1","message":"\#(id)","status":"\#(status)"}"#)
        }
        for message in ["m1", "m2", id] {
            try drainq.run(
                "add", "--type", "receipt", "--key", "c1/u1",
                input: #"{"conversation":"c1","user":"u1","message":"\#(message)"}"#)
        }
        let run = try drainq.run("run", "--json")
        #expect(run.status == 0)
        #expect(try json(run.lines.last!)["superseded"] as? Int == 2)
        let onMessage = service.receiver.requests().filter { $0.path == path }
        #expect(onMessage.map(\.method) == ["PUT", "PATCH", "PATCH"])
        #expect(service.state.patched[path] == ["status": "read"])
        #expect(service.state.patched["/conversations/c1/read.json"] == ["u1": id])
    }

    @Test func `a write refused by the rules of the database fails alone, and the token is not accused`() throws {
        try say("hello", in: "private")
        let id = try say("hello")
        #expect(try drainq.run("run").status == 1)
        #expect(service.state.order == ["/conversations/c1/messages/\(id).json"])
        #expect(try drainq.list().map { $0["state"] as? String } == ["failed"])
        #expect(
            try drainq.list().first?["rule"] as? String
                == "answers[0]: status 401, /error equals \"Permission denied\": fail")
    }

    @Test func `the status of a failed message creates no message`() throws {
        let id = try say("hello", in: "private")
        for status in ["delivered", "read"] {
            try drainq.run(
                "add", "--type", "status", "--key", "private",
                input: #"{"conversation":"private","message":"\#(id)","status":"\#(status)"}"#)
        }
        #expect(try drainq.run("run").status == 1)
        #expect(try drainq.run("run", "--now").status != 0)
        #expect(service.receiver.requests().map(\.method) == ["PUT"])
        #expect(try drainq.list().compactMap { $0["state"] as? String }.sorted() == ["failed", "held", "held"])
        #expect(try drainq.run("drop", "--followers", id).lines.count == 3)
        #expect(try drainq.list().isEmpty && service.state.patched.isEmpty)
    }

    @Test func `a run asks for the token once`() throws {
        for number in 1...10 { try say("m\(number)", in: "c\(number)") }
        #expect(try drainq.run("run").status == 0)
        let asked = try String(contentsOf: drainq.directory.appending(path: "asked"), encoding: .utf8)
        #expect(asked == "asked\n")
    }

    @Test func `three attempts are 1 and 2 s apart, and a retry begins again under the same id`() throws {
        service.change { $0.trouble = "hello" }
        let id = try say("hello")
        #expect(try drainq.delaysUntilGivenUp(are: [1, 2]))
        #expect(service.receiver.receivedCount == 3)
        service.change { $0.trouble = nil }
        #expect(try drainq.run("retry", id).lines == [id])
        #expect(try drainq.list().first?["attempts"] as? Int == 0)
        #expect(try drainq.run("run").status == 0)
        #expect(service.state.order == ["/conversations/c1/messages/\(id).json"])
    }

    @Test func `a conversation keeps its order, and does not delay a second conversation`() throws {
        service.change { $0.trouble = "first" }
        let ids = try [say("first"), say("second"), say("third")]
        let other = try say("elsewhere", in: "c2")
        #expect(try drainq.run("run").status == 75)
        #expect(service.state.order == ["/conversations/c2/messages/\(other).json"])
        service.change { $0.trouble = nil }
        #expect(try drainq.run("run", "--now").status == 0)
        #expect(service.state.order.dropFirst() == ids.map { "/conversations/c1/messages/\($0).json" }[...])
    }

    @Test func `two simultaneous runs write each message once`() throws {
        let message = #"{"conversation":"c1","text":"x","sentAt":{".sv":"timestamp"}}"#
        for conversation in 1...10 {
            let lines = String(repeating: message + "\n", count: 4)
            try drainq.run("add", "--type", "message", "--key", "c\(conversation)", input: lines)
        }
        let runs = try (0..<2).map { _ in try drainq.start("run") }
        for run in runs { #expect(try run.finish().status == 0) }
        #expect(try drainq.run("run").status == 0)
        #expect(service.state.writes.count == 40)
        #expect(service.state.writes.values.allSatisfy { $0 == 1 })
    }

    @Test func `progress is shown for more than five operations`() throws {
        for number in 1...5 { try say("m", in: "c\(number)") }
        #expect(try drainq.run("run", "--progress", "always").error.isEmpty)
        for number in 1...6 { try say("m", in: "c\(number)") }
        let run = try drainq.run("run", "--progress", "always")
        #expect(run.error.contains("6 of 6 done (6 delivered)"))
    }
}
