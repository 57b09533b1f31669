import Foundation
import Testing

/// `DRAINQ_TORTURE=10` makes ten times as many sequences.
@Test func `the simulated disk answers random calls as the real one does, error for error`() throws {
    let factor = ProcessInfo.processInfo.environment["DRAINQ_TORTURE"].flatMap(UInt64.init) ?? 1
    for seed in 1...1000 * factor {
        var conformance = try DiskConformance(seed: seed)
        defer { conformance.end() }
        for _ in 0..<80 where !conformance.step() {
            Issue.record("seed \(seed):\n\(conformance.story.joined(separator: "\n"))")
            return
        }
    }
}
