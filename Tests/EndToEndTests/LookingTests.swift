import DrainqCLI
import Foundation
import LoopbackReceiver
import Testing

/// `list`, `status` and `show` agree with the next run.
struct LookingTests {
    private func waits(_ queue: Drainq) throws -> [String] {
        try queue.operations([]).map { operation in
            let waits = operation["waitsFor"] as? [String: Any]
            return [waits?["what"], waits?["id"]].compactMap { $0 as? String }.joined(separator: " ")
        }
    }

    private func dueByRun(_ queue: Drainq) throws -> Int { try queue.run("run", "--dry-run").lines.count }

    @Test func `an operation behind an older operation of its key is not due`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\", ordering: \"key\" } } }")
        let first = try queue.run("add", "--key", "k", "--delay", "1h", input: "1").lines[0]
        let second = try queue.run("add", "--key", "k", input: "2").lines[0]
        try queue.run("add", "--key", "other", input: "3")
        #expect(try waits(queue) == ["time", "older \(first)", ""])
        let status = try queue.status()
        #expect(status["due"] as? Int == 1 && status["behind"] as? Int == 1)
        #expect(try dueByRun(queue) == 1)
        #expect(try queue.run("list").lines[2].contains("behind \(first)"))
        #expect(try queue.run("show", second).output.hasPrefix("new: waiting behind '\(first)', which goes first\n"))
        #expect(try queue.run("status").output.contains("1 due now, 1 behind older ones"))
    }

    @Test func `an operation behind due operations is due`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\", ordering: \"strict\" } } }")
        try queue.run("add", input: numbered(3))
        #expect(try waits(queue) == ["", "", ""])
        #expect(try queue.status()["due"] as? Int == 3)
        #expect(try dueByRun(queue) == 3)
    }

    @Test func `a superseded value is not due`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\", coalesce: true } } }")
        try queue.run("add", "--key", "k", input: "1")
        let newer = try queue.run("add", "--key", "k", input: "2").lines[0]
        #expect(try waits(queue) == ["newer \(newer)", ""])
        let status = try queue.status()
        #expect(status["due"] as? Int == 1 && status["superseded"] as? Int == 1)
        #expect(try dueByRun(queue) == 1)
        #expect(try queue.run("status").output.contains("1 replaced by newer ones"))
    }

    @Test func `an operation that waits for its destination has the reason`() throws {
        let queue = try Drainq(
            """
            { routes: { default: { url: "https://a.example" }, b: { url: "https://b.example" },
                        c: { url: "https://c.example" }, d: { url: "https://d.example" } } }
            """)
        for type in ["default", "b", "c", "d"] { try queue.run("add", "--type", type, input: "1") }
        let soon = Date(timeIntervalSinceNow: 300).formatted(.iso8601)
        try Data(
            """
            {"version":1,"destinations":{
              "https://a.example":{"hold":{"reason":"401","since":"\(Date().formatted(.iso8601))","status":401}},
              "https://b.example":{"notBefore":"\(soon)"},
              "https://c.example":{"failures":5,"lastFailure":"refused","coolDownUntil":"\(soon)","coolDowns":1}}}
            """.utf8
        ).write(to: queue.queue.appending(path: "state/destinations.json"))
        try queue.run("pause", "--destination", "https://d.example")
        #expect(try waits(queue) == ["destinationHeld", "retryAfter", "circuitBreaker", "destinationPaused"])
        #expect(try queue.status()["due"] as? Int == 0)
        #expect(try dueByRun(queue) == 0)
        let listed = try queue.run("list").lines
        for (line, word) in zip(listed.dropFirst(), ["(held)", "(retry-after)", "(circuit breaker)", "paused"]) {
            #expect(line.contains(word), "\(line)")
        }
    }

    @Test func `a paused queue waits for resume`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\" } } }")
        try queue.run("add", input: "1")
        try queue.run("pause")
        #expect(try waits(queue) == ["resume"])
        try queue.run("resume")
        #expect(try waits(queue) == [""])
    }

    @Test func `the status counts all waiting operations by age`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\" } } }")
        let old = "20200101T000000.000000Z-old.json"
        let header =
            #"{"drainq":1,"id":"old","createdAt":"2020-01-01T00:00:00Z","contentType":"application/json","length":1}"#
        try Data("\(header)\n1\n".utf8).write(to: queue.queue.appending(path: "new/\(old)"))
        try queue.run("add", input: numbered(2))
        let rows = try #require(try queue.status()["destinations"] as? [[String: Any]])
        let ages = try #require(rows.first?["ages"] as? [String: Int])
        #expect(ages == ["1m": 2, "5m": 0, "1h": 0, "6h": 0, "1d": 0, "3d": 0, "older": 1])
        let lines = try queue.run("status").lines
        #expect(lines[0] == "no run has come yet: 3 operations wait for the first" && lines[3].hasPrefix("DESTINATION"))
        #expect(
            lines[4].split(separator: " ").prefix(9) == ["https://a.example", "3", "2", "0", "0", "0", "0", "0", "1"])
    }

    // MARK: - Filters by the result of an attempt

    @Test func `wait takes no copy of an earlier operation with the id for the operation that ended`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(204)))
        let drainq = try Drainq(
            "{ retention: { delivered: '1d' }, routes: { default: { url: \"\(receiver.url)/\" } } }")
        try drainq.run("add", "--id", "a", input: "1")
        #expect(try drainq.run("run").status == 0)
        #expect(try drainq.run("wait", "--timeout", "5s", "a").status == 0)
        try drainq.run("add", "--id", "a", input: "2")
        #expect(try drainq.run("drop", "a").status == 0)
        let dropped = try drainq.run("wait", "--timeout", "5s", "a")
        #expect(dropped.status == 1 && dropped.error.contains("'a' was dropped by an operator"))
    }

    @Test func `wait knows what send has delivered, although send keeps no copy`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(200, body: "{}")))
        let drainq = try Drainq(to: receiver, "keepAnswer: true")
        #expect(try drainq.run("send", "--id", "a", input: "1").status == 0)
        #expect(try drainq.run("wait", "--timeout", "5s", "a").status == 0)
        try drainq.run("add", "--id", "b", input: "1")
        #expect(try drainq.run("run").status == 0)
        #expect(try drainq.run("wait", "--timeout", "5s", "b").output == "{}")
    }

    @Test func `--status chooses operations by their last attempt`() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(503), .status(500), .status(400)]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let ids = try queue.run("add", input: numbered(3)).lines
        try queue.run("run", "--concurrency", "1")
        let refused = try queue.run("add", "--url", "http://127.0.0.1:1/", input: "4").lines[0]
        try queue.run("run")
        try queue.run("add", "--type", "unsent", "--delay", "1h", input: "5")
        func listed(_ filter: String...) throws -> [String] {
            try queue.operations(filter).compactMap { $0["id"] as? String }
        }
        #expect(try listed("--status", "503") == [ids[0]])
        #expect(try listed("--status", "5xx") == [ids[0], ids[1]])
        #expect(try listed("--status", "500-502", "--status", "400") == [ids[1], ids[2]])
        #expect(try listed("--status", "refused") == [refused])
        #expect(try listed("--status", "5xx", "--state", "failed") == [])
        let exported = try queue.run("export", "--status", "400")
        #expect(exported.lines.count == 1 && exported.output.contains(ids[2]))
        #expect(try queue.run("retry", "--status", "4xx").lines == [ids[2]])
        #expect(try queue.run("hold", "--destination", receiver.url, "--status", "503").lines == [ids[0]])
        #expect((try queue.status()["holds"] as? [Any])?.isEmpty == true)
        #expect(try queue.run("drop", "--status", "refused").lines == [refused])
        let wrong = try queue.run("list", "--status", "refusd")
        #expect(wrong.status == 64 && wrong.error.contains("did you mean refused?"))
    }

    @Test func `--limit bounds the chosen operations, the oldest first`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\" } } }")
        let ids = try queue.run("add", input: numbered(4) + "{\n").lines
        #expect(try queue.run("hold", "--limit", "1").status == 64)
        #expect(
            try queue.run("hold", "--destination", "https://a.example", "--limit", "2").lines == Array(ids.prefix(2)))
        #expect(try queue.run("release", "--all", "--limit", "1").lines == [ids[0]])
        let states = ["--state", "new", "--state", "quarantined"]
        #expect(try queue.run(["drop", "--limit", "3"] + states).lines == [ids[0], ids[2], ids[3]])
        #expect(try queue.run(["drop", "--limit", "3"] + states).lines.count == 1)
        #expect(try queue.run("list", "--limit", "1").lines.count == 2)
    }

    // MARK: - Quarantine

    @Test func `quarantine is listed by name, the first names within --limit`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\" } } }")
        for name in ["c", "a", "d", "b"] { try queue.drop(Data("{".utf8), as: name) }
        try queue.run("run")
        func names(_ arguments: String...) throws -> [String] {
            try queue.run(["list", "--state", "quarantined"] + arguments).lines.dropFirst().map {
                String($0.prefix { $0 != " " })
            }
        }
        let all = try names()
        #expect(all.count == 4 && all == all.sorted())
        #expect(try names("--limit", "2") == Array(all.prefix(2)))
    }

    @Test func `list shows quarantined files under names that further commands accept`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\" } } }")
        try queue.run("add", input: "{\"n\":\n")
        let name = try #require(try queue.run("list").lines.last?.split(separator: " ").first.map(String.init))
        let file = try #require(queue.names("quarantine").first { $0.hasSuffix("-\(name).input") })
        let shown = try queue.run("show", name).output
        #expect(shown.contains("quarantined: ") && shown.contains("called:       standard input line 1"))
        #expect(shown.hasSuffix("content:\n  {\"n\":\n"))
        #expect(try queue.run("hold", name).error.contains("cannot hold 'quarantine/\(file)': it is quarantined"))
        #expect(try queue.run("export", name).status == 1)
        let refused = try queue.run("retry", name)
        #expect(refused.status == 1 && refused.error.contains("cannot retry 'quarantine/\(file)': it is truncated"))
        #expect(try queue.names("quarantine").count == 2 && queue.names("new").isEmpty)
        #expect(try queue.run("drop", "quarantine/\(file)").lines == ["quarantine/\(file)"])
        #expect(try queue.names("quarantine").isEmpty)
        #expect(try queue.run("drop", name).error.contains("no such operation"))
    }

    @Test func `a mended file in quarantine is retried and sent`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: "{\"n\" 1}\n{\"m\" 1}\n")
        let names = try queue.names("quarantine").filter { !$0.hasSuffix(".reason") }
        try Data("{\"n\":1}".utf8).write(to: queue.queue.appending(path: "quarantine/\(names[0])"))
        let retried = try queue.shell("drainq list --state quarantined --json | drainq retry -")
        #expect(retried.lines == ["quarantine/\(names[0])"] && retried.status == 1)
        #expect(retried.error.contains("cannot retry 'quarantine/\(names[1])'"))
        #expect(try queue.run("run").status == 0)
        #expect(receiver.requests().map(\.text) == ["{\"n\":1}"])
    }

    @Test func `retry by id returns an operation from quarantine only after its repair`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\" } } }")
        let id = try queue.run("add", input: "1").lines[0]
        let file = try queue.names("new")[0]
        let good = try Data(contentsOf: queue.queue.appending(path: "new/\(file)"))
        let place = queue.queue.appending(path: "quarantine/\(file)")
        try FileManager.default.moveItem(at: queue.queue.appending(path: "new/\(file)"), to: place)
        try Data("{}".utf8).write(to: place)
        #expect(try queue.run("list").lines.last?.hasPrefix(id) == true)
        #expect(try queue.run("retry", id).error.contains("cannot retry 'quarantine/\(file)'"))
        try good.write(to: place)
        #expect(try queue.run("retry", id).lines == ["quarantine/\(file)"])
        #expect(try queue.names("new") == [file])
        #expect(try queue.run("drop", id).lines == [id])
    }

    @Test func `the status has the total of deliveries by runs and send, and the time of the last delivery`() throws {
        let receiver = try LoopbackReceiver(script: Script(["204 *3", "503", "204"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        #expect(try queue.status()["deliveredTotal"] as? Int == 0)
        #expect(try queue.status()["lastSuccess"] == nil)
        try queue.run("add", input: numbered(2))
        #expect(try queue.run("run").status == 0)
        #expect(try queue.run("send", input: numbered(2)).status == 75)
        let status = try queue.status()
        #expect(status["deliveredTotal"] as? Int == 3)
        #expect(status["lastSuccess"] is String)
        #expect(["none", "local", "online", "metered"].contains(status["network"] as? String))
        #expect(try queue.run("status").output.contains("3 delivered in all, the last one "))
        let metrics = try queue.run("status", "--prometheus").output
        func count(_ name: String) -> String? {
            metrics.split(separator: "\n").first { $0.hasPrefix("drainq_\(name)_total{") }?.split(separator: " ").last
                .map(String.init)
        }
        #expect(count("attempts") == "4" && count("delivered") == "3" && count("deferred") == "1")
    }

    @Test func `a long list opens no file of a deferred operation, except with --long or --limit`() throws {
        let queue = try Drainq("{ routes: { default: { url: \"https://a.example\" } } }")
        try queue.run("add", input: numbered(1001))
        for name in try queue.names("new") {
            let deferred = "deferred/\(name.dropLast(5)),a=1,t=20991231T000000Z.json"
            try FileManager.default.moveItem(
                at: queue.queue.appending(path: "new/\(name)"), to: queue.queue.appending(path: deferred))
        }
        func last(_ options: String...) throws -> Set<String> {
            Set(try queue.start(["list"] + options, input: "").finish().lines.dropFirst().map { String($0.last!) })
        }
        #expect(try last() == ["?"])
        #expect(try last("--long") == ["-"])
        #expect(try last("--limit", "1000") == ["-"])
    }
}
