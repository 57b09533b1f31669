extension Settlement {
    /// Settles an operation whose next attempt could make the server do it a second time; `nil` if it may be sent. To
    /// be asked before every attempt. A person decides: `retry` sends it again, `drop` does not.
    package static func decide(
        onAmbiguityOf operation: Operation, name: EntryName, route: Route, now: Timestamp
    ) -> Settlement? {
        guard let rule = route.ambiguity(of: operation, name: name, now: now) else { return nil }
        return Settlement(
            disposition: .held, rule: rule,
            record: AttemptRecord(at: now, duration: .zero, outcome: .held, rule: rule.description))
    }
}

extension Route {
    /// Why nobody can know whether the operation would be done twice; `nil` where its key is still remembered, or no
    /// attempt since the last `retry` can have arrived.
    ///
    /// The first attempt whose outcome is unknown counts: from then on the server may have known the key, and from then
    /// on it forgets it. Of an interrupted claim nothing is written down but that it was after the last attempt's record.
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
    /// The records since a person last decided: the last so many that count, those between and behind them that do not,
    /// and none from before the operation was found ambiguous, for it waits since then until a person has sent it again.
    fileprivate func sinceRetry(counted: Int) -> ArraySlice<AttemptRecord> {
        var counted = counted
        var start = endIndex
        while start > startIndex {
            let record = self[start - 1]
            if record.outcome == .held, record.rule.hasPrefix(Rule.ambiguous) { break }
            if record.isCounted {
                if counted == 0 { break }
                counted -= 1
            }
            start -= 1
        }
        return self[start...]
    }
}

extension AttemptRecord {
    /// Whether the server may have received the request without an answer of its having come back.
    fileprivate var isOfUnknownOutcome: Bool {
        error.flatMap(NetworkError.init(rawValue:)).map { !$0.provesNotSent } ?? false
    }
}
