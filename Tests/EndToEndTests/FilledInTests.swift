import Foundation
import LoopbackReceiver
import Testing

/// Templates, with the real program and a real socket.
struct FilledInTests {
    @Test func `plain lines get their key and type from their payload`() throws {
        let receiver = try LoopbackReceiver()
        let queue = try Drainq(
            """
            { routes: { default: { url: "\(receiver.url)/{type}/{key}", key: "{payload.user}", ordering: "key" },
                profile: { coalesce: true } } }
            """)
        let lines = #"""
            {"user":"ann","kind":"note","n":1}
            {"user":"bob","kind":"profile","n":2}
            {"user":"bob","kind":"profile","n":3}
            {"user":7,"kind":"note","n":4}
            """#
        let added = try queue.run("add", "--type", "{payload.kind}", input: lines)
        #expect(added.status == 0 && added.lines.count == 4, "\(added.error)")
        let keys = try queue.shell("drainq list --json").lines.map { $0.contains(#""key":"bob""#) }
        #expect(keys.count(where: { $0 }) == 2)
        #expect(try queue.run("run").status == 0)
        #expect(receiver.requests().map(\.target).sorted() == ["/note/7", "/note/ann", "/profile/bob"])
        let own = try queue.run("add", "--key", "{payload.n}-{type}", input: #"{"user":"ann","n":5}"#)
        #expect(own.status == 0)
        #expect(try queue.shell("drainq list --json").output.contains(#""key":"5-default""#))
    }

    @Test func `a line without its key is reported and kept, and a foreign file goes to quarantine`() throws {
        let queue = try Drainq("{ routes: { default: { url: 'http://127.0.0.1:1/', key: '{payload.user}' } } }")
        let added = try queue.run("add", input: "{\"n\":1}\n{\"user\":\"x\"}\n")
        #expect(added.status == 65 && added.lines.count == 1)
        #expect(added.error.contains("line 1 of 'standard input': the operation has no value for '{payload.user}'"))
        let typed = try queue.run("add", "--type", "{payload.kind}", input: #"{"user":"x","kind":"a b"}"#)
        #expect(typed.status == 65 && typed.error.contains("makes 'a b', which is not a type"))
        try queue.drop(Data(#"{"n":2}"#.utf8), as: "dropped")
        #expect(try queue.run("run").status == 65)
        #expect(try queue.names("quarantine").count(where: { $0.hasSuffix(".reason") }) == 3)
    }

    @Test func `check reports an unknown placeholder with its line and the nearest name, without a request`() throws {
        let receiver = try LoopbackReceiver()
        let queue = try Drainq(
            """
            { routes: { default: { url: "\(receiver.url)/",
                headers: { "Nats-Msg-Id": "{ids}" },
                body: '{"text": "${secret:nope}"}' } } }
            """)
        let checked = try queue.run("check")
        #expect(checked.status == 78)
        #expect(
            checked.error.contains(
                "drainq.json:2:31: routes.default.headers.Nats-Msg-Id: '{ids}' is an unknown placeholder"))
        #expect(checked.error.contains("did you mean {id}?"))
        #expect(checked.error.contains("drainq.json:3:11: routes.default.body: there is no secret 'nope'"))
        #expect(try queue.run("add", "--key", "{payload.x", input: "1").status == 64)
        #expect(receiver.receivedCount == 0)
    }

    @Test func `each attempt fills in its number in url, headers and body`() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(503), .status(200)]))
        let queue = try Drainq(
            """
            { routes: { default: { url: "\(receiver.url)/{attempt}", method: "PUT", retry: { schedule: ["1ms"], jitter: 0 },
                headers: { "X-Id": "{id}-{attempt}" }, idempotencyKey: "order-{payload.order}",
                body: '{ "try": {attempt}, "sent": "{payload}" }' } } }
            """)
        try queue.run("add", "--id", "x", input: #"{"order": 7}"#)
        #expect(try queue.run("run", "--until-empty").status == 0)
        let requests = receiver.requests()
        #expect(requests.map(\.target) == ["/1", "/2"])
        #expect(requests.map { $0.header("X-Id") } == ["x-1", "x-2"])
        #expect(requests.map { $0.header("Idempotency-Key") } == [#""order-7""#, #""order-7""#])
        #expect(requests.map { $0.text }.last == #"{ "try": 2, "sent": "{\"order\": 7}" }"#)
    }
}
