import Spool
import Testing

@testable import Drain
@testable import Policy

/// The remaining work of a pass, without a queue and without a sink.
final class SendQueueTests {
    private var queue = SendQueue()

    private func destination(_ name: String, _ settings: DestinationSettings = DestinationSettings()) -> RunDestination
    {
        let destination = RunDestination(Destination(named: name), settings, DestinationState())
        destination.control.read(DestinationState(), at: Timestamp(microseconds: 0))
        return destination
    }

    private func candidate(_ number: Int, of destination: RunDestination, sequence: SequenceKey? = nil) -> Candidate {
        let name = EntryName(
            createdAt: Timestamp(microseconds: Int64(number)), id: OperationID("a-\(number)")!, type: .default)
        return Candidate(
            entry: .init(state: .new, name: name), destination: destination.identity, sequence: sequence, isHead: true)
    }

    private func fill(_ count: Int, of destination: RunDestination) {
        for number in 0..<count { queue.append(candidate(number, of: destination), of: destination) }
    }

    @Test func `the rate of a destination delays its next attempt`() {
        let slow = destination("slow", DestinationSettings(rate: Rate(count: 1, per: .seconds(2))))
        fill(2, of: slow)
        #expect(queue.next(free: 5, at: .zero) != nil)
        slow.limits.begin(at: .zero)
        #expect(queue.next(free: 5, at: .seconds(1)) == nil)
        #expect(queue.waitForLimits(at: .seconds(1)) == .seconds(1))
        #expect(queue.next(free: 5, at: .seconds(2)) != nil)
        #expect(queue.waitForLimits(at: .seconds(2)) == nil)
    }

    @Test func `a blocked destination has no work, and keeps its candidates`() {
        let held = destination("held")
        fill(1, of: held)
        #expect(queue.hasWork)
        held.control.apply(.heldByHand(reason: ""), at: Timestamp(microseconds: 0))
        #expect(!queue.hasWork && queue.next(free: 5, at: .zero) == nil)
        held.control.apply(.released, at: Timestamp(microseconds: 0))
        #expect(queue.next(free: 5, at: .zero) != nil)
    }

    @Test func `samples go before the dispatch order, the newest first, one at a time`() {
        let one = destination("one")
        fill(5, of: one)
        one.newest = [candidate(9, of: one)]
        queue.sample(one, upTo: 2) { _ in true }
        #expect(queue.next(free: 5, at: .zero) == nil, "the order waits for the samples")
        var sampled: [Timestamp] = []
        while case .sample(let candidate, position: _) = queue.nextUrgent(at: .zero) {
            sampled.append(candidate.entry.name.createdAt)
            one.inFlight = 1
            #expect(queue.nextUrgent(at: .zero) == nil)
            one.inFlight = 0
        }
        #expect(sampled.map(\.microseconds) == [9, 4])
    }

    @Test func `an operation that waits takes the rest of its sequence out of the pass`() {
        let one = destination("one")
        let route = Route(url: "http://one/", ordering: .strict)
        let sequence = route.order.sequence(of: candidate(0, of: one).entry.name, to: one.identity)
        for number in 0..<3 { queue.append(candidate(number, of: one, sequence: sequence), of: one) }
        #expect(queue.next(free: 5, at: .zero) != nil)
        #expect(queue.next(free: 5, at: .zero) == nil)
        queue.advance(sequence, continues: false)
        #expect(queue.next(free: 5, at: .zero) == nil && !queue.hasWork)
    }

    @Test func `a listing is outdated once rivals have won more than a hundredth of the claims`() {
        let one = destination("one")
        fill(5, of: one)
        (queue.claimTries, queue.lostClaimCount) = (1, 1)
        #expect(queue.isOutdated)
        (queue.claimTries, queue.lostClaimCount) = (299, 3)
        #expect(queue.isOutdated && !queue.hasWork)
        #expect(queue.next(free: 5, at: .zero) == nil && queue.next(of: one, type: .default, atMost: 1).isEmpty)
        queue.toleratesLostClaims = true
        #expect(queue.next(free: 5, at: .zero) != nil, "a slow attempt delays no other destination")
        queue.toleratesLostClaims = false
        queue.claimTries = 300
        #expect(!queue.isOutdated && queue.next(free: 5, at: .zero) != nil)
    }

    @Test func `withheld answers keep an outdated pass going`() {
        let one = destination("one")
        fill(5, of: one)
        (queue.claimTries, queue.lostClaimCount) = (10, 9)
        queue.watch(one)
        #expect(!queue.isOutdated && queue.next(free: 5, at: .zero) != nil)
        // No answer waits any more.
        #expect(queue.nextUrgent(at: .zero) == nil)
        #expect(queue.isOutdated && queue.next(free: 5, at: .zero) == nil)
    }

    @Test func `a pass without a won claim allows the next pass more lost claims`() {
        let one = destination("one")
        for allowed in [0, 1, 2, 4] {
            queue.begin()
            fill(20, of: one)
            (queue.claimTries, queue.lostClaimCount) = (allowed, allowed)
            #expect(!queue.isOutdated)
            (queue.claimTries, queue.lostClaimCount) = (allowed + 1, allowed + 1)
            #expect(queue.isOutdated)
        }
        queue.claimTries += 1
        queue.begin()
        (queue.claimTries, queue.lostClaimCount) = (1, 1)
        #expect(queue.isOutdated)
    }
}
