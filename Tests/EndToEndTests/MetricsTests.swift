import DrainqCLI
import Foundation
import LoopbackReceiver
import Testing

/// Metrics of real queues and runs.
struct MetricsTests {
    private func configuration(_ receiver: LoopbackReceiver, _ file: String) -> String {
        """
        { routes: { default: { url: "\(receiver.url)/{type}", retry: { base: "1h", attempts: 3 } } },
          metrics: { textfile: "\(file)" } }
        """
    }

    /// Returns the values of a family's series with the given labels.
    private func values(_ text: String, _ name: String, where labels: String...) -> [String] {
        text.split(separator: "\n").filter { line in
            line.hasPrefix(name + "{") && labels.allSatisfy(line.contains)
        }.compactMap { $0.split(separator: " ").last.map(String.init) }
    }

    @Test func `an eviction counts at the destination of the operation's own url`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(204)))
        defer { receiver.stop() }
        let limits = "limits: { operations: 1, whenFull: \"dropOldest\" }"
        let drainq = try Drainq("{ routes: { default: { url: \"http://127.0.0.1:9/\" } }, \(limits) }")
        func add() throws { try drainq.run("add", "--url", "\(receiver.url)/x", input: "1") }
        try add()
        #expect(try drainq.run("run").status == 0)
        try add()
        try add()
        let evicted = try drainq.run("status", "--prometheus").lines.filter { $0.hasPrefix("drainq_evicted_total{") }
        #expect(evicted.contains { $0.hasSuffix("destination=\"\(receiver.url)\"} 1") }, "\(evicted)")
    }

    @Test func `counters survive between runs, and status shows counters and waiting operations`() throws {
        let receiver = try LoopbackReceiver(script: Script(["204 *2", "503", "400", "204"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver, "retry: { base: \"1h\", attempts: 3 }")
        try queue.run("add", input: numbered(2))
        #expect(try queue.run("run").status == 0)
        try queue.run("add", input: numbered(2))
        #expect(try queue.run("run", "--concurrency", "1").status == 1)
        try queue.drop(Data("{".utf8), as: "bad")
        #expect(try queue.run("run").status == 65)
        try queue.run("add", input: numbered(1))
        let text = try queue.run("status", "--prometheus").output
        let here = "destination=\"\(receiver.url)\""
        #expect(values(text, "drainq_attempts_total", where: here) == ["4"])
        #expect(values(text, "drainq_delivered_total", where: here) == ["2"])
        #expect(values(text, "drainq_deferred_total", where: here) == ["1"])
        #expect(values(text, "drainq_failed_total", where: here) == ["1"])
        #expect(values(text, "drainq_quarantined_total") == ["1"])
        #expect(values(text, "drainq_runs_total") == ["1", "1", "1"])
        #expect(values(text, "drainq_operations", where: here, "state=\"new\"") == ["1"])
        #expect(values(text, "drainq_operations", where: here, "state=\"failed\"") == ["1"])
        #expect(values(text, "drainq_operations", where: "state=\"quarantined\"") == ["1"])
        #expect(values(text, "drainq_due_operations") == ["1"])
        #expect(values(text, "drainq_last_run_exit_status") == ["65"])
        #expect(values(text, "drainq_oldest_operation_timestamp_seconds", where: here).count == 1)
    }

    @Test func `an idle run counts nothing and writes no state`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        #expect(try queue.run("run").status == 0)
        #expect(try queue.names("state").filter { $0.hasSuffix(".json") } == [])
    }

    @Test func `expired and superseded operations have their own counters`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver, "coalesce: true")
        try queue.run("add", "--key", "k", input: numbered(3))
        try queue.run("add", "--key", "x", "--expires", "1ms", input: numbered(1))
        #expect(try queue.run("run").status == 1)
        let text = try queue.run("status", "--prometheus").output
        #expect(values(text, "drainq_superseded_total") == ["2"])
        #expect(values(text, "drainq_expired_total") == ["1"])
        #expect(values(text, "drainq_failed_total") == ["1"])
        #expect(values(text, "drainq_delivered_total") == ["1"])
        #expect(values(text, "drainq_attempts_total") == ["1"])
    }

    @Test func `runs at the same time add up`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: numbered(60))
        let runs = try (0..<3).map { _ in try queue.start("run", "--until-empty", "--concurrency", "2") }
        for run in runs { #expect(try run.finish().status == 0) }
        let text = try queue.run("status", "--prometheus").output
        #expect(values(text, "drainq_delivered_total") == ["60"])
    }

    @Test func `every run, even an idle run, replaces the file of metrics, readable by everybody`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq()
        let file = queue.directory.appending(path: "drainq.prom")
        try configuration(receiver, file.path).write(
            to: queue.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        try queue.run("add", input: numbered(2))
        #expect(try queue.run("run").status == 0)
        // Each exposition has the time of its making.
        func metrics(_ text: String) -> [Substring] {
            text.split(separator: "\n").filter { !$0.hasPrefix("drainq_exposition_timestamp_seconds{") }
        }
        let (written, shown) = (
            try String(contentsOf: file, encoding: .utf8), try queue.run("status", "--prometheus").output
        )
        #expect(metrics(written) == metrics(shown), "they are one and the same")
        #expect(metrics(written).count == written.split(separator: "\n").count - 1)
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(mode == 0o644)
        #expect(try !FileManager.default.contentsOfDirectory(atPath: queue.directory.path).contains(".drainq.prom.new"))
        try queue.run("pause")
        #expect(try queue.run("run").status == 0)
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(values(text, "drainq_paused") == ["1"])
        #expect(values(text, "drainq_delivered_total") == ["2"])
        let stamp = try FileManager.default.attributesOfItem(atPath: file.path)[.systemFileNumber] as? Int
        try queue.run("status", "--prometheus")
        #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.systemFileNumber] as? Int == stamp)
    }

    @Test func `an unwritable file of metrics is a warning and changes no status`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(configuration(receiver, "/nowhere/at/all/x.prom"))
        try queue.run("add", input: numbered(1))
        let finished = try queue.run("run")
        #expect(finished.status == 0)
        #expect(
            finished.error == """
                drainq: warning: cannot write '/nowhere/at/all/x.prom': No such file or directory
                drainq: hint: the path is that of a file, in a directory that is there and that runs can write

                """)
    }

    @Test func `a damaged file of counters counts as empty, and --prometheus and --json exclude each other`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try Data("{".utf8).write(to: queue.queue.appending(path: "state/reports.json"))
        #expect(try values(queue.run("status", "--prometheus").output, "drainq_quarantined_total") == ["0"])
        try queue.run("add", input: numbered(1))
        #expect(try queue.run("run").status == 0)
        #expect(try values(queue.run("status", "--prometheus").output, "drainq_delivered_total") == ["1"])
        #expect(try queue.run("status", "--prometheus", "--json").status == 64)
    }
}
