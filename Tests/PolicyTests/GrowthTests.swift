import Policy
import Testing

/// Ten million operations a day, in batches of 100, from one queue by four hosts to four destinations, of which one fails
/// and has a tenth of it all.
@Suite struct GrowthTests {
    /// From one run to the next, of whichever host.
    private static let interval = Duration.seconds(15)
    private static let settings = DestinationSettings()

    private func fleet(_ failure: AttemptReport.Result, _ takes: Duration, hours: Range<Int>) -> Fleet {
        var fleet = Fleet(
            hosts: 4, perDay: 10_000_000, limit: 50, concurrency: 16, failure: failure, takes: takes,
            from: .seconds(hours.lowerBound * 3600), to: .seconds(hours.upperBound * 3600))
        fleet.simulate()
        return fleet
    }

    /// As long as the others wait for is from one listing to the next, and a request.
    private func expectOthersUnharmed(_ fleet: Fleet) {
        let others = fleet.items.filter { $0.destination != Fleet.failing }
        #expect(others.count == 90_000)
        let end = Fleet.start + Fleet.length
        let late = others.filter { ($0.deliveredAt ?? end) - $0.name.createdAt > Self.interval * 2 }
        #expect(late.isEmpty)
        #expect(
            others.allSatisfy {
                $0.deliveries == 1 || $0.deliveries == 0 && end - $0.name.createdAt < Self.interval * 2
            })
    }

    @Test(
        arguments: [
            (.failure(.deadline, detail: "no answer"), .seconds(30)),
            (.answer(AttemptReport.Answer(status: 503)), .milliseconds(200)),
        ] as [(AttemptReport.Result, Duration)])
    func `a destination that is away for six hours delays no other one, and is caught up with slowly at first`(
        failure: AttemptReport.Result, takes: Duration
    ) throws {
        let fleet = fleet(failure, takes, hours: 6..<12)
        expectOthersUnharmed(fleet)
        #expect(fleet.items.count == 100_000 && fleet.givenUp == 0)
        #expect(fleet.items.allSatisfy { $0.deliveries == 1 })

        // It is asked no more than ten times an hour, and what is for it waits, and nothing else does.
        let during = fleet.attempts.filter { fleet.outage.contains($0.at) }
        #expect(during.count <= 60, "\(during.count)")
        let back = fleet.outage.upperBound
        let own = fleet.items.filter { $0.destination == Fleet.failing && $0.deliveredAt! >= back }
        let backlog = own.filter { $0.name.createdAt < back }
        #expect((2500...2505).contains(backlog.count), "\(backlog.count)")

        // That it is back is found out by one request, within the longest cool-down; then there are as many at once as have
        // come through.
        let after = fleet.attempts.filter { $0.at >= back }
        let first = try #require(after.first)
        #expect(first.at - back <= Self.settings.coolDown + Self.interval)
        #expect(after.allSatisfy { $0.beside <= $0.after })

        // What was asked with waits for its own next time; everything else is through.
        let untried = backlog.filter { $0.operation.attempts.count == 1 }
        let caughtUp = try #require(untried.map { $0.deliveredAt! }.max()) - first.at
        #expect(backlog.count - untried.count <= during.count)
        #expect(caughtUp <= .seconds(1800))
        let last = try #require(backlog.map { $0.deliveredAt! }.max())
        #expect(last - back <= BackoffSchedule.standard.longestDelay)
        #expect(fleet.destination(Fleet.failing).window == nil)
    }

    @Test func `a destination that never comes back costs ten requests an hour at most, and its share of the queue`() {
        let fleet = fleet(.failure(.deadline, detail: "no answer"), .seconds(30), hours: 6..<24)
        expectOthersUnharmed(fleet)
        let waiting = fleet.items.filter { $0.destination == Fleet.failing && $0.deliveries == 0 }
        #expect((7500...7505).contains(waiting.count), "\(waiting.count)")
        #expect(fleet.attempts.count { fleet.outage.contains($0.at) } <= 180)
        #expect(fleet.givenUp == 0)
    }
}
