extension Settlement {
    /// Holds an operation whose next attempt could make the server process it a second time; `nil` if it may be sent.
    /// Called before every attempt. A person then decides: `retry` sends it again, `drop` does not.
    package static func decide(
        onAmbiguityOf operation: Operation, name: EntryName, route: Route, now: Timestamp
    ) -> Settlement? {
        guard let rule = route.ambiguity(of: operation, name: name, now: now) else { return nil }
        return Settlement(
            disposition: .held, rule: rule,
            record: AttemptRecord(at: now, duration: .zero, outcome: .held, rule: rule))
    }
}

extension Route {
    /// Returns why another attempt may make the server process the operation twice. `nil` if the route has no `keyTTL`,
    /// if the server still remembers the key, or if no attempt since the last `retry` can have arrived.
    ///
    /// The time counts from the first attempt whose outcome is unknown: the server may have known the key since then,
    /// and forgets it `keyTTL` later. An interrupted claim leaves no record: it counts from the last record, or else
    /// from the creation.
    package func ambiguity(of operation: Operation, name: EntryName, now: Timestamp) -> Rule? {
        guard let keyTTL else { return nil }
        let records = operation.attempts.sinceRetry(counted: name.attempts)
        if let first = records.first(where: \.isOfUnknownOutcome) {
            guard now - first.at >= keyTTL else { return nil }
            return .ambiguous(since: first.at, wasInterrupted: false, keyTTL: keyTTL)
        }
        guard name.interruptions > 0 else { return nil }
        let since = records.last?.at ?? operation.header.createdAt
        return now - since >= keyTTL ? .ambiguous(since: since, wasInterrupted: true, keyTTL: keyTTL) : nil
    }
}

extension [AttemptRecord] {
    /// Returns the records since a person last decided: the last `counted` records that count, with the uncounted ones
    /// between and after them. Leaves out records up to the one that found the operation ambiguous, because only a
    /// person has the operation sent after that.
    fileprivate func sinceRetry(counted: Int) -> ArraySlice<AttemptRecord> {
        var counted = counted
        var start = endIndex
        while start > startIndex {
            let record = self[start - 1]
            if record.ruleCode == .ambiguous { break }
            if record.counted {
                if counted == 0 { break }
                counted -= 1
            }
            start -= 1
        }
        return self[start...]
    }
}

extension AttemptRecord {
    /// Whether the server may have received the request although no answer came back.
    fileprivate var isOfUnknownOutcome: Bool {
        error.flatMap(NetworkError.init(rawValue:)).map { !$0.provesNotSent } ?? false
    }
}
