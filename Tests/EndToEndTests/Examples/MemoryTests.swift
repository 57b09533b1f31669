import Foundation
import LoopbackReceiver
import Testing

/// The callable functions of a memory service, as Firebase answers: the result is in the body.
private struct MemoryService: Sendable {
    var key = "good"
    var memories: [String] = []
    /// Canonical statuses to answer first, each with its HTTP status.
    var troubles: [(canonical: String, status: Int)] = []
    /// The value of `result` in a successful answer.
    var result = #"{"success":true,"id":"m1"}"#

    mutating func answer(_ request: ReceivedRequest) -> Answer {
        guard request.method == "POST", request.header("Content-Type") == "application/json",
            let body = request.json as? [String: Any], body.count == 1, let data = body["data"] as? [String: Any]
        else { return Self.error("INVALID_ARGUMENT", 400) }
        guard request.header("Authorization") == "Bearer \(key)" else { return Self.error("UNAUTHENTICATED", 401) }
        if !troubles.isEmpty {
            let trouble = troubles.removeFirst()
            return Self.error(trouble.canonical, trouble.status)
        }
        switch request.path {
        case "/addSupermemoryMemory":
            guard let content = data["content"] as? String, !content.isEmpty else {
                return Self.error("INVALID_ARGUMENT", 400)
            }
            memories.append(request.text)
            return .json("{\"result\":\(result)}").delayed(.milliseconds(50))
        case "/searchSupermemoryMemories": return .json(#"{"result":{"memories":["likes tea"]}}"#)
        default: return Self.error("NOT_FOUND", 404)
        }
    }

    private static func error(_ canonical: String, _ status: Int) -> Answer {
        .json(status, "{\"error\":{\"status\":\"\(canonical)\",\"message\":\"no\"}}")
    }
}

struct MemoryTests {
    private let service: Emulation<MemoryService>
    private let drainq: Drainq

    init() throws {
        service = try Emulation(MemoryService()) { $1.answer($0) }
        drainq = try Drainq(
            example: "memory",
            replacing: [
                "https://us-central1-example.cloudfunctions.net": service.url,
                "/etc/drainq/firebase.token": "../firebase.token",
            ])
        try drainq.write("good\n", as: "firebase.token")
    }

