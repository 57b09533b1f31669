import DrainqCLI
import Foundation
import LoopbackReceiver
import Testing

/// `drainq log`: events, told by the processes that caused the events.
struct LogTests {
    private func story(_ queue: Drainq, _ arguments: String...) throws -> [String] {
        let told = try queue.start(["log"] + arguments, input: "").finish()
        #expect(told.status == 0 && told.error.isEmpty, "\(told)")
        // Times and ids differ each time, and attempts shorter than a second have no duration.
        return told.lines.dropFirst().map {
            String($0.dropFirst(10)).replacing(#/ \([0-9a-f-]{36}( and \d+ more)?\)/#, with: "")
                .replacing(#/ by [^ :]+/#, with: " by me").replacing(#/ in [0-9][0-9ms. ]*s/#, with: " in TIME")
                .replacing(#/after [0-9][0-9ms. ]*s/#, with: "after TIME")
                .replacing(#/(delivered|deferred) in TIME/#) { $0.output.1 }
        }
    }

    @Test func `the log tells an outage, its end and a refusal`() throws {
        let receiver = try LoopbackReceiver(
            script: Script(["503 *5", "204 *2", "400 body=\"use /v2\"", "204"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver, "retry: { schedule: ['1s', '1s', '1s', '1s', '1s', '1s'] }")
        try queue.run("add", input: numbered(1))
        for _ in 0..<6 { try queue.run("run", "--now", "--concurrency", "1") }
        try queue.run("add", input: numbered(2))
        #expect(try queue.run("run", "--now", "--concurrency", "1").status == 1)
        #expect(
            try story(queue).map { $0.replacing(receiver.url, with: "URL") } == [
                "URL: 5 deferred: 503",
                "URL down: 503 (5 attempts in TIME); 1 waiting", "URL up after TIME; 2 delivered",
                "URL: 1 operation failed: 400 \"use /v2\"",
            ])
    }

    @Test func `the log tells an operator's commands with the user, and omits commands without effect`() throws {
        let queue = try Drainq("{ routes: { default: { url: 'http://127.0.0.1:1/x' } } }")
        try queue.run("add", input: numbered(3))
        for command in [
            ["hold", "--all"], ["hold", "--all"], ["release", "--all"], ["drop", "--type", "none"], ["drop", "--all"],
            ["pause"], ["resume"], ["pause", "--destination", "http://127.0.0.1:1"],
            ["hold", "--destination", "http://127.0.0.1:1", "--reason", "maintenance"],
            ["release", "--destination", "http://127.0.0.1:1"],
        ] {
            _ = try queue.start(command, input: "").finish()
        }
        #expect(
            try story(queue) == [
                "hold by me: 3 operations", "release by me: 3 operations", "drop by me: 3 operations",
                "the queue paused by me", "the queue resumed by me", "http://127.0.0.1:1 paused by me",
                "http://127.0.0.1:1 held by me: maintenance; 0 waiting", "http://127.0.0.1:1 released by me after TIME",
            ])
    }

    @Test func `the log tells evictions with the evicted ids`() throws {
        let queue = try Drainq(
            "{ routes: { default: { url: 'http://127.0.0.1:1/x' } }, limits: { operations: 2, whenFull: 'dropOldest' } }"
        )
        let ids = try queue.run("add", input: numbered(2)).lines
        try queue.run("add", input: numbered(2))
        let events = try queue.run("log", "--json").lines.map { line in
            try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        #expect(events.map { $0["event"] as? String } == ["evicted"])
        #expect(events[0]["count"] as? Int == 2 && events[0]["ids"] as? [String] == ids)
        #expect(try queue.run("log", "--id", ids[1]).lines.count == 2)
        #expect(try queue.run("log", "--id", "other").lines.isEmpty)
    }

    @Test func `filters choose by time, destination and type`() throws {
        let receiver = try LoopbackReceiver(script: Script(["400 *2"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", "--type", "a", input: numbered(1))
        try queue.run("run")
        #expect(try queue.run("log", "--json").lines.count == 3)
        #expect(try queue.run("log", "--json", "--type", "a").lines.count == 1)
        #expect(try queue.run("log", "--json", "--type", "b").lines.isEmpty)
        #expect(try queue.run("log", "--json", "--destination", receiver.url).lines.count == 2)
        #expect(try queue.run("log", "--json", "--since", "+1h").lines.isEmpty)
        #expect(try queue.run("log", "--json", "--until", "-1h").lines.isEmpty)
        #expect(try queue.run("log", "--destination", "none").status == 64)
    }

    @Test func `log --verbose tells runs and changes of the configuration`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        for change in 0..<2 {
            try queue.run("add", input: numbered(1))
            try queue.run("run")
            if change == 0 {
                let text = try String(contentsOf: queue.queue.appending(path: "drainq.json"), encoding: .utf8)
                try ("// changed\n" + text).write(
                    to: queue.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
            }
        }
        try queue.run("run")
        let told = try story(queue, "--verbose").map { $0.replacing(receiver.url, with: "URL") }
        let run = "run in TIME: 1 delivered; exit status 0"
        #expect(told == ["URL: 1 delivered", run, "URL: 1 delivered", "the configuration has changed", run])
    }

    @Test func `an unwritable log is a warning, and does not affect the run`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try Data().write(to: queue.queue.appending(path: "state/log"))
        try queue.run("add", input: numbered(1))
        let run = try queue.run("run")
        #expect(run.status == 0 && receiver.receivedCount == 1)
        #expect(run.error.contains("warning: cannot lock 'state/log/lock'"), "\(run)")
        // The next command has the log take what it was owed.
        try FileManager.default.removeItem(at: queue.queue.appending(path: "state/log"))
        try queue.run("pause")
        #expect(
            try story(queue).map { $0.replacing(receiver.url, with: "URL") } == [
                "URL: 1 delivered", "the queue paused by me",
            ])
    }

    @Test func `unreadable lines are counted, and readable events are told`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: numbered(1))
        try queue.run("run")
        let file = queue.queue.appending(path: "state/log/events")
        let text = try String(contentsOf: file, encoding: .utf8)
        try (text + "{\"at\":\"2026-11-21T09:15:00Z\",\"event\":\"newer\"}\n{\"at\"").write(
            to: file, atomically: true, encoding: .utf8)
        let told = try queue.run("log", "--json")
        #expect(told.status == 0 && told.lines.count == 2)
        #expect(told.error.contains("2 lines of the log cannot be read"))
    }

    @Test func `log --follow prints new events until a signal`() throws {
        let queue = try Drainq("{ routes: { default: { url: 'http://127.0.0.1:1/x' } } }")
        let follower = try queue.start("log", "--follow", "--json")
        try queue.run("pause")
        let deadline = Date(timeIntervalSinceNow: 50)
        while try !String(contentsOf: follower.output, encoding: .utf8).contains(#""event":"paused""#),
            Date() < deadline
        {
            Thread.sleep(forTimeInterval: 0.05)
        }
        follower.signal(SIGINT)
        let told = try follower.finish()
        #expect(told.status == 0 && told.output.contains(#""event":"paused""#))
    }
}
