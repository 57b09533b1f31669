import Testing

@testable import Policy

/// Four hosts send ten million operations a day, in batches of 400, from a shared queue to four destinations. The
/// failing destination has a tenth of the operations.
struct GrowthTests {
    /// The time between two runs of any hosts.
    private static let interval = Duration.seconds(15)
    private static let settings = DestinationSettings()

    private func fleet(_ failure: AttemptReport.Result, _ takes: Duration, hours: Range<Int>) -> Fleet {
        var fleet = Fleet(
            hosts: 4, perDay: 10_000_000, batch: 400, limit: 50, concurrency: 16, failure: failure, takes: takes,
            from: .seconds(hours.lowerBound * 3600), to: .seconds(hours.upperBound * 3600))
        fleet.simulate()
        return fleet
    }

    /// Expects operations for healthy destinations to be delivered within two intervals, except for very few.
    private func expectOthersUnharmed(_ fleet: Fleet) {
        let others = fleet.items.filter { $0.destination != Fleet.failing }
        #expect(others.count == 22_500)
        let end = Fleet.start + fleet.length
        let late = others.filter { ($0.deliveredAt ?? end) - $0.name.createdAt > Self.interval * 2 }
        // If a run waits for unanswered requests, its share of healthy operations waits too, until another run helps: a
        // few of 22,500.
        let latest = late.map { ($0.deliveredAt ?? end) - $0.name.createdAt }.max()
        #expect(late.count <= 100 && latest ?? .zero <= .seconds(60), "\(late.count) \(latest as Any)")
        let isUnharmed = others.allSatisfy {
            $0.deliveries == 1 || $0.deliveries == 0 && end - $0.name.createdAt < Self.interval * 2
        }
        #expect(isUnharmed)
    }

    @Test(
        arguments: [
            (.failure(.deadline, detail: "no answer"), .seconds(30)),
            (.answer(AttemptReport.Answer(status: 503)), .milliseconds(200)),
        ] as [(AttemptReport.Result, Duration)])
    func `a destination down for six hours delays no healthy destination and catches up slowly at first`(
        failure: AttemptReport.Result, takes: Duration
    ) throws {
        let fleet = fleet(failure, takes, hours: 6..<12)
        expectOthersUnharmed(fleet)
        #expect(fleet.items.count == 25_000 && fleet.givenUp == 0)
        #expect(fleet.items.allSatisfy { $0.deliveries == 1 })

        // Attempted operations keep their schedules. A new operation is attempted at most every half hour.
        let during = fleet.attempts.filter { fleet.outage.contains($0.at) }
        #expect(during.count <= 300, "\(during.count)")
        let back = fleet.outage.upperBound
        let own = fleet.items.filter { $0.destination == Fleet.failing && $0.deliveredAt! >= back }
        let backlog = own.filter { $0.name.createdAt < back }
        #expect((625...630).contains(backlog.count), "\(backlog.count)")

        // A single request finds the destination back, within the longest cool-down. Then as many requests are in
        // flight as were delivered.
        let after = fleet.attempts.filter { $0.at >= back }
        let first = try #require(after.first)
        #expect(first.at - back <= Self.settings.coolDown + Self.interval)
        #expect(after.allSatisfy { $0.beside <= $0.after })

        // The operations of failed probes wait for their next due time. The rest is delivered.
        let untried = backlog.filter { $0.operation.attempts.count == 1 }
        let caughtUp = try #require(untried.map { $0.deliveredAt! }.max()) - first.at
        #expect(backlog.count - untried.count <= during.count)
        #expect(caughtUp <= .seconds(1800))
        let last = try #require(backlog.map { $0.deliveredAt! }.max())
        #expect(last - back <= BackoffSchedule.standard.longestDelay)
        #expect(fleet.destination(Fleet.failing).window == nil)
    }

    @Test func `a destination that stays down gets at most fifty requests an hour and delays only its own operations`()
    {
        let fleet = fleet(.failure(.deadline, detail: "no answer"), .seconds(30), hours: 6..<24)
        expectOthersUnharmed(fleet)
        let waiting = fleet.items.filter { $0.destination == Fleet.failing && $0.deliveries == 0 }
        #expect((1875...1880).contains(waiting.count), "\(waiting.count)")
        #expect(fleet.attempts.count { fleet.outage.contains($0.at) } <= 900)
        #expect(fleet.givenUp == 0)
    }

