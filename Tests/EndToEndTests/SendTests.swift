import Foundation
import LoopbackReceiver
import Testing

struct SendTests {
    @Test func `send prints the body of the answer, and leaves no delivered operation in the queue`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(200, body: "{\"id\":7}")))
        let drainq = try Drainq(to: receiver)
        let sent = try drainq.run("send", "--type", "t", input: "{\"n\": 1.10}")
        #expect(sent.status == 0 && sent.output == "{\"id\":7}" && sent.error.isEmpty)
        #expect(receiver.requests().map(\.text) == ["{\"n\": 1.10}"])
        #expect(try drainq.waiting() == 0)
    }

    @Test(arguments: [503, 429, 408])
    func `a temporary failure is queued with its history, under the same key`(status: Int) throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(status, body: "busy"), .status(204)]))
        let drainq = try Drainq(to: receiver, "retryRateLimited: { schedule: [\"1ms\"], attempts: 9, jitter: 0 }")
        let sent = try drainq.run("send", input: "1")
        #expect(sent.status == 75 && sent.output.isEmpty)
        #expect(sent.error.contains("queued") && sent.error.contains("\(status) (busy)"))
        #expect(try drainq.list().first?["lastStatus"] as? Int == status)
        #expect(try drainq.run("run", "--now").status == 0)
        let keys = receiver.requests().map { $0.header("Idempotency-Key") }
        #expect(keys.count == 2 && Set(keys).count == 1)
    }

    @Test(arguments: [400, 404, 422])
    func `a permanent failure is an error and is never queued`(status: Int) throws {
        let receiver = try LoopbackReceiver(script: .always(.status(status, body: "no")))
        let drainq = try Drainq(to: receiver)
        let sent = try drainq.run("send", input: "1")
        #expect(sent.status == 1 && sent.output.isEmpty)
        #expect(sent.error.contains("cannot send line 1 of 'standard input': \(status) \"no\""))
        #expect(try drainq.run("send", "--id", "own", input: "1").error.contains("cannot send 'own': \(status)"))
        #expect(try drainq.waiting() == 0 && drainq.names("failed").isEmpty && drainq.names("quarantine").isEmpty)
    }

    @Test func `a failure whose answer has no reader is a dead letter, and is counted and logged once`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(422)))
        let drainq = try Drainq(to: receiver)
        let sent = try drainq.shell("printf '1\\n2\\n' | drainq send --json >/dev/full")
        #expect(sent.status == 74 && sent.error.contains("sent, queued or refused 1 value"))
        let next = try drainq.run("run")
        #expect(next.status == 1 && next.error.contains("422"))
        #expect(try drainq.names("failed").count == 1 && drainq.names("claimed").isEmpty)
        #expect(try drainq.run("log").output.components(separatedBy: "1 operation failed").count == 2)
        let counts = try String(contentsOf: drainq.queue.appending(path: "state/reports.json"), encoding: .utf8)
        #expect(counts.contains(#""failed":1"#), "\(counts)")
    }

    @Test func `a refused operation is an error, and a second refusal holds the destination and is queued`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(401)))
        let drainq = try Drainq(to: receiver)
        let first = try drainq.run("send", input: "1")
        #expect(first.status == 1 && first.error.contains("401"))
        #expect(try drainq.waiting() == 0)
        #expect(try drainq.run("send", input: "2").status == 69)
        #expect(try drainq.run("send", input: "3").status == 69)
        #expect(receiver.receivedCount == 2)
        #expect(try drainq.waiting() == 2)
    }

    @Test func `a hold begun by send ends with a new credential`() throws {
        let receiver = try LoopbackReceiver(
            script: .deciding { request, _ in .status(request.header("Authorization") == "Bearer new" ? 204 : 401) })
        let drainq = try Drainq(
            """
            { routes: { default: { url: "\(receiver.url)/x", headers: { Authorization: "Bearer ${secret:api}" } } },
              secrets: { api: { file: "../api.token" } } }
            """)
        try drainq.write("old", as: "api.token")
        #expect(try drainq.run("send", input: "1").status == 1)
        #expect(try drainq.run("send", input: "2").status == 69)
        #expect(try drainq.run("run").status == 69)
        try drainq.write("new", as: "api.token")
        #expect(try drainq.run("run").status == 0)
        #expect(try drainq.waiting() == 0)
    }

    @Test func `send sends an operation before its notBefore, and queues it by its schedule if it fails`() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(200, body: "ok"), .status(503)]))
        let drainq = try Drainq(to: receiver)
        let input = #"{"drainq": 1, "notBefore": "2999-01-01T00:00:00Z", "payload": 1}"#
        let sent = try drainq.run("send", "--envelope", input: input)
        #expect(sent.status == 0 && sent.output == "ok")
        #expect(try drainq.run("send", "--envelope", input: input).status == 75)
        #expect(try drainq.list().first?["state"] as? String == "deferred")
    }

    @Test func `send waits out a rate limit within --retry-within`() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(429), .status(200, body: "ok")]))
        let drainq = try Drainq(
            to: receiver, "retryRateLimited: { schedule: [\"300ms\"], attempts: 9, jitter: 0.9 }")
        let sent = try drainq.run("send", "--retry-within", "30s", input: "1")
        #expect(sent.status == 0 && sent.output == "ok")
    }

    @Test func `send --no-queue keeps nothing`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(503)))
        let drainq = try Drainq(to: receiver)
        let sent = try drainq.run("send", "--no-queue", input: "1")
        #expect(sent.status == 75 && !sent.error.isEmpty)
        #expect(try drainq.waiting() == 0)
    }

    @Test func `send --fallback prints the fallback after a failure`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(503)))
        let drainq = try Drainq(to: receiver)
        let sent = try drainq.run("send", "--no-queue", "--fallback", "[]", input: "1")
        #expect(sent.status == 0 && sent.output == "[]\n" && sent.error.isEmpty)
        let wrong = try drainq.run("send", "--fallback", "[", input: "1")
        #expect(wrong.status == 64)
    }

    @Test func `send retries within --retry-within`() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(503), .status(500), .status(200, body: "ok")]))
        let drainq = try Drainq(to: receiver, "retry: { schedule: [\"50ms\"], attempts: 9, jitter: 0 }")
        let sent = try drainq.run("send", "--retry-within", "30s", input: "1")
        #expect(sent.status == 0 && sent.output == "ok")
        #expect(receiver.requests().map { $0.header("Drainq-Attempt") } == ["1", "2", "3"])
    }

    @Test func `send does not retry beyond --retry-within`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(503)))
        let drainq = try Drainq(to: receiver, "retry: { schedule: [\"1h\"], attempts: 9, jitter: 0 }")
        #expect(try drainq.run("send", "--retry-within", "10s", input: "1").status == 75)
        #expect(receiver.receivedCount == 1)
    }

    @Test func `send queues an operation behind older operations of its sequence`() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(503), .status(204)]))
        let drainq = try Drainq(to: receiver, "ordering: \"key\"")
        try drainq.run("add", "--id", "first", "--key", "k", input: "1")
        try drainq.run("run")
        let sent = try drainq.run("send", "--key", "k", input: "2")
        #expect(sent.status == 75 && sent.error.contains(": waiting behind 'first', which goes first"))
        #expect(receiver.receivedCount == 1)
        #expect(try drainq.run("send", "--key", "other", input: "3").status == 0)
        #expect(try drainq.run("run", "--now").status == 0)
        #expect(receiver.requests().map(\.text) == ["1", "3", "1", "2"])
    }

    @Test func `send refuses input that could never be sent`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver, "require: [{ pointer: \"/a\", exists: true }]")
        #expect(try drainq.run("send", input: "{}").status == 65)
        #expect(try drainq.run("send", input: "{").status == 65)
        #expect(receiver.receivedCount == 0)
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
    func `a signal does not lose the operation`(number: Int32) throws {
        let receiver = try LoopbackReceiver(script: .always(.silence))
        let drainq = try Drainq(to: receiver)
        let sending = try drainq.start("send", input: "1")
        #expect(receiver.wait(forRequests: 1, within: .seconds(120)))
        sending.signal(number)
        #expect(try sending.finish().status == 75)
        #expect(try drainq.waiting() == 1)
    }

    @Test func `send with a pipe takes over a changed configuration, and a broken one is reported once with 78`() throws
    {
        let receiver = try LoopbackReceiver(script: .always(.status(200, body: "ok")))
        let drainq = try Drainq(to: receiver)
        let sent = try drainq.shell(
            """
            configure() { echo "$1" >new; chmod 600 new; mv new queue/drainq.json; }
            send() { echo "$1" >&7; until [ "$(wc -c <out)" = "$2" ]; do sleep 0.02; kill -0 $pid || exit 9; done; }
            mkfifo in; drainq send <in >out & pid=$!; exec 7>in
            send 1 2
            configure '{ routes: { default: { url: "\(receiver.url)/new" } } }'; send 2 4
            configure '{ routes: { default: { urk: "" } } }'; send 3 6; send 4 8
            exec 7>&-; wait $pid
            """)
        #expect(receiver.requests().map(\.target) == ["/default", "/new", "/new", "/new"], "\(sent)")
        #expect(sent.status == 78 && sent.error.components(separatedBy: "urk").count == 2, "\(sent)")
    }

    @Test func `send --json prints an object for each line`() throws {
        let receiver = try LoopbackReceiver(
            script: .sequence([.status(200, body: "ok"), .status(503), .status(400)]))
        let drainq = try Drainq(to: receiver, "retry: { schedule: [\"1h\"], attempts: 9 }")
        let sent = try drainq.run("send", "--json", input: "1\n2\n3\n")
        let rows = try sent.lines.map(json)
        #expect(rows.map { $0["outcome"] as? String } == ["delivered", "queued", "failed"])
        #expect(rows.first?["answer"] as? String == "ok")
        #expect(sent.status == 1)
    }

    @Test func `--select and --fallback print values of the same shape`() throws {
        let receiver = try LoopbackReceiver(
            script: .sequence([
                .status(200, body: #"{"result": {"memories": [ 1.10, "a" ]}}"#), .status(200, body: "{}"),
                .status(200, body: "no JSON"), .status(200, body: #"{"result":{"memories":[]}}"#), .status(503),
            ]))
        let drainq = try Drainq(to: receiver)
        let part = ["send", "--no-queue", "--select", "/result/memories"]
        func send(_ more: String...) throws -> Finished { try drainq.start(part + more, input: "1").finish() }
        let first = try send()
        #expect(first.status == 0 && first.output == "[ 1.10, \"a\" ]\n")
        let absent = try send()
        #expect(absent.status == 65 && absent.output.isEmpty)
        #expect(absent.error.contains("it was delivered, but its answer has no value at '/result/memories'"))
        let other = try send("--fallback", "[]")
        #expect(other.status == 0 && other.output == "[]\n" && other.error.isEmpty)
        #expect(try json(send("--json").output)["answer"] as? String == "[]")
        let away = try send("--fallback", "[]")
        #expect(away.status == 0 && away.output == "[]\n")
        #expect(try drainq.run("send", "--select", "result", input: "1").status == 64)
        #expect(try drainq.waiting() == 0)
    }

    @Test func `an answer that cannot be decoded delivers, and send prints none of it`() throws {
        let half = Answer(200, headers: ["Content-Encoding: gzip"], body: [31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171])
        let receiver = try LoopbackReceiver(script: .always(half))
        let drainq = try Drainq(to: receiver)
        let sent = try drainq.start(["send"], input: "1").finish()
        #expect(sent.status == 65 && sent.output.isEmpty)
        #expect(sent.error.contains("it was delivered, but its answer is too long or cannot be read whole"))
        try drainq.run("add", input: "1")
        #expect(try drainq.run("run").status == 0)
        #expect(try drainq.waiting() == 0 && receiver.requests().count == 2)
        let asking = try Drainq(to: receiver, "accept: { json: { pointer: '/ok', equals: true } }")
        try asking.run("add", input: "1")
        #expect(try asking.run("run").status == 75)
        let rule = try #require(try asking.list().first?["rule"] as? String)
        #expect(rule == "accept: the answer is longer than answerLimit, or cannot be read whole: defers")
    }
}
