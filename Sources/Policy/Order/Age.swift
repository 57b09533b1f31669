/// Orders entries, the older before the younger.
struct Age: Hashable, Comparable, Sendable {
    let createdAt: Timestamp
    let id: OperationID

    /// By its rank where the ordering is told.
    init(_ name: some SequencedName, by ordering: Ordering = .any) {
        createdAt = ordering.rank(of: name.createdAt)
        id = name.id
    }

    static func < (left: Age, right: Age) -> Bool {
        left.createdAt != right.createdAt ? left.createdAt < right.createdAt : left.id < right.id
    }
}
