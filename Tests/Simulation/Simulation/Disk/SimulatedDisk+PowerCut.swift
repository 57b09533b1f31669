internal import Policy
internal import Spool

extension SimulatedDisk {
    /// Makes changes durable, as fsync(2) of a file or directory does: with one ordered journal all changes so far.
    func sync(_ inode: Inode) {
        if inode.kind != .directory {
            inode.syncedData = inode.data
            inode.isSynced = true
        }
        switch journal {
        case .ordered: syncNames()
        case .perDirectory:
            if inode.kind == .directory {
                inode.changes = []
                unsynced.removeAll { $0 === inode }
            }
        }
    }

    func syncAll() {
        syncNames()
        func visit(_ inode: Inode) {
            if inode.kind == .directory {
                for (_, child) in inode.names { visit(child) }
            } else {
                inode.syncedData = inode.data
                inode.isSynced = true
            }
        }
        visit(root)
        for file in descriptors.values { file.inode.syncedData = file.inode.data }
    }

    private func syncNames() {
        for directory in unsynced { directory.changes = [] }
        unsynced = []
    }

    /// Loses what was not synced, as the journal allows: a prefix of all changes stays, or of each directory's own. All
    /// open files end.
    func cutPower(using chance: inout Chance) {
        descriptors = [:]
        let common = earliest + chance.below(places - earliest + 1)
        for directory in unsynced.sorted(by: { $0.number < $1.number }) {
            var kept = common
            if journal == .perDirectory {
                let changes = directory.changes
                let count = chance.below(changes.count + 1)
                kept = count == 0 ? -1 : changes[count - 1].place
            }
            for change in directory.changes.reversed() where change.place > kept {
                directory.names[change.name] = change.before
            }
        }
        syncNames()
        count()
        loseData(of: root, using: &chance)
    }

    /// The place in the journal before the oldest change that is not durable.
    private var earliest: Int { (unsynced.compactMap { $0.changes.first?.place }.min() ?? places + 1) - 1 }

    /// Counts the names of each file anew.
    private func count() {
        func visit(_ inode: Inode, _ body: (Inode) -> Void) {
            for (_, child) in inode.names {
                body(child)
                if child.kind == .directory { visit(child, body) }
            }
        }
        visit(root) { $0.links = 0 }
        visit(root) { $0.links += 1 }
        visit(root) { $0.lock = nil }
    }

    private func loseData(of directory: Inode, using chance: inout Chance) {
        for (_, inode) in directory.names.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            if inode.kind == .directory {
                loseData(of: inode, using: &chance)
            } else if inode.kind == .regular, !inode.isSynced {
                switch chance.below(4) {
                case 0: inode.data = inode.syncedData ?? []
                case 1: inode.data = Array(inode.data.prefix(chance.below(inode.data.count + 1)))
                case 2 where inode.syncedData == nil: inode.data = inode.data.map { _ in 0 }
                default: break
                }
                // What was synced is still there: only what was written after it is in doubt.
                if let synced = inode.syncedData, !inode.data.starts(with: synced) { inode.data = synced }
                inode.syncedData = inode.data
                inode.isSynced = true
            }
        }
    }
}
