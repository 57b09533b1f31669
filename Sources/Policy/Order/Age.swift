/// The age of an entry: the older precedes the younger, and equal times are ordered by id.
///
/// The age tells an operation from a later one with its id: an id is free again once its operation has gone.
package struct Age: Hashable, Comparable, Sendable {
    package let createdAt: Timestamp
    package let id: OperationID

    package init(createdAt: Timestamp, id: OperationID) {
        self.createdAt = createdAt
        self.id = id
    }

    /// Uses the sort key that `ordering` makes of the creation time.
    package init(_ name: some SequencedName, by ordering: Ordering = .any) {
        self.init(createdAt: ordering.sortKey(of: name.createdAt), id: name.id)
    }

    package static func < (left: Age, right: Age) -> Bool {
        left.createdAt != right.createdAt ? left.createdAt < right.createdAt : left.id < right.id
    }
}
