/// Whether an operation may be tried now.
package enum Eligibility: Hashable, Sendable {
    case due
    case deferred(until: Timestamp)
    /// By itself, until a person releases it.
    case held
}

extension Eligibility {
    /// Whether what an older operation changes goes out with a newer one of its key: its backoff does not matter then, but
    /// a hold of its own and the time before which it is not to be sent do.
    package func mayBeMerged(gate: EntryName.Gate) -> Bool {
        switch (self, gate) {
        case (.held, _), (.deferred, .notBefore): false
        case (.due, _), (.deferred, .open), (.deferred, .due): true
        }
    }
}

/// Decides from the name alone whether an operation may be tried at `now`.
///
/// - `longestDelay` is the furthest a schedule could have put a due time, see `Route.longestDelay`: one further away was
///   set by a clock that has since jumped back, and is due. What the operation itself asked for (`notBefore`) is meant
///   however far away it is; `ignoringBackoff` (`--now`) does not override it, `ignoringNotBefore` (`run ID`) does.
/// - A creation time in the future changes nothing: clocks jump.
package func eligibility(
    of name: EntryName, at now: Timestamp, longestDelay: Duration, ignoringBackoff: Bool
) -> Eligibility {
    eligibility(
        isHeld: name.isHeld, gate: name.gate, at: now, longestDelay: longestDelay, ignoringBackoff: ignoringBackoff)
}

/// The same of a name that nothing has been made of.
package func eligibility(
    of name: ListedName, at now: Timestamp, longestDelay: Duration, ignoringBackoff: Bool,
    ignoringNotBefore: Bool = false
) -> Eligibility {
    if ignoringNotBefore, !name.isHeld, case .notBefore = name.gate { return .due }
    return eligibility(
        isHeld: name.isHeld, gate: name.gate, at: now, longestDelay: longestDelay, ignoringBackoff: ignoringBackoff)
}

private func eligibility(
    isHeld: Bool, gate: EntryName.Gate, at now: Timestamp, longestDelay: Duration, ignoringBackoff: Bool
) -> Eligibility {
    if isHeld { return .held }
    switch gate {
    case .open:
        return .due
    case .notBefore(let moment):
        return moment <= now ? .due : .deferred(until: moment)
    case .due(let moment):
        if moment <= now || ignoringBackoff || moment - now > longestDelay { return .due }
        return .deferred(until: moment)
    }
}