    @Test func `a memory is stored unchanged, in the envelope of a callable function`() throws {
        try drainq.run("add", "--type", "addSupermemoryMemory", input: #"{"content": "tea", "metadata": {"n": 1.10}}"#)
        let run = try drainq.run("run")
        #expect(run.status == 0 && run.error.isEmpty)
        #expect(service.state.memories == [#"{"data":{"content": "tea", "metadata": {"n": 1.10}}}"#])
        #expect(try drainq.waiting() == 0)
    }

    @Test func `at most five requests are in flight at a time`() throws {
        let lines = (1...20).map { "{\"content\":\"\($0)\"}\n" }.joined()
        try drainq.run("add", "--type", "addSupermemoryMemory", input: lines)
        #expect(try drainq.run("run", "--concurrency", "50").status == 0)
        #expect(service.state.memories.count == 20)
        // Each request is answered after 50 ms: the last of any six in a row has waited for the first.
        let arrivals = service.receiver.requests().map(\.arrival)
        for (first, sixth) in zip(arrivals, arrivals.dropFirst(5)) {
            #expect(sixth - first >= .milliseconds(45))
        }
    }

    @Test(arguments: [
        ("UNAVAILABLE", 503, 75, "deferred"), ("DEADLINE_EXCEEDED", 504, 75, "deferred"),
        ("RESOURCE_EXHAUSTED", 429, 75, "deferred"), ("INTERNAL", 500, 75, "deferred"),
        // An operation refused alone waits for a second operation to show whether the credentials are to blame.
        ("UNAUTHENTICATED", 401, 75, "new"), ("PERMISSION_DENIED", 403, 75, "new"),
        ("INVALID_ARGUMENT", 400, 1, "failed"), ("NOT_FOUND", 404, 1, "failed"),
        // The status in the body decides, for every HTTP status.
        ("UNAVAILABLE", 200, 75, "deferred"), ("INVALID_ARGUMENT", 200, 1, "failed"),
    ])
    func `the canonical status decides the outcome`(canonical: String, status: Int, exit: Int32, state: String) throws {
        service.change { $0.troubles = Array(repeating: (canonical, status), count: 5) }
        try drainq.run("add", "--type", "addSupermemoryMemory", input: #"{"content":"tea"}"#)
        #expect(try drainq.run("run").status == exit)
        let row = try #require(try drainq.list().first)
        #expect(row["state"] as? String == state)
        if state == "new" { #expect(row["attempts"] as? Int == 0) }
    }

    @Test(arguments: [#"{"content":""}"#, #"{"content":"  "}"#, #"{"metadata":{}}"#, "[]"])
    func `add refuses empty content, and no request is sent`(payload: String) throws {
        let added = try drainq.run("add", "--type", "addSupermemoryMemory", input: payload)
        #expect(added.status == 65 && added.output.isEmpty)
        #expect(added.error.contains("/content"))
        #expect(try drainq.run("run").status == 0)
        #expect(service.receiver.receivedCount == 0)
    }

    @Test func `a failed operation is reported, and removed if retention says so`() throws {
        service.change { $0.troubles = [("INVALID_ARGUMENT", 400)] }
        let drainq = try Drainq(
            example: "memory",
            replacing: [
                "https://us-central1-example.cloudfunctions.net": service.url,
                "/etc/drainq/firebase.token": "../firebase.token",
                "  // Dead letters stay for ever, unless: retention: { failed: \"30d\" }":
                    "  retention: { failed: \"0s\" }",
            ])
        try drainq.write("good\n", as: "firebase.token")
        let id = try #require(
            try drainq.run("add", "--type", "addSupermemoryMemory", input: #"{"content":"tea"}"#).lines.first)
        let run = try drainq.run("run")
        #expect(
            run.status == 1 && run.error.contains(id) && run.error.contains("failed: 400")
                && run.error.contains("INVALID_ARGUMENT"))
        try drainq.run("run")
        #expect(try drainq.list("--state", "failed").isEmpty)
    }

    @Test func `retries follow after 5 s, 30 s and 2 min, and the operation is then kept as failed`() throws {
        service.change { $0.troubles = Array(repeating: ("UNAVAILABLE", 503), count: 10) }
        let id = try #require(
            try drainq.run("add", "--type", "addSupermemoryMemory", input: #"{"content":"tea"}"#).lines.first)
        #expect(try drainq.delaysUntilGivenUp(are: [5, 30, 120]))
        #expect(service.receiver.receivedCount == 4)
        let failed = try drainq.list("--state", "failed")
        #expect(failed.map { $0["id"] as? String } == [id])
        #expect((failed.first?["rule"] as? String)?.contains("attempts used up (4 of 4)") == true)
    }

    @Test func `an answer whose success is false defers the operation`() throws {
        service.change { $0.result = #"{"success":false}"# }
        try drainq.run("add", "--type", "addSupermemoryMemory", input: #"{"content":"tea"}"#)
        #expect(try drainq.run("run").status == 75)
        let row = try #require(try drainq.list().first)
        #expect((row["rule"] as? String)?.contains("/result/success") == true)
    }

    @Test func `an invalid key holds the destination without loss, and a new key ends the hold`() throws {
        try drainq.write("bad\n", as: "firebase.token")
        try drainq.run("add", "--type", "addSupermemoryMemory", input: #"{"content":"tea"} {"content":"milk"}"#)
        let refused = try drainq.run("run")
        #expect(refused.status == 69)
        #expect(refused.error.contains("is held"))
        let asked = service.receiver.receivedCount
        let again = try drainq.run("run")
        #expect(again.status == 69 && again.error.isEmpty)
        #expect(service.receiver.receivedCount == asked)
        try drainq.write("good\n", as: "firebase.token")
        #expect(try drainq.run("run").status == 0)
        #expect(service.state.memories.count == 2)
    }

    @Test func `a search prints its answer, or an empty list after a failure`() throws {
        func search() throws -> Finished {
            try drainq.run(
                "send", "--type", "searchSupermemoryMemories", "--no-queue", "--timeout", "500ms", "--select",
                "/result/memories", "--fallback", "[]", input: #"{"query":"drinks"}"#)
        }
        let found = try search()
        #expect(found.status == 0 && found.output == "[\"likes tea\"]\n")
        for trouble in [("UNAVAILABLE", 503), ("INVALID_ARGUMENT", 400), ("UNAUTHENTICATED", 401)] {
            service.change { $0.troubles = [trouble, trouble] }
            let answered = try search()
            #expect(answered.status == 0 && answered.output == "[]\n")
            try drainq.run("release", "--all")
        }
        #expect(try drainq.waiting() == 0)
    }

    @Test func `a search without an answer prints the fallback at its time-out`() throws {
        let silent = try LoopbackReceiver(script: .always(.silence))
        let drainq = try Drainq(
            example: "memory",
            replacing: [
                "https://us-central1-example.cloudfunctions.net": silent.url,
                "/etc/drainq/firebase.token": "../firebase.token",
            ])
        try drainq.write("good\n", as: "firebase.token")
        let answered = try drainq.run(
            "send", "--type", "searchSupermemoryMemories", "--no-queue", "--timeout", "300ms", "--fallback", "[]",
            input: #"{"query":"drinks"}"#)
        #expect(answered.status == 0 && answered.output == "[]\n")
        #expect(silent.receivedCount == 1)
    }

    @Test func `refused searches do not prevent the storage of a memory`() throws {
        service.change { $0.troubles = Array(repeating: ("UNAUTHENTICATED", 401), count: 4) }
        for _ in 0..<2 {
            try drainq.run("send", "--type", "searchSupermemoryMemories", "--no-queue", input: #"{"query":"tea"}"#)
        }
        let holds = try #require(drainq.status()["holds"] as? [[String: Any]])
        #expect(holds.map { $0["destination"] as? String } == ["memory-search"])
        service.change { $0.troubles = [] }
        try drainq.run("add", "--type", "addSupermemoryMemory", input: #"{"content":"tea"}"#)
        #expect(try drainq.run("run").status == 0)
        #expect(service.state.memories.count == 1)
    }
}
