import Foundation
import LoopbackReceiver
import Testing

/// "Prints what the command would do, without doing it": the operations that the same run then sends, in order.
struct DryRunTests {
    /// SplitMix64.
    private struct Chance: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
            return mixed ^ mixed >> 31
        }
    }

    private static let arguments = [
        [], ["--now"], ["--limit", "3"], ["--limit", "3", "--now"], ["--type", "keyed"], ["--type", "newest", "--now"],
        ["op-1", "op-4", "op-9", "op-12"], ["--now", "op-2", "op-3", "op-5", "op-20"],
    ]

    @Test(arguments: [UInt64](0..<6))
    func `a dry run prints the operations that the run then sends, in order`(seed: UInt64) throws {
        var chance = Chance(state: seed)
        let good = try LoopbackReceiver()
        let held = try LoopbackReceiver()
        // Defers some, and fails some.
        let busy = try LoopbackReceiver(
            script: .deciding { request, _ in
                .status(request.header("Idempotency-Key")?.contains("1") == true ? 503 : 422)
            })
        func configuration(_ url: String) -> String {
            """
            {
                routes: {
                    default: { url: "\(url)/", retry: { schedule: ["1h", "1h"] } },
                    held: { url: "\(held.url)/" },
                    latest: { coalesce: true },
                    keyed: { ordering: "key" },
                    stopping: { ordering: "key", onFailure: "hold" },
                    newest: { ordering: "newest" },
                },
            }
            """
        }
        let drainq = try Drainq(configuration(busy.url))
        let types = ["default", "held", "latest", "keyed", "stopping", "newest"]
        var lines: [String] = []
        for number in 0..<24 {
            let type = types.randomElement(using: &chance)!
            let key = ["a", "b", "c"].randomElement(using: &chance)!
            let late = Int.random(in: 0..<5, using: &chance) == 0 ? #","notBefore":"2199-01-01T00:00:00Z""# : ""
            lines.append(#"{"id":"op-\#(number)","type":"\#(type)","key":"\#(key)","payload":\#(number)\#(late)}"#)
        }
        try #require(try drainq.run("add", "--envelope", input: lines.joined(separator: "\n")).status == 0)
        for _ in 0..<3 { try drainq.run("hold", "op-\(Int.random(in: 0..<24, using: &chance))") }
        if Bool.random(using: &chance) { try drainq.run("hold", "--destination", held.url) }
        if Bool.random(using: &chance) { try drainq.run("drop", "op-\(Int.random(in: 0..<24, using: &chance))") }
        try drainq.run("run", "--limit", "4")
        _ = held.takeRequests()
        try configuration(good.url).write(
            to: drainq.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        let kept = drainq.directory.appending(path: "kept")
        try FileManager.default.copyItem(at: drainq.queue, to: kept)
        for arguments in Self.arguments {
            try FileManager.default.removeItem(at: drainq.queue)
            try FileManager.default.copyItem(at: kept, to: drainq.queue)
            let planned = try drainq.start(["run", "--dry-run"] + arguments, input: "").finish()
            let ids = planned.lines.map { $0.split(separator: " ")[0] }
            _ = try drainq.start(["run", "--concurrency", "1"] + arguments, input: "").finish()
            let sent = (good.takeRequests() + held.takeRequests()).sorted { $0.arrival < $1.arrival }
            let order = sent.map { ($0.header("Idempotency-Key") ?? "").replacing("\"", with: "") }
            #expect(ids.map(String.init) == order, "\(arguments) of \(lines)")
        }
    }
}
