/// The sequences in which a dead letter, or an operation in quarantine, holds the operations behind it (`onFailure:
/// "hold"`). Takes in the names in `failed/` and `quarantine/`, then answers. The file itself is the only record of the
/// hold. A dead letter does not hold a newer operation that replaces it.
package struct FailedSequences: Sendable {
    /// The oldest dead letter of a sequence, and the oldest with another group: a newer value may replace the first.
    private struct Holders {
        var oldest: Age
        /// The group whose newer operations replace the oldest; `nil` if none do.
        var group: SequenceKey?
        var oldestOther: Age?

        mutating func take(_ age: Age, _ group: SequenceKey?) {
            if group != nil, group == self.group {
                oldest = min(oldest, age)
            } else if age < oldest {
                (oldestOther, oldest, self.group) = (oldest, age, group)
            } else {
                oldestOther = min(oldestOther ?? age, age)
            }
        }
    }

    private var failed: [SequenceKey: Holders] = [:]

    package init() {}

    package var isEmpty: Bool { failed.isEmpty }

    /// Takes in the name of a dead letter.
    package mutating func note(_ name: EntryName, of order: RouteOrder, to destination: Destination) {
        guard order.holdsBehindFailed, let sequence = order.sequence(of: name, to: destination) else { return }
        let (age, group) = (Age(name), order.groupOfReplacements(name, to: destination))
        if failed[sequence]?.take(age, group) == nil { failed[sequence] = Holders(oldest: age, group: group) }
    }

    /// Returns the dead letter that an operation is held behind; `nil` if there is none.
    package func holder(of name: some SequencedName, of order: RouteOrder, to destination: Destination) -> OperationID?
    {
        if failed.isEmpty { return nil }
        guard let sequence = order.sequence(of: name, to: destination), let holders = failed[sequence] else {
            return nil
        }
        let replacing = order.groupOfReplacements(name, to: destination)
        let oldest = replacing != nil && replacing == holders.group ? holders.oldestOther : holders.oldest
        return oldest.flatMap { $0 < Age(name) ? $0.id : nil }
    }
}

extension RouteOrder {
    /// Returns the group in which newer operations replace this one; `nil` if none do.
    fileprivate func groupOfReplacements(_ name: some SequencedName, to destination: Destination) -> SequenceKey? {
        replacesOlder ? group(of: name, to: destination) : nil
    }
}
