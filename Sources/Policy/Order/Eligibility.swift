/// Whether an operation may be attempted now.
package enum Eligibility: Hashable, Sendable {
    case due
    case deferred(until: Timestamp)
    /// Held by itself, until an operator releases it.
    case held

    /// Whether a newer operation of the key may carry the changes of this older one. A backoff of the older operation
    /// does not prevent this; its own hold or a `notBefore` in the future does.
    package func mayBeMerged(gate: EntryName.Gate) -> Bool {
        switch (self, gate) {
        case (.held, _), (.deferred, .notBefore): false
        case (.due, _), (.deferred, .open), (.deferred, .retryAt): true
        }
    }

    /// Whether the operation replaces older ones of its key. Exception: with a `notBefore`, an operation that is not
    /// due replaces none. The older value is meant to be sent first.
    func replacesOlder(gate: EntryName.Gate) -> Bool {
        if case .notBefore = gate { self == .due } else { true }
    }
}

/// Decides from the name alone whether an operation may be attempted at `now`.
///
/// - `longestDelay` is the furthest that a schedule can put a due time (`Route.longestDelay`). A due time further away
///   was set by a clock that has since jumped back, and counts as due. A `notBefore` is the operation's own and counts
///   however far away; `ignoringBackoff` (`--now`) does not override it, `ignoringNotBefore` (`run ID`) does.
/// - A creation time in the future changes nothing: clocks jump.
package func eligibility(
    of name: some SequencedName, at now: Timestamp, longestDelay: Duration, ignoringBackoff: Bool,
    ignoringNotBefore: Bool = false
) -> Eligibility {
    if name.isHeld { return .held }
    switch name.gate {
    case .open: return .due
    case .notBefore(let moment): return moment <= now || ignoringNotBefore ? .due : .deferred(until: moment)
    case .retryAt(let moment):
        if moment <= now || ignoringBackoff || moment - now > longestDelay { return .due }
        return .deferred(until: moment)
    }
}
