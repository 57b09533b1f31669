import DrainqCLI
import Foundation
import LoopbackReceiver
import Testing

/// A run that stays behaves like many short runs.
struct StayingRunTests {
    private func configure(_ queue: Drainq, _ text: String) throws {
        try text.write(to: queue.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
    }

    @Test func `the next pass applies an edited configuration, and an invalid edit is reported once with 78`() throws {
        let receiver = try LoopbackReceiver(script: Script(["204"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let running = try queue.start("run", "--wait", "50s")
        // `add` refuses an invalid configuration.
        func send(_ count: Int, to path: String) throws {
            try queue.drop(Data("1".utf8), as: "\(count)")
            #expect(receiver.wait(forRequests: count, within: .seconds(120)))
            #expect(receiver.requests().last?.path == path[...])
        }
        try send(1, to: "/default")
        try configure(queue, "{ routes: { default: { url: \"\(receiver.url)/edited\" } } }")
        try send(2, to: "/edited")
        try configure(queue, "{ routes: { default: { urk: \"\(receiver.url)/wrong\" } } }")
        try send(3, to: "/edited")
        try send(4, to: "/edited")
        running.signal(SIGTERM)
        let finished = try running.finish()
        #expect(finished.status == 78)
        #expect(finished.error.components(separatedBy: "urk").count == 2)
    }

    @Test func `a mended configuration leaves no trace in the exit status`() throws {
        let receiver = try LoopbackReceiver(script: Script(["204"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let file = queue.queue.appending(path: "drainq.json")
        let valid = try String(contentsOf: file, encoding: .utf8)
        let running = try queue.start("run", "--wait", "50s")
        for (count, text) in [(1, valid), (2, "{"), (3, valid)] {
            try configure(queue, text)
            try queue.drop(Data("1".utf8), as: "\(count)")
            #expect(receiver.wait(forRequests: count, within: .seconds(120)))
        }
        running.signal(SIGTERM)
        #expect(try running.finish().status == 0)
    }

    @Test func `hooks, counters, metrics and the last run are written while a run stays`() throws {
        let receiver = try LoopbackReceiver(script: Script(["404"]))
        defer { receiver.stop() }
        let queue = try Drainq()
        let told = queue.directory.appending(path: "told")
        let metrics = queue.directory.appending(path: "metrics.prom")
        // The hook is called after the rest of the record is written.
        try configure(
            queue,
            """
            { routes: { default: { url: "\(receiver.url)" } }, metrics: { textfile: "\(metrics.path)" },
              hooks: { failed: ["/bin/sh", "-c", "cat > '\(told.path).part' && mv '\(told.path).part' '\(told.path)'"] } }
            """)
        let running = try queue.start("run", "--wait", "50s")
        try queue.run("add", input: "1")
        while !FileManager.default.fileExists(atPath: told.path) { try #require(running.process.isRunning) }
        #expect(try String(contentsOf: metrics, encoding: .utf8).contains("drainq_failed_total"))
        let status = try queue.run("status", "--json")
        #expect(status.output.contains("\"lastRun\":{") && status.output.contains("\"failed\":1"))
        running.signal(SIGTERM)
        #expect(try running.finish().status == 1)
    }
}
