package import Policy

/// The operations that a pass may send while files without a name come in: the operations met by a listing, the foreign
/// files among them. Everything else belongs to the next cut, so a stream of files stops nothing.
///
/// The names lock does not keep out files without a name: a listing may miss such a file, and meet one that entered
/// after it. But the missed file was there when the listing ended. So a pass decides the order of a cut from a second
/// listing, begun once every file present at the end of the first listing has a name: an operation of the cut goes only
/// if the second listing has no older operation of its sequence outside the cut (`Precedence.Standing.late`).
///
/// Only `SpoolDirectory.cut` makes a cut, and nobody copies it.
package struct Cut: ~Copyable {
    /// Whether the listing met each file that had entered. A file left in `claimed/` by a run that died admitting the
    /// file has no name, and may belong before any operation.
    package fileprivate(set) var isWhole = true
    private var ids: Set<OperationID> = []
    private var foreign: Set<[UInt8]> = []

    /// Whether an operation belongs to this cut.
    package func has(_ id: OperationID) -> Bool { ids.contains(id) }

    /// Takes in the new names of this cut's foreign files.
    package mutating func take(_ admission: Admission) {
        for (file, id) in admission.named where foreign.contains(file) { ids.insert(id) }
    }

    fileprivate mutating func add(_ id: OperationID) { ids.insert(id) }

    fileprivate mutating func add(foreign names: [[UInt8]]) { foreign = Set(names) }
}

extension SpoolDirectory {
    /// Lists `new/` and `deferred/` under the names lock: meanwhile no run has a foreign file in its hands and might
    /// put the file back. Takes in the operations for which `isOrdered` is true, and all foreign files.
    package func cut(
        patience: Duration, where isOrdered: (ListedName) -> Bool
    ) throws(SpoolError) -> Cut {
        var cut = Cut()
        try withNamesLock(patience: patience) { () throws(SpoolError) in
            for state in [QueueState.new, .deferred] {
                var ids: [OperationID] = []
                try forEachName(in: state) { name, _ in if isOrdered(name) { ids.append(name.id) } }
                for id in ids { cut.add(id) }
            }
            cut.add(foreign: try foreignNames(atMost: .max))
            cut.isWhole = try forEachName(in: .claimed) { _, _ in } == 0
        }
        return cut
    }
}
