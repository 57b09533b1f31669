import Policy
import Testing

struct EligibilityTests {
    static let now = Timestamp(rfc3339: "2026-11-21T09:15:00Z")!

    private func decide(
        _ gate: EntryName.Gate, longestDelay: Duration = .seconds(3600), ignoringBackoff: Bool = false
    ) -> Eligibility {
        let name = EntryName(createdAt: Self.now - .seconds(60), id: OperationID("a")!, gate: gate)
        return eligibility(of: name, at: Self.now, longestDelay: longestDelay, ignoringBackoff: ignoringBackoff)
    }

    @Test func `an operation with an open gate is due`() {
        #expect(decide(.open) == .due)
    }

    @Test func `a deferred operation is not due before its time`() {
        let soon = Self.now + .microseconds(1)
        #expect(decide(.retryAt(soon)) == .deferred(until: soon))
        #expect(decide(.retryAt(Self.now)) == .due)
        #expect(decide(.retryAt(Self.now - .seconds(1))) == .due)
    }

    @Test func `a due time beyond the schedule's longest delay counts as due`() {
        let last = Self.now + .seconds(3600)
        #expect(decide(.retryAt(last)) == .deferred(until: last))
        #expect(decide(.retryAt(last + .microseconds(1))) == .due)
        #expect(decide(.retryAt(.lastInNames)) == .due)
    }

    @Test func `a notBefore of the operation counts, however far away`() {
        #expect(decide(.notBefore(.lastInNames)) == .deferred(until: .lastInNames))
        #expect(decide(.notBefore(Self.now)) == .due)
    }

    @Test func `ignoring backoff does not ignore notBefore`() {
        let later = Self.now + .seconds(10)
        #expect(decide(.retryAt(later), ignoringBackoff: true) == .due)
        #expect(decide(.notBefore(later), ignoringBackoff: true) == .deferred(until: later))
    }

    @Test func `a held operation is not due, whatever its gate, even if backoff is ignored`() {
        for gate in [
            EntryName.Gate.open, .retryAt(Self.now - .seconds(1)), .notBefore(Self.now), .retryAt(.lastInNames),
        ] {
            var name = EntryName(createdAt: Self.now, id: OperationID("a")!, isHeld: true, gate: gate)
            let decide = { (name: EntryName) in
                eligibility(of: name, at: Self.now, longestDelay: .seconds(3600), ignoringBackoff: true)
            }
            #expect(decide(name) == .held)
            name.isHeld = false
            #expect(decide(name) == .due)
        }
    }

    @Test func `a creation time in the future does not matter`() {
        let name = EntryName(createdAt: .lastInNames, id: OperationID("a")!)
        #expect(eligibility(of: name, at: Self.now, longestDelay: .zero, ignoringBackoff: false) == .due)
    }
}
