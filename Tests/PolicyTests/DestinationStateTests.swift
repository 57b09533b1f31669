import Testing

@testable import Policy

struct DestinationStateTests {
    static let start = Timestamp(rfc3339: "2026-11-21T09:15:00Z")!
    static let settings = DestinationSettings()

    /// Returns the state after events, each at its number of seconds after the start.
    private func state(
        _ events: [(second: Int, event: DestinationEvent)], _ settings: DestinationSettings = Self.settings
    ) -> DestinationState {
        var state = DestinationState()
        for (second, event) in events { state.apply(event, settings, at: at(second)) }
        return state
    }

    private func at(_ second: Int) -> Timestamp { Self.start + .seconds(second) }

    private func failures(_ count: Int, from second: Int = 0) -> [(second: Int, event: DestinationEvent)] {
        (0..<count).map { (second + $0, .unreachable("refused")) }
    }

    private func blocked(_ reason: Availability.Block.Reason, _ second: Int? = nil) -> Availability {
        .blocked(.init(reason, until: second.map { at($0) }))
    }

    @Test func `an unknown destination is available up to its concurrency limit`() {
        #expect(DestinationState().availability(Self.settings, at: Self.start) == .available(atOnce: .max))
        #expect(
            DestinationState().availability(DestinationSettings(concurrency: 3), at: Self.start)
                == .available(atOnce: 3))
        #expect(DestinationState().isBlank)
    }

    // MARK: - Circuit breaker

    @Test func `the fifth connection failure in a row opens the circuit breaker for a second`() {
        #expect(state(failures(4)).availability(Self.settings, at: at(4)) == .available(atOnce: .max))
        let suspended = state(failures(5))
        #expect(suspended.availability(Self.settings, at: at(4)) == blocked(.circuitBreaker, 5))
        #expect(suspended.availability(Self.settings, at: at(5)) == .probe)
        #expect(suspended.lastFailure == "refused" && suspended.lastFailureAt == at(4) && suspended.failures == 5)
    }

    @Test func `an answer restarts the count of failures`() {
        let state = state(failures(4) + [(4, .answered)] + failures(4, from: 5))
        #expect(state.availability(Self.settings, at: at(9)) == .available(atOnce: .max))
        #expect(state.failures == 4)
    }

    @Test func `failures of attempts still in flight do not prolong the cool-down`() {
        let state = state(failures(5) + Array(repeating: (4, .unreachable("refused")), count: 4))
        #expect(state.availability(Self.settings, at: at(4)) == blocked(.circuitBreaker, 5))
        #expect(state.coolDowns == 1)
    }

    @Test(arguments: [
        (settings, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1800, 1800]),
        (DestinationSettings(coolDown: .seconds(5)), [1, 2, 4, 5, 5]),
        (DestinationSettings(coolDown: .seconds(3)), [1, 2, 3, 3]),
    ])
    func `a failed probe reopens the circuit breaker for twice as long each time, up to coolDown`(
        settings: DestinationSettings, expected: [Int]
    ) {
        var state = state(failures(5), settings)
        var now = at(4)
        var lengths: [Int] = []
        for _ in expected {
            guard case .blocked(let block) = state.availability(settings, at: now), let until = block.until else {
                Issue.record("it is open at \(now.rfc3339)")
                return
            }
            lengths.append(Int((until - now).components.seconds))
            now = until
            #expect(state.availability(settings, at: now) == .probe)
            state.apply(.unreachable("timeout"), settings, at: now)
        }
        #expect(lengths == expected)
    }

    @Test func `an answer to the probe ends the cool-down and its doubling, and a delivery opens the window`() {
        var state = state(failures(5) + [(64, .answered)])
        #expect(state.availability(Self.settings, at: at(64)) == .probe)
        #expect(state.coolDowns == 0 && state.failures == 0)
        state.apply(.delivered(began: at(65)), Self.settings, at: at(65))
        #expect(state.availability(Self.settings, at: at(65)) == .available(atOnce: 2))
    }

    @Test func `the window doubles after each delivered round and finally disappears`() {
        var state = state(failures(5))
        var widths: [Int] = []
        var now = at(64)
        while let width = state.window {
            widths.append(width)
            for _ in 0..<width { state.apply(.delivered(began: now), Self.settings, at: now) }
            now = now + .seconds(1)
        }
        #expect(widths == [1, 2, 4, 8, 16, 32])
        #expect(state == DestinationState(lastSuccess: at(69), upSince: at(64)))
    }

    @Test func `the window does not exceed the destination's concurrency limit`() {
        let state = DestinationState(window: 8)
        #expect(state.availability(DestinationSettings(concurrency: 3), at: Self.start) == .available(atOnce: 3))
        #expect(state.availability(Self.settings, at: Self.start) == .available(atOnce: 8))
        #expect(
            DestinationState().availability(DestinationSettings(concurrency: 0), at: Self.start)
                == .available(atOnce: 1))
    }

    @Test func `a failure while the window opens requires a probe again, without a cool-down`() {
        let state = state(
            failures(5) + [
                (64, .delivered(began: at(63))), (65, .delivered(began: at(64))), (66, .unreachable("reset")),
            ])
        #expect(state.availability(Self.settings, at: at(66)) == .probe)
        #expect(state.coolDownUntil == nil)
    }

    @Test func `ignoring the circuit breaker does not ignore a retry-after, a pause or a hold`() {
        func availability(_ event: DestinationEvent) -> Availability {
            state(failures(5) + [(5, event)]).availability(Self.settings, at: at(6), ignoringCircuitBreaker: true)
        }
        #expect(availability(.unreachable("dns")) == .probe)
        #expect(availability(.retryAfter(until: at(100))) == blocked(.retryAfter, 100))
        #expect(availability(.paused) == blocked(.paused))
        #expect(availability(.held(reason: "status 401", blamed: nil)) == blocked(.held, 3605))
    }

    @Test func `the circuit breaker can be turned off, also while open`() {
        let never = DestinationSettings(circuitBreaker: 0)
        #expect(state(failures(50), never).availability(never, at: at(50)) == .available(atOnce: .max))
        #expect(state(failures(5)).availability(never, at: at(5)) == .probe)
    }

    // MARK: - Retry-after

    @Test func `a retry-after blocks the destination, and a probe follows`() {
        let state = state([(0, .retryAfter(until: at(30)))])
        #expect(state.availability(Self.settings, at: at(29)) == blocked(.retryAfter, 30))
        #expect(state.availability(Self.settings, at: at(30)) == .probe)
    }

    @Test func `the longer of two retry-afters counts, and a late success does not end the block`() {
        let state = state([
            (0, .retryAfter(until: at(60))), (1, .retryAfter(until: at(30))), (2, .delivered(began: at(1))),
        ])
        #expect(state.availability(Self.settings, at: at(31)) == blocked(.retryAfter, 60))
    }

    @Test func `a delivery from before a retry-after that is told later keeps the probe`() {
        let told = DestinationEvent.delivered(began: at(1), at: at(2))
        let state = state([(5, .retryAfter(until: at(6))), (7, told)])
        #expect(state.availability(Self.settings, at: at(7)) == .probe)
        #expect(self.state([(5, .retryAfter(until: at(6))), (7, .delivered(began: at(6)))]).window == 2)
    }

    @Test func `a retry-after is bounded by a day and its jitter`() {
        let state = state([(0, .retryAfter(until: at(100_000)))])
        // Jitter may have been added.
        #expect(state.availability(Self.settings, at: at(1)) == blocked(.retryAfter, 86_700))
        #expect(state.availability(Self.settings, at: at(86_700)) == .probe)
    }

    @Test func `the later end of a retry-after and a cool-down counts`() {
        let state = state(failures(5) + [(5, .retryAfter(until: at(100)))])
        #expect(state.availability(Self.settings, at: at(70)) == blocked(.retryAfter, 100))
        let probes = [5, 7, 11].map { ($0, DestinationEvent.unreachable("refused")) }
        let other = self.state([(0, .retryAfter(until: at(10)))] + failures(5) + probes)
        #expect(other.availability(Self.settings, at: at(12)) == blocked(.circuitBreaker, 19))
    }

    // MARK: - Holds and pauses

    static let held = DestinationEvent.held(reason: "status 401", status: 401, blamed: "abc")

    @Test func `a held destination is probed once an hour, whatever the previous result`() {
        var state = state([(0, Self.held)])
        #expect(state.availability(Self.settings, at: at(3599)) == blocked(.held, 3600))
        #expect(state.availability(Self.settings, at: at(3600)) == .probe)
        state.apply(.probed, Self.settings, at: at(3700))
        state.apply(.unreachable("timeout"), Self.settings, at: at(3730))
        #expect(state.availability(Self.settings, at: at(3730)) == blocked(.held, 7300))
        #expect(state.hold?.since == Self.start)
    }

    @Test func `probing can be turned off`() {
        let never = DestinationSettings(holdProbe: nil)
        #expect(state([(0, Self.held)], never).availability(never, at: at(1_000_000)) == blocked(.held))
    }

    @Test func `a probe observes the retry-after and the cool-down`() {
        let asked = state([(0, Self.held), (3500, .retryAfter(until: at(5000)))])
        #expect(asked.availability(Self.settings, at: at(3600)) == blocked(.held, 5000))
        let suspended = state([(0, Self.held)] + failures(6, from: 3595))
        #expect(suspended.availability(Self.settings, at: at(3601)) == blocked(.held, 3602))
        #expect(suspended.availability(Self.settings, at: at(3601), ignoringCircuitBreaker: true) == .probe)
    }

    @Test(arguments: [
        DestinationEvent.delivered(began: start + .seconds(9)), .disproved(began: start), .blameChanged(since: "abc"),
        .released,
    ])
    func `a delivery, a disproof, a changed blame or a release ends a hold`(
        event: DestinationEvent
    ) {
        let state = state([(0, Self.held), (10, event)])
        #expect(state.hold == nil)
        switch state.availability(Self.settings, at: at(10)) {
        case .probe: #expect(!event.isDelivery)
        case .available(let atOnce): #expect(event.isDelivery && atOnce == 2)
        case .blocked: Issue.record("it is blocked")
        }
    }

    @Test(arguments: [DestinationEvent.answered, .unreachable("dns"), .probed, .resumed, held])
    func `an answer, a failure, a probe, a resume or a repeated hold does not end a hold`(event: DestinationEvent) {
        #expect(state([(0, Self.held), (10, event)]).hold != nil)
    }

    @Test func `a repeated hold keeps its beginning and takes the latest reason`() {
        let state = state([
            (0, Self.held), (3600, .probed), (3601, .held(reason: "status 403", status: 403, blamed: "def")),
        ])
        #expect(
            state.hold
                == .init(reason: "status 403", since: Self.start, status: 403, blamed: "def", lastProbe: at(3600)))
    }

    @Test func `an attempt that was in flight when a hold began does not end the hold`() {
        for event in [DestinationEvent.delivered(began: at(9)), .disproved(began: at(9)), .blameChanged(since: "old")] {
            #expect(state([(10, Self.held), (11, event)]).hold != nil)
        }
        // A hold of a clock ahead.
        #expect(state([(10_000, Self.held), (11, .delivered(began: at(9)))]).hold == nil)
    }

    @Test func `a delivery of a request from before the failures ends no storm`() {
        let failed = [(10, DestinationEvent.failed(status: 404))]
        #expect(state(failed + [(11, .delivered(began: at(9)))]).storm != nil)
        #expect(state(failed + [(12, .delivered(began: at(11)))]).storm == nil)
    }

    @Test func `an attempt from before a release holds nothing any more`() {
        let events = [(10, Self.held), (20, .released)]
        func refusal(began: Int) -> DestinationEvent { .held(reason: "401", blamed: "abc", began: at(began)) }
        #expect(state(events + [(21, refusal(began: 19))]).hold == nil)
        #expect(state(events + [(21, refusal(began: 20))]).hold != nil)
        // A release of a clock ahead.
        #expect(state([(10_000, .released), (21, refusal(began: 19))]).hold != nil)
    }

    @Test func `a wait that the server asked for ends with the clock that was ahead`() {
        let wrong = state([(72_000, .retryAfter(until: at(72_030)))])
        #expect(wrong.availability(Self.settings, at: at(72_001)) == blocked(.retryAfter, 72_030))
        #expect(wrong.availability(Self.settings, at: at(0)) != blocked(.retryAfter, 72_030))
        #expect(wrong.waits(Self.settings, at: at(0)) == nil)
        // The clocks of two hosts differ a little.
        let near = state([(20, .retryAfter(until: at(50)))])
        #expect(near.availability(Self.settings, at: at(0)) == blocked(.retryAfter, 50))
        // A file of an earlier version does not say when the server asked.
        let old = DestinationState(notBefore: at(72_030))
        #expect(old.availability(Self.settings, at: at(0)) == blocked(.retryAfter, 72_030))
        var asked = wrong
        asked.apply(.retryAfter(until: at(30)), Self.settings, at: at(0))
        #expect(asked.notBefore == at(30) && asked.asked == at(0))
    }

    @Test func `a hold by an operator is not probed, and only a release ends the hold`() {
        var state = state([(0, Self.held), (5, .heldByHand(reason: "migration"))])
        for event in [
            DestinationEvent.delivered(began: at(6)), .disproved(began: at(6)), .blameChanged(since: "abc"), .answered,
            Self.held, .resumed,
        ] {
            state.apply(event, Self.settings, at: at(6))
            #expect(state.hold?.reason == "migration" && state.hold?.isByHand == true)
        }
        #expect(state.availability(Self.settings, at: at(1_000_000)) == blocked(.held))
        state.apply(.released, Self.settings, at: at(7))
        #expect(state.availability(Self.settings, at: at(7)) == .probe)
    }

    @Test func `a release ends a hold, a cool-down and a retry-after, but not a pause`() {
        var state = state(
            failures(5) + [(5, Self.held), (5, .retryAfter(until: at(500))), (6, .paused), (7, .released)])
        #expect(state.availability(Self.settings, at: at(7)) == blocked(.paused))
        state.apply(.resumed, Self.settings, at: at(8))
        #expect(state == DestinationState(released: at(7), window: 1))
        #expect(state.availability(Self.settings, at: at(8)) == .probe)
    }

    @Test func `a pause and a resume leave no trace`() {
        let state = state([(0, .paused), (1, .resumed)])
        #expect(state.isBlank)
    }

    // MARK: - Clocks

    @Test func `a wait set by a wrong clock is over and does not prevent a correct wait`() {
        let ahead = at(10_000_000)
        var state = DestinationState(notBefore: ahead, coolDownUntil: ahead, coolDowns: 1)
        #expect(state.availability(Self.settings, at: at(0)) != blocked(.retryAfter, 10_000_000))
        state.apply(.retryAfter(until: at(10)), Self.settings, at: at(0))
        #expect(state.notBefore == at(10))
        state.apply(.unreachable("dns"), Self.settings, at: at(1))
        #expect(state.coolDownUntil == at(3))
    }

    @Test func `a hold with a time in the future is probed now, and then at the usual interval`() {
        var state = DestinationState(hold: .init(reason: "tls", since: at(50_000), lastProbe: at(60_000)))
        #expect(state.availability(Self.settings, at: at(0)) == .probe)
        state.apply(.probed, Self.settings, at: at(0))
        #expect(state.availability(Self.settings, at: at(1)) == blocked(.held, 3600))
        var late = DestinationState(hold: .init(reason: "tls", since: at(50_000)))
        #expect(late.availability(Self.settings, at: at(0)) == .probe)
        late.apply(.probed, Self.settings, at: at(0))
        #expect(late.availability(Self.settings, at: at(1)) == blocked(.held, 3600))
    }

    @Test func `after a broken stream requests leave over HTTP 1.1 for a day, or until an operator's release`() {
        var state = DestinationState()
        #expect(!state.needsHTTP1(at: at(0)))
        state.apply(.brokeStream, Self.settings, at: at(0))
        state.apply(.delivered(began: at(10)), Self.settings, at: at(10))
        #expect(state.needsHTTP1(at: at(86_399)) && !state.needsHTTP1(at: at(86_400)))
        // The clock has jumped back by more than a minute.
        #expect(!state.needsHTTP1(at: at(-100)))
        state.apply(.released, Self.settings, at: at(20))
        #expect(!state.needsHTTP1(at: at(30)))
    }

    @Test func `the log tells once that requests leave over HTTP 1.1`() {
        var (before, after) = (DestinationLedger(), DestinationLedger())
        after.apply(.brokeStream, to: "a", Self.settings, at: at(0))
        #expect(before.changes(to: after, of: ["a"], at: at(0)).map(\.kind) == [.http1])
        before = after
        after.apply(.brokeStream, to: "a", Self.settings, at: at(5))
        #expect(before.changes(to: after, of: ["a"], at: at(5)).isEmpty)
    }

    // MARK: - Events of several runs

    @Test func `an attempt before a delivery that another run has told of says nothing any more`() {
        let missed = DestinationEvent.missed(Incident(since: at(1), last: at(4), cause: Cause(failure: "timeout")))
        let late = state([
            (10, .delivered(began: at(5), at: at(6))), (20, .unreachable("timeout", at: at(4))), (20, missed),
        ])
        #expect(late == state([(10, .delivered(began: at(5), at: at(6)))]))
        #expect(late.lastSuccess == at(6) && late.failures == 0)
        // The times tell that the delivery was between two attempts.
        let both = Incident(since: at(1), last: at(8), cause: Cause(failure: "timeout"), attempts: 2)
        #expect(state([(10, .delivered(began: at(5), at: at(6))), (20, .missed(both))]).incident?.since == at(6))
        #expect(state([(20, .missed(both)), (21, .delivered(began: at(5), at: at(6)))]).incident?.since == at(6))
        #expect(state([(20, .missed(both)), (21, .delivered(began: at(5), at: at(9)))]).incident == nil)
        // A delivery in the future is of a wrong clock.
        #expect(state([(9000, .delivered(began: at(8999))), (20, missed)]).incident != nil)
    }

    // MARK: - Always

    private static func event(at now: Timestamp, using generator: inout SeededGenerator) -> DestinationEvent {
        let seconds = Int.random(in: -10...200_000, using: &generator)
        let events: [DestinationEvent] = [
            .answered, .delivered(began: now), .unreachable("refused"), .unreachable("503"), .unreachable("dns"),
            .retryAfter(until: now + .seconds(seconds)), held, .probed, .disproved(began: now),
            .blameChanged(since: "abc"),
            .heldByHand(reason: "x"), .released, .paused, .resumed, .brokeStream,
        ]
        return events.randomElement(using: &generator)!
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `after any events in any order and by any clock, a destination opens again`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let settings = DestinationSettings(
            concurrency: [nil, 1, 4].randomElement(using: &generator)!,
            holdProbe: [nil, .seconds(3600)].randomElement(using: &generator)!,
            circuitBreaker: [0, 1, 5].randomElement(using: &generator)!)
        var state = DestinationState()
        var now = Self.start
        for _ in 0..<200 {
            // Runs report events in any order, and sometimes a clock jumps.
            let step = Int.random(in: 0..<50, using: &generator) == 0 ? 20_000_000 : 100
            now = now + .seconds(Int.random(in: -step...step, using: &generator))
            state.apply(Self.event(at: now, using: &generator), settings, at: now)

            // Each block ends at its stated time. At most three blocks follow each other.
            var moment = now
            var availability = state.availability(settings, at: moment)
            for _ in 0..<3 {
                guard case .blocked(let block) = availability, let until = block.until else { break }
                #expect(until > moment)
                #expect(until - now <= .seconds(86_400 + 300 + 3600))
                moment = until
                availability = state.availability(settings, at: moment)
            }
            if case .blocked(let block) = availability {
                #expect(block.until == nil)
                let isAPersons = state.isPaused || state.hold?.isByHand == true
                #expect(isAPersons || state.hold != nil && settings.holdProbe == nil)
            }
            // A release and a resume by an operator always open the destination.
            var released = state
            released.apply(.released, settings, at: now)
            released.apply(.resumed, settings, at: now)
            #expect(released.availability(settings, at: now) == .probe)
        }
    }
}
