package import Policy

/// The operations that were in the queue when a listing of it ended, the foreign files among them.
///
/// An order is decided for the operations of a cut: once every file that was there at its end has a name, no file
/// without a name can belong before them. What entered later belongs to the next cut, so a stream of files stops
/// nothing. Only `SpoolDirectory.cut` makes a cut, and nobody copies it.
package struct Cut: ~Copyable {
    private var ids: Set<OperationID> = []
    private var foreign: Set<[UInt8]> = []

    /// Whether an operation belongs to this cut.
    package func has(_ id: OperationID) -> Bool { ids.contains(id) }

    /// Takes in the names that foreign files of this cut have now.
    package mutating func take(_ admission: Admission) {
        for (file, id) in admission.named where foreign.contains(file) { ids.insert(id) }
    }

    fileprivate mutating func add(_ id: OperationID) { ids.insert(id) }

    fileprivate mutating func add(foreign names: [[UInt8]]) { foreign = Set(names) }
}

extension SpoolDirectory {
    /// Lists `new/` and `deferred/`. Takes in the operations for which `isOrdered` is true, and all foreign files.
    package func cut(where isOrdered: (ListedName) -> Bool) throws(SpoolError) -> Cut {
        var cut = Cut()
        for state in [QueueState.new, .deferred] {
            var ids: [OperationID] = []
            try forEachName(in: state) { name, _ in if isOrdered(name) { ids.append(name.id) } }
            for id in ids { cut.add(id) }
        }
        cut.add(foreign: try foreignNames(atMost: .max))
        return cut
    }
}
