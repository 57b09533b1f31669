import Foundation
import LoopbackReceiver
import Testing

/// `retry --rate` spreads operations that failed together.
struct RetryRateTests {
    private func failed(_ count: Int) throws -> Drainq {
        let receiver = try LoopbackReceiver(script: .sequence([.status(400)]))
        defer { receiver.stop() }
        // A schedule whose longest delay is shorter than the time of the spread.
        let queue = try Drainq(to: receiver, "retry: { schedule: [\"1s\"] }, ")
        try queue.run("add", input: numbered(count))
        try queue.run("run")
        #expect(try queue.names("failed").count == count)
        return queue
    }

    private func dues(_ lines: [String]) throws -> [Date] {
        try lines.map { line in
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let text = try #require((object["due"] ?? object["notBefore"]) as? String)
            return try Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains(".")))
        }
    }

    @Test func `operation k is due after k intervals, and a run does not send the operation earlier`() throws {
        let queue = try failed(4)
        let ids = try queue.run("list", "--json").lines.map { String($0.split(separator: "\"id\":\"")[1].prefix(36)) }
        let retried = try queue.run("retry", "--all", "--rate", "2/m", "--json")
        #expect(retried.status == 0)
        let times = try dues(retried.lines)
        for (index, time) in times.enumerated() {
            #expect(abs(time.timeIntervalSince(times[0]) - 30 * Double(index)) < 0.01)
        }
        #expect(retried.lines.enumerated().allSatisfy { $1.contains(ids[$0]) }, "the oldest first")
        #expect(try queue.names("failed").isEmpty)
        // All but the first wait longer than any delay of the schedule.
        #expect(try queue.run("run", "--dry-run").lines.count == 1)
        #expect(try queue.run("run", "--dry-run", "--now").lines.count == 1)
        let listed = try queue.run("list", "--json").lines.filter { $0.contains("notBefore") }
        #expect(try dues(listed).count == 3)
    }

    @Test func `--dry-run shows the times and changes nothing`() throws {
        let queue = try failed(3)
        let shown = try queue.run("retry", "--all", "--rate", "1/h", "--dry-run")
        #expect(shown.status == 0 && shown.lines.count == 3)
        #expect(shown.lines.allSatisfy { $0.wholeMatch(of: /[0-9a-f-]{36}  20\d\d-\d\d-\d\dT[0-9:.]+Z/) != nil })
        #expect(try queue.names("failed").count == 3)
        #expect(try queue.run("retry", "--all", "--dry-run").lines.allSatisfy { !$0.contains(" ") })
        #expect(try queue.run("retry", "--all", "--rate", "fast").status == 64)
    }
}
