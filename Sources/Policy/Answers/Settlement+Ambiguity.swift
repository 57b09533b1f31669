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
    /// and forgets it `keyTTL` later. An interrupted claim leaves no record: it counts from the record before, or else
    /// from the creation. So does an unknown end that only the name tells of, unless a person has decided since.
    package func ambiguity(of operation: Operation, name: EntryName, now: Timestamp) -> Rule? {
        guard let keyTTL else { return nil }
        guard let (since, wasInterrupted) = firstDoubt(of: operation, name), now - since >= keyTTL else { return nil }
        return .ambiguous(since: since, wasInterrupted: wasInterrupted, keyTTL: keyTTL)
    }

    private func firstDoubt(of operation: Operation, _ name: EntryName) -> (since: Timestamp, wasInterrupted: Bool)? {
        let (own, interruptions) = operation.requests(name)
        let records = own.sinceRetry(counted: name.attempts)
        func before(_ index: Int) -> Timestamp {
            index > own.startIndex ? own[index - 1].at : operation.header.createdAt
        }
        let hasUnknownEnd = name.unknowns > operation.header.edited?.unknowns ?? 0
        if hasUnknownEnd, records.startIndex == own.startIndex { return (operation.header.createdAt, true) }
        let first = records.indices.first { records[$0].isOfUnknownOutcome || records[$0].interruptions > 0 }
        if let first {
            let wasInterrupted = records[first].interruptions > 0
            return (wasInterrupted ? before(first) : records[first].at, wasInterrupted)
        }
        return interruptions > 0 ? (before(records.endIndex), true) : nil
    }
}

extension ArraySlice<AttemptRecord> {
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
    /// Whether the server may have received the request: its answer was lost, to drainq or to a gateway.
    package var leavesDoubt: Bool { isOfUnknownOutcome || [502, 504].contains(status) }

    /// Whether the server may have received the request although no answer came back.
    fileprivate var isOfUnknownOutcome: Bool {
        error.flatMap(NetworkError.init(rawValue:)).map { !$0.provesNotSent } ?? false
    }
}

extension Operation {
    /// Whether an earlier request of the operation may have arrived: the answer of one was lost, to drainq or to a
    /// gateway (502, 504), or a run or an agent died with one in flight. A `retry` does not change what has happened.
    package func mayHaveArrived(_ name: EntryName) -> Bool {
        let (records, interruptions) = requests(name)
        return interruptions > 0 || name.unknowns > header.edited?.unknowns ?? 0
            || records.contains { record in
                record.interruptions > 0 || record.leavesDoubt
            }
    }

    /// Returns the name of the operation without its records: it says what they have said.
    package func nameWithoutRecords(_ name: EntryName) -> EntryName {
        var name = name
        if mayHaveArrived(name) { name.unknowns = max(name.unknowns, min((header.edited?.unknowns ?? 0) + 1, 9)) }
        return name
    }

    /// Returns what is recorded of the requests that had today's text: those since the last edit.
    fileprivate func requests(_ name: EntryName) -> (records: ArraySlice<AttemptRecord>, interruptions: Int) {
        guard let edit = header.edited else { return (attempts[...], name.interruptions) }
        var records = attempts.dropFirst(edit.attempts)
        guard let first = records.indices.first else { return (records, name.interruptions -| edit.interruptions) }
        records[first].interruptions = records[first].interruptions -| edit.interruptions
        return (records, name.interruptions)
    }
}