    @Test
    func `a server that refuses every request for six hours fails few operations and is probed once an hour`() {
        let fleet = fleet(.answer(AttemptReport.Answer(status: 404)), .milliseconds(200), hours: 6..<12)
        expectOthersUnharmed(fleet)
        #expect(fleet.givenUp <= Self.settings.stormGuard, "\(fleet.givenUp)")
        #expect(fleet.attempts.count { fleet.outage.contains($0.at) } <= 6 + 2 * Self.settings.stormGuard)
        #expect(fleet.items.allSatisfy { $0.deliveries <= 1 })
        #expect(fleet.items.count { $0.deliveries == 0 } == fleet.givenUp)
    }

    // MARK: - Runs at the same time

    @Test func `overlapping runs share the work, lose few claims and stay busy`() {
        var fleet = Fleet(
            hosts: 8, perDay: 400_000_000, limit: 5_000, concurrency: 16, length: .seconds(120), latency: .seconds(3))
        fleet.simulate()
        let end = Fleet.start + fleet.length
        let delivered = fleet.items.count { $0.deliveredAt.map { $0 <= end } ?? false }
        #expect(fleet.items.allSatisfy { $0.deliveries <= 1 } && fleet.items.count > 4_000)
        #expect(fleet.lostClaims * 20 <= delivered, "\(fleet.lostClaims) of \(delivered)")
        // The first host begins at once and the last host after 53 s: 16 requests in flight, 3 s each.
        let seconds = (0..<8).map { (host: Int) -> Double in 120 - 7.5 * Double(host) }
        let places: Double = seconds.reduce(0, +) * 16 / 3
        #expect(Double(delivered) >= 0.8 * places, "\(delivered) of \(places)")
    }

    @Test func `the rate and the concurrency of a destination apply to all hosts together`() {
        let slow = DestinationSettings(rate: Rate(count: 2, per: .seconds(1)))
        let narrow = DestinationSettings(concurrency: 2)
        var fleet = Fleet(
            hosts: 4, perDay: 200_000_000, limit: 200, concurrency: 64, length: .seconds(120),
            settings: [1: slow, 2: narrow])
        fleet.simulate()
        let end = Fleet.start + fleet.length
        let began = fleet.limited[1, default: []].map(\.at).filter { $0 < end }
        #expect((100...245).contains(began.count), "\(began.count) in 120 s")
        let isEven = zip(began, began.dropFirst(2)).allSatisfy { $1 - $0 >= .milliseconds(900) }
        #expect(isEven)
        #expect(fleet.limited[2, default: []].allSatisfy { $0.inFlight <= 2 })
    }
}

/// The first limit of a queue with many destinations: all runs write a shared ledger under a lock, see `SharedLedger`.
struct LedgerLockTests {
    /// Simulates runs that write the ledger repeatedly for five minutes. A write takes `hold`. After a write, a run
    /// pauses for `pause` times the duration of the write, including the wait for the lock. Two writes of a run begin
    /// at least a second apart. The runs begin within a minute, as timers do. Returns the number of writes and the
    /// number of refused writes: a lock not free after two seconds is an error, and the run ends with status 74.
    private func write(runs: Int, hold: Duration, pause: Int) -> (written: Int, refused: Int) {
        let (patience, end) = (Duration.seconds(2), Duration.seconds(300))
        var begins = (0..<runs).map { Duration.seconds(60) * $0 / runs }
        var free = Duration.zero
        var (written, refused) = (0, 0)
        while let next = begins.indices.min(by: { begins[$0] < begins[$1] }), begins[next] < end {
            let asked = begins[next]
            let taken = max(asked, free)
            let over: Duration
            if taken - asked > patience {
                refused += 1
                over = asked + patience
            } else {
                written += 1
                free = taken + hold
                over = free
            }
            begins[next] = over + max(.seconds(1) - (over - asked), (over - asked) * pause, .zero)
        }
        return (written, refused)
    }

    /// Measured with 10,000 destinations, the most a ledger keeps: a write took 233 ms. Since reading and sorting avoid
    /// errors, a write takes 90 ms.
    @Test func `fifty runs share a ledger of ten thousand destinations, and few of a hundred runs give up`() {
        #expect(write(runs: 4, hold: .milliseconds(233), pause: 0).refused == 0)
        #expect(write(runs: 16, hold: .milliseconds(233), pause: 0).refused > 500, "as it was")
        #expect(write(runs: 100, hold: .milliseconds(90), pause: 0).refused > 10_000, "without a pause")
        #expect(write(runs: 50, hold: .milliseconds(90), pause: 20).refused == 0)
        let paused = write(runs: 100, hold: .milliseconds(90), pause: 20)
        #expect(paused.refused * 100 <= paused.written && paused.written > 2_000, "\(paused)")
    }
}
