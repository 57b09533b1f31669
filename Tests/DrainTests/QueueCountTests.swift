import Policy
import Spool
import Testing

@testable import Drain

/// The figures of a queue, from the names of its files.
struct QueueCountTests {
    @Test func `an operation in flight has an age, and is not due`() throws {
        let bench = try Bench()
        try bench.add(1)
        let first = bench.now
        bench.pass(.seconds(7200))
        try bench.add(1)
        let parts = try Parts(bench)
        let claim = try parts.spoolRun.claim(try #require(try parts.candidates().first).entry)
        #expect(claim != nil)
        let known = try KnownDestinations(of: bench.spool, bench.configuration, at: bench.now)
        let count = try QueueCount(of: bench.spool, bench.configuration, known, at: bench.now)
        let counts = try #require(count.destinationCounts.first)
        #expect(counts.operations == [.claimed: 1, .new: 1] && count.due == 1)
        #expect(counts.oldest == first && counts.countsByAge == ["6h": 1, "1m": 1])
    }
}
