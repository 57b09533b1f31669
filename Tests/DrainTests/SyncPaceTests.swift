import Testing

@testable import Drain
@testable import Policy

struct SyncPaceTests {
    private let start = ContinuousClock.now

    @Test func `no sync is due before a settlement, and then a sync is due at once`() {
        var pace = SyncPace(now: start)
        #expect(pace.due == nil)
        pace.settled()
        #expect(pace.due == start)
    }

    @Test(arguments: [
        (Duration.milliseconds(10), Duration.milliseconds(500)), (.microseconds(5), .milliseconds(2)),
        (.seconds(30), .seconds(1)),
    ])
    func `syncs take a fiftieth of the time, and are a second late at most`(took: Duration, interval: Duration) {
        var pace = SyncPace(now: start)
        pace.settled()
        pace.synced(from: start, to: start + took)
        #expect(pace.due == nil)
        pace.settled()
        #expect(pace.due == start + took + interval)
    }

    @Test func `the next operation of a sequence waits for a sync, and no operation of another sequence does`() throws {
        let route = Route(url: "http://a.test/", ordering: .key)
        let names = ["a", "b"].map { key in
            EntryName(
                createdAt: Timestamp(microseconds: 1), id: OperationID(key)!, keyDigest: Digest(of: key))
        }
        let sequences = names.map { route.order.sequence(of: $0, to: Destination(named: "http://a.test")) }
        var pace = SyncPace(now: start)
        pace.ended(in: try #require(sequences[0]))
        #expect(
            pace.mustSync(before: sequences[0]) && !pace.mustSync(before: sequences[1]) && !pace.mustSync(before: nil))
        pace.synced(from: start, to: start)
        #expect(!pace.mustSync(before: sequences[0]))
    }
}
