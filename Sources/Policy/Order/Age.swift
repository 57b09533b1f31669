/// The age of an entry: the older precedes the younger, and equal times are ordered by id.
struct Age: Hashable, Comparable, Sendable {
    let createdAt: Timestamp
    let id: OperationID

    /// Uses the sort key that `ordering` makes of the creation time.
    init(_ name: some SequencedName, by ordering: Ordering = .any) {
        createdAt = ordering.sortKey(of: name.createdAt)
        id = name.id
    }

    static func < (left: Age, right: Age) -> Bool {
        left.createdAt != right.createdAt ? left.createdAt < right.createdAt : left.id < right.id
    }
}
