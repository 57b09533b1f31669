import Foundation
import HostileReceiver
import LoopbackReceiver
import Testing

struct RunTests {
    @Test func `two added lines become two requests in order, and the queue is empty without messages`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        let added = try drainq.run("add", "--type", "t", input: "{\"n\":1}\n{\"n\": 1.10}\n")
        #expect(added.status == 0)
        #expect(added.lines.count == 2)
        let run = try drainq.run("run", "--concurrency", "1")
        #expect(run.status == 0)
        #expect(run.output.isEmpty && run.error.isEmpty)
        #expect(receiver.requests().map(\.text) == ["{\"n\":1}", "{\"n\": 1.10}"])
        #expect(receiver.requests().map(\.path) == ["/t", "/t"])
        #expect(receiver.requests().map { $0.header("Idempotency-Key") } == added.lines.map { "\"\($0)\"" })
        #expect(try drainq.waiting() == 0)
    }

    @Test func `--limit 5 sends twelve operations as five, five and two, oldest first`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: numbered(12))
        var seen: [Int] = []
        for expected in [5, 5, 2, 0] {
            #expect(try drainq.run("run", "--limit", "5", "--concurrency", "1").status == 0)
            #expect(receiver.takeRequests().map(\.text) == (0..<expected).map { "{\"n\":\(seen.count + $0 + 1)}" })
            seen += Array(repeating: 0, count: expected)
        }
    }

    @Test func `a run takes 100 operations, and with --max-time all due operations`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: numbered(350))
        #expect(try drainq.run("run").status == 0)
        #expect(receiver.takeRequests().count == 100)
        #expect(try drainq.run("run", "--max-time", "50s", "--limit", "20").status == 0)
        #expect(receiver.takeRequests().count == 20)
        #expect(try drainq.run("run", "--max-time", "50s").status == 0)
        #expect(receiver.takeRequests().count == 230)
        #expect(try drainq.waiting() == 0)
    }

    @Test func `--stats says how a run spent its time, and the parts add up to the duration`() throws {
        let receiver = try LoopbackReceiver(script: .always(Answer.status(204).delayed(.milliseconds(300))))
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: numbered(2))
        let run = try drainq.run("run", "--json", "--stats", "--concurrency", "1")
        let summary = try json(run.lines.last!)
        let spent = try #require(summary["spentMs"] as? [String: Int])
        #expect(Set(spent.keys) == ["choosing", "claiming", "waiting", "settling", "syncing"])
        #expect(spent["waiting"]! >= 300)
        #expect(summary["mostInFlight"] as? Int == 1)
        #expect(run.error.contains("at most 1 attempt in flight"))
        let all = try #require(summary["durationMs"] as? Int)
        #expect((all - 6...all).contains(spent.values.reduce(0, +)))
        // On a busy machine another part may be the longest.
        let isLongest = spent.values.max() == spent["waiting"]
        #expect(run.error.contains("waiting ") && run.error.contains("hint: the run waited for servers") == isLongest)
    }

    @Test func `a 503 defers the operation by the schedule, and the last attempt fails the operation`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(503, body: "busy")))
        let drainq = try Drainq(to: receiver, "retry: { schedule: [\"30s\"], attempts: 2, jitter: 0 }")
        let id = try #require(try drainq.run("add", input: "1").lines.first)
        #expect(try drainq.run("run").status == 75)
        let row = try json(drainq.run("list", "--json").lines[0])
        let due = try date(row["due"]), last = try date(row["lastAttempt"])
        #expect((29.9...31).contains(due.timeIntervalSince(last)))
        #expect(row["attempts"] as? Int == 1 && row["attemptsAllowed"] as? Int == 2)
        #expect(try drainq.run("run").status == 0)
        #expect(receiver.receivedCount == 1)
        let second = try drainq.run("run", "--now")
        #expect(second.status == 1)
        #expect(second.error.contains("failed: 503 \"busy\""))
        #expect(try drainq.names("failed").count == 1)
        #expect(receiver.takeRequests().map { $0.header("Drainq-Attempt") } == ["1", "2"])
        #expect(try drainq.run("retry", id).lines == [id])
        #expect(try json(drainq.run("list", "--json").lines[0])["attempts"] as? Int == 0)
    }

    @Test func `a run with --until-empty delivers an operation through its schedule`() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(503), .status(503), .status(200)]))
        let drainq = try Drainq(to: receiver, "retry: { schedule: [\"200ms\", \"200ms\"], jitter: 0 }")
        try drainq.run("add", input: "1")
        let run = try drainq.run("run", "--until-empty", "--max-time", "20s", "--json")
        #expect(run.status == 0)
        #expect(receiver.receivedCount == 3)
        #expect(try json(run.lines.last!)["delivered"] as? Int == 1)
    }

    @Test(arguments: [2, 8])
    func `simultaneous runs deliver each of 500 operations exactly once without messages`(runs: Int) throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: numbered(500))
        let started = try (0..<runs).map { _ in try drainq.start("run", "--limit", "500") }
        for run in started {
            let finished = try run.finish()
            #expect(finished.status == 0)
            #expect(finished.error.isEmpty)
        }
        let bodies = receiver.requests().map(\.text)
        #expect(bodies.count == 500)
        #expect(Set(bodies).count == 500)
        #expect(try drainq.waiting() == 0)
    }

    @Test func `after a kill the next run returns the claims and delivers everything`() throws {
        // The run is killed while it waits for slow answers.
        let receiver = try LoopbackReceiver(
            script: .deciding { _, index in (20..<40).contains(index) ? .status(204).delayed(.seconds(2)) : .status(204)
            })
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: numbered(100))
        let victim = try drainq.start("run", "--concurrency", "5")
        #expect(receiver.wait(forRequests: 20, within: .seconds(120)))
        victim.signal(SIGKILL)
        _ = try victim.finish()
        #expect(try drainq.run("run", "--until-empty", "--max-time", "200s").status == 0)
        #expect(try drainq.waiting() == 0)
        let bodies = receiver.requests().map(\.text)
        #expect(Set(bodies).count == 100)
        #expect(bodies.count <= 105)
        #expect(try drainq.run("log").output.contains(" of a dead run put back"))
    }

    @Test func `an error after an attempt has status 74, not a status that promises no attempt`() throws {
        let drainq = try Drainq()
        let state = drainq.queue.appending(path: "state/destinations.json").path
        let receiver = try LoopbackReceiver(
            script: .deciding { _, _ in
                // A newer drainq writes the file while the run is at work.
                try? #"{"version":99}"#.write(toFile: state, atomically: true, encoding: .utf8)
                return .status(204)
            })
        try "{ routes: { default: { url: \"\(receiver.url)\" } } }".write(
            to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        let ids = try drainq.run("add", input: numbered(2)).lines
        try drainq.run("hold", ids[1])
        let finished = try drainq.run("run", ids[0], ids[1])
        #expect(receiver.receivedCount == 1)
        #expect(finished.status == 74, "\(finished)")
        // The run is counted, as every run.
        let counts = try String(contentsOf: drainq.queue.appending(path: "state/reports.json"), encoding: .utf8)
        #expect(counts.contains(#""74":1"#), "\(counts)")
    }

    @Test func `an id for two operations is an error before a request or an addition`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        #expect(try drainq.run("send", "--id", "a", input: numbered(2)).status == 64)
        #expect(receiver.receivedCount == 0)
        #expect(try drainq.run("add", "--id", "a", input: numbered(2)).status == 64)
        #expect(try drainq.names("new").isEmpty)
        #expect(try drainq.run("send", "--id", "a", input: numbered(1)).status == 0)
        #expect(receiver.receivedCount == 1)
    }

    @Test(arguments: [SIGTERM, SIGHUP])
    func `after a signal a run finishes its attempts, claims no more and leaves the rest due`(number: Int32) throws {
        let receiver = try LoopbackReceiver(script: .always(.status(204).delayed(.milliseconds(400))))
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: numbered(100))
        let run = try drainq.start("run", "--concurrency", "2", "-v")
        #expect(receiver.wait(forRequests: 4, within: .seconds(120)))
        run.signal(number)
        let finished = try run.finish()
        #expect(finished.status == 75)
        #expect(finished.error.contains(/drainq: stopping: waiting up to 10s for [12] attempts? in flight\n/))
        #expect(finished.error.contains(" still due; stopped by signal \(number), the rest stays in the queue\n"))
        let delivered = receiver.answeredCount
        #expect(delivered == receiver.receivedCount)
        #expect(try drainq.names("new").count == 100 - delivered)
        #expect(try drainq.names("claimed").isEmpty)
    }

    @Test func `a second signal cuts off attempts in flight, and the operations are put back`() throws {
        let receiver = try LoopbackReceiver(script: .always(.silence))
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: numbered(3))
        let run = try drainq.start("run")
        #expect(receiver.wait(forRequests: 3, within: .seconds(120)))
        run.signal(SIGTERM)
        run.signal(SIGINT)
        let finished = try run.finish()
        #expect(finished.status == 130 || finished.status == 143)
        #expect(try drainq.waiting() == 3)
        #expect(try drainq.names("claimed").isEmpty)
    }

    @Test func `a 401 holds the destination, and no operation is charged or lost`() throws {
        let receiver = try LoopbackReceiver(
            script: .always(.status(401, headers: ["WWW-Authenticate: Basic realm=\"x\""])))
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: numbered(20))
        let run = try drainq.run("run", "--concurrency", "1")
        #expect(run.status == 69)
        #expect(run.error.contains("'\(receiver.url)' is held: 401"))
        // The second attempt tests whether only the first operation is refused.
        #expect(receiver.receivedCount == 2)
        #expect(try drainq.names("new").count == 20)
    }

    @Test func `a refused operation fails after the next operation is delivered, and holds nothing`() throws {
        let receiver = try LoopbackReceiver(
            script: .deciding { request, _ in .status(request.body == Array("1".utf8) ? 403 : 204) })
        let drainq = try Drainq(to: receiver)
        let id = try #require(try drainq.run("add", input: "1").lines.first)
        let first = try drainq.run("run")
        #expect(first.status == 75 && first.error.isEmpty)
        #expect(try drainq.run("show", id).output.contains("parked: the server refused it"))
        try drainq.run("add", input: "2")
        let last = try drainq.run("run")
        #expect(last.status == 1 && last.error.contains(id) && last.error.contains("failed: 403"))
        #expect(try drainq.run("show", id).output.contains("but others were accepted: fails; to blame: the operation"))
        #expect(try drainq.run("status").output.contains("held:") == false)
    }

    @Test func `a slow series of 404 fails five operations, and its hold ends by itself`() throws {
        let receiver = try LoopbackReceiver(
            script: .sequence(Array(repeating: .status(404), count: 7) + [.status(204)]))
        let drainq = try Drainq(
            "{ routes: { default: { url: \"\(receiver.url)/x\" } }, "
                + "destinations: { \"\(receiver.url)\": { holdProbe: \"1h\" } } }")
        var statuses: [Int32] = []
        for number in 1...8 {
            try drainq.run("add", input: "\(number)")
            statuses.append(try drainq.run("run").status)
        }
        #expect(statuses == [1, 1, 1, 1, 1, 69, 69, 69] && receiver.receivedCount == 6)
        #expect(try drainq.names("failed").count == 5 && drainq.names("new").count == 3)
        let file = drainq.queue.appending(path: "drainq.json")
        let text = try String(contentsOf: file, encoding: .utf8).replacing("1h", with: "1ms")
        try text.write(to: file, atomically: true, encoding: .utf8)
        #expect(try drainq.run("run").status == 69)
        #expect(try drainq.run("run").status == 0)
        #expect(try drainq.waiting() == 0)
    }

    @Test func `hints name the configuration if --config does, with its full path in a mail`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(400)))
        let drainq = try Drainq(to: receiver)
        let added = try drainq.shell("mv queue/drainq.json my.json; echo 1 | drainq add --config my.json")
        let id = try #require(added.lines.first)
        #expect(
            try drainq.shell("drainq retry x --config my.json").error.contains("hint: drainq list --config my.json\n"))
        let mail = try drainq.shell("drainq run --config my.json").error
        let place = "--queue \(drainq.queue.path) --config \(drainq.directory.path)/my.json"
        #expect(mail.hasSuffix("hint: drainq show \(id) \(place)\n"))
    }

    @Test func `hints name the queue if --queue does`() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(400), .status(302)]))
        let drainq = try Drainq(to: receiver)
        let queue = drainq.queue.path
        let id = try #require(try drainq.run("add", input: "1").lines.first)
        #expect(try drainq.run("run", "--queue", queue).error.hasSuffix("hint: drainq show \(id) --queue \(queue)\n"))
        try drainq.run("add", input: "2")
        let release = "drainq release --destination \(receiver.url) --queue \(queue)"
        #expect(try drainq.run("run", "--queue", queue).error.hasSuffix("; '\(release)' ends the hold\n"))
        try Data("none".utf8).write(to: drainq.queue.appending(path: "new/none"))
        #expect(try drainq.run("run", "--queue", queue).error.contains("hint: kept as '\(queue)/quarantine/"))
    }

    @Test func `an operation that may have been received is held and reported once, with a way out`() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.silence, .status(204)]))
        let drainq = try Drainq(
            to: receiver,
            "keyTTL: \"1s\", timeouts: { total: \"300ms\" }, retry: { schedule: [\"1s\"], attempts: 9, jitter: 0 }")
        let id = try #require(try drainq.run("add", input: "1").lines.first)
        #expect(try drainq.run("run").status == 75)
        let held = try drainq.run("run", "--until-empty", "--max-time", "20s")
        #expect(held.status == 69)
        #expect(held.error.contains("'\(id)' is held: ambiguous") && held.error.contains("drainq drop \(id)"))
        #expect(try drainq.run("run").error.isEmpty)
        #expect(receiver.receivedCount == 1)
        #expect(try drainq.run("retry", id).status == 0)
        #expect(try drainq.run("run").status == 0)
    }

    @Test func `with --fail-if-busy a second run ends at once, and without the option joins in`() throws {
        let isBusy = DispatchSemaphore(value: 0)
        let receiver = try LoopbackReceiver(
            script: .deciding { _, index in
                if index == 0 { isBusy.wait() }
                return .status(204)
            })
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: numbered(10))
        let first = try drainq.start("run", "--concurrency", "1")
        #expect(receiver.wait(forRequests: 1, within: .seconds(120)))
        let second = try drainq.run("run", "--fail-if-busy", "-v")
        isBusy.signal()
        #expect(second.status == 75 && second.error.contains("another run works on the queue"))
        #expect(try drainq.run("run").status == 0)
        #expect(try first.finish().status == 0)
        #expect(receiver.receivedCount == 10)
        #expect(try drainq.run("run", "--fail-if-busy").status == 0)
    }

    @Test func `--rate spaces the requests`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: numbered(4))
        let run = try drainq.run("run", "--rate", "10/s", "--json")
        let summary = try json(run.lines.last!)
        // The fourth cannot begin before three intervals have passed.
        #expect(summary["delivered"] as? Int == 4)
        #expect(try #require(summary["durationMs"] as? Int) >= 300)
    }

    @Test func `an attempt in flight at the end of --max-time is cut off after --grace`() throws {
        let receiver = try LoopbackReceiver(script: .always(.silence))
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: "1")
        let run = try drainq.run("run", "--max-time", "300ms", "--grace", "200ms", "-v")
        #expect(run.status == 75 && run.error.contains("1 cut off"))
        #expect(try drainq.waiting() == 1 && drainq.names("claimed").isEmpty)
    }

    @Test func `a type without a url is held with a hint, and a configured type is delivered`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq("{ routes: { good: { url: \"\(receiver.url)/good\" }, bad: { method: \"PUT\" } } }")
        try drainq.run("add", "--type", "bad", input: "1")
        try drainq.run("add", "--type", "good", input: "2")
        let run = try drainq.run("run")
        #expect(run.status == 69)
        #expect(run.error.contains("no url is configured for type 'bad'"))
        #expect(run.error.contains("hint: set routes"))
        #expect(receiver.requests().map(\.text) == ["2"])
    }

    @Test func `an answer that traps Foundation's parser is an answer over URLSession`() throws {
        let fatal = Answer.status(200, body: "x").chunked(trailers: ["X-Trailer: 1"])
        let receiver = try LoopbackReceiver(
            script: .playing { request in
                request.text.contains("\"n\":3}") ? fatal.play : Answer.status(204).play
            })
        let drainq = try Drainq(
            """
            { routes: { default: { url: "\(receiver.url)" } },
              destinations: { "\(receiver.url)": { transport: "urlsession" } } }
            """)
        try drainq.run("add", input: numbered(10))
        let run = try drainq.run("run")
        #expect(run.status == 0)
        #expect(run.error.isEmpty)
        #expect(try drainq.waiting() == 0)
        #expect(receiver.requests().count == 10)
    }

    @Test func `a run of a superseded operation says which one replaced it, with status 1, unless both are named`()
        throws
    {
        let receiver = try LoopbackReceiver(script: .always(.status(204)))
        let drainq = try Drainq(to: receiver, "coalesce: true")
        for id in ["old", "new"] { try drainq.run("add", "--id", id, "--key", "k", input: "\"\(id)\"") }
        let superseded = try drainq.run("run", "old")
        #expect(superseded.status == 1 && superseded.error == "drainq: error: 'old' is superseded: 'new' replaced it\n")
        try drainq.run("add", "--id", "newest", "--key", "k", input: "\"newest\"")
        let both = try drainq.run("run", "new", "newest")
        #expect(both.status == 0 && both.error.isEmpty)
        #expect(receiver.requests().map(\.text) == ["\"newest\""])
    }

    @Test func `a dry run shows the order and touches nothing`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        let ids = try drainq.run("add", input: numbered(3)).lines
        let run = try drainq.run("run", "--dry-run")
        #expect(run.lines.map { String($0.prefix(36)) } == ids)
        #expect(receiver.receivedCount == 0)
        #expect(try drainq.names("new").count == 3)
    }

    @Test func `a paused queue makes no attempts`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: "1")
        try Data().write(to: drainq.queue.appending(path: "paused"))
        #expect(try drainq.run("run").status == 0)
        #expect(receiver.receivedCount == 0)
    }

    @Test func `a pause ends a run, and the run reports its deliveries`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(204).delayed(.milliseconds(300))))
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: numbered(200))
        let run = try drainq.start("run", "--limit", "200", "--concurrency", "1", "-v")
        #expect(receiver.wait(forRequests: 1, within: .seconds(120)))
        try drainq.run("pause")
        let finished = try run.finish()
        #expect(finished.status == 75)
        #expect(finished.error.contains(/[0-9] delivered in .*; [0-9]+ still due; stopped because the queue was/))
    }

    @Test func `--max-time ends a run, and the remaining operations stay due`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(204).delayed(.milliseconds(50))))
        let drainq = try Drainq(to: receiver)
        try drainq.run("add", input: numbered(200))
        let run = try drainq.run("run", "--limit", "200", "--concurrency", "1", "--max-time", "2s")
        #expect(run.status == 75)
        #expect((1...45).contains(receiver.receivedCount))
        #expect(try drainq.waiting() == 200 - receiver.receivedCount)
    }
}

func json(_ line: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
}

func date(_ value: Any?) throws -> Date {
    try Date(#require(value as? String), strategy: .iso8601.year().month().day().time(includingFractionalSeconds: true))
}
