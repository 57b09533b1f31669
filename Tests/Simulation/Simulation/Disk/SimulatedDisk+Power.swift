import CSystem
import Policy

/// Syncs, and the effect of a power cut.
extension SimulatedDisk {
    /// Notes a change of a name in a directory.
    func note(_ directory: Inode, _ name: FileName, before: Inode?, after: Inode?) {
        note(Change(group: group, inode: directory, name: name, before: before))
        before?.lastGroup = group
        after?.lastGroup = group
    }

    func changeMode(of inode: Inode, to mode: UInt32, at time: Timestamp) {
        if inode.mode != mode {
            beginChanges()
            note(Change(group: group, inode: inode, name: nil, before: nil, mode: inode.mode))
        }
        inode.mode = mode
        inode.changed = time
    }

    private func note(_ change: Change) {
        change.inode.lastGroup = group
        switch journal {
        case .ordered: pending.append(change)
        case .perDirectory: change.inode.log.append(change)
        }
    }

    // MARK: - Syncs

    func sync(_ inode: Inode) {
        syncContent(of: inode)
        switch journal {
        case .ordered:
            guard let first = pending.first, inode.lastGroup >= first.group else { return }
            let end = pending.firstIndex { $0.group > inode.lastGroup } ?? pending.count
            pending.removeFirst(end)
        case .perDirectory: inode.log = []
        }
    }

    func syncAll() {
        pending = []
        for inode in inodes() {
            inode.log = []
            syncContent(of: inode)
        }
    }

    private func syncContent(of inode: Inode) {
        guard inode.isDirty, !inode.hasLostWrites else { return }
        inode.synced = inode.bytes
        inode.isDirty = false
    }

    /// Makes the unsynced content of the files impossible to sync.
    func failSync(of inodes: [Inode]) {
        for inode in inodes where inode.isDirty && !inode.hasLostWrites {
            inode.hasLostWrites = true
            inode.failures += 1
            inode.hasUntoldFailure = true
        }
        failures += 1
    }

    /// Tells an open file of failed syncs, once for each sync; false if all are told.
    @discardableResult
    func tell(_ file: OpenFile) -> Bool {
        file.inode.hasUntoldFailure = false
        if file.knownFailures.file == file.inode.failures { return false }
        file.knownFailures.file = file.inode.failures
        return true
    }

    // MARK: - Power cuts

    /// Loses unsynced changes, as the journal's model allows, by chance. Ends the descriptors of all processes.
    package func cutPower(using chance: inout Chance) {
        powerCuts += 1
        for process in processes.keys.sorted() { end(process) }
        let used = inodes().reduce(0) { $0 + $1.bytes.count }
        let count = inodes().count
        switch journal {
        case .ordered: undo(&pending, using: &chance)
        case .perDirectory: undoNames(using: &chance)
        }
        let left = inodes()
        for inode in left {
            if !inode.log.isEmpty { undo(&inode.log, using: &chance) }
            if inode.isDirty { loseContent(of: inode, using: &chance) }
        }
        recount(left)
        freeBytes? += used - left.reduce(0) { $0 + $1.bytes.count }
        freeInodes? += count - left.count
    }

    /// Undoes the changes behind a prefix. The prefix has all or none of the changes of a group.
    private func undo(_ changes: inout [Change], using chance: inout Chance) {
        var groups = 0
        var previous: Int?
        for change in changes where change.group != previous {
            groups += 1
            previous = change.group
        }
        var lost = chance.below(groups + 1)
        previous = nil
        while let change = changes.last {
            if change.group != previous {
                if lost == 0 { break }
                lost -= 1
                previous = change.group
            }
            changes.removeLast()
            undo(change)
        }
        changes = []
    }

    private func undo(_ change: Change) {
        guard let name = change.name else {
            change.inode.mode = change.mode
            return
        }
        let directory = change.inode
        if let entry = directory.entry(name.hash) { take(entry) }
        if let before = change.before { insert(DirectoryEntry(name, in: directory, of: before), into: directory) }
    }

    /// Undoes changes of names from the root downwards: a directory that comes back loses unsynced changes of its own,
    /// too.
    private func undoNames(using chance: inout Chance) {
        var seen: Set<ObjectIdentifier> = []
        var next = [root]
        while let directory = next.popLast() {
            if !seen.insert(ObjectIdentifier(directory)).inserted { continue }
            undo(&directory.log, using: &chance)
            next += directory.slots.lazy.map(\.entry.inode).filter(\.isDirectory)
        }
    }

    private func loseContent(of inode: Inode, using chance: inout Chance) {
        let (old, new) = (inode.synced, inode.bytes)
        let common = zip(old, new).prefix { $0 == $1 }.count
        let end = inode.hasLostWrites ? max(common, new.count - 1) : new.count
        let kept = common + chance.below(end - common + 1)
        let content: [UInt8] =
            switch chance.below(4) {
            case 0: old
            case 1: inode.hasLostWrites ? old : new
            case 2: Array(new[..<kept])
            default: new[..<kept] + [UInt8](repeating: 0, count: new.count - kept)
            }
        inode.bytes = content
        inode.synced = content
        inode.isDirty = false
        inode.hasLostWrites = false
    }

    /// Counts the names of each file again, and gives each file a unique number.
    private func recount(_ inodes: [Inode]) {
        var numbers: Set<UInt64> = []
        for inode in inodes {
            inode.links = 0
            inode.subdirectories = 0
            inode.lastGroup = 0
            nextNumber = max(nextNumber, inode.number + 1)
        }
        root.links = 1
        for inode in inodes {
            if !numbers.insert(inode.number).inserted {
                inode.number = nextNumber
                nextNumber += 1
            }
            for slot in inode.slots {
                slot.entry.inode.links += 1
                if slot.entry.inode.isDirectory { inode.subdirectories += 1 }
            }
        }
        freeNumbers = []
    }

    /// Returns each inode with a name once, in the order of the listings, the root directory first.
    func inodes() -> [Inode] {
        var seen: Set<ObjectIdentifier> = [ObjectIdentifier(root)]
        var inodes = [root]
        var index = 0
        while index < inodes.count {
            for slot in inodes[index].slots where seen.insert(ObjectIdentifier(slot.entry.inode)).inserted {
                inodes.append(slot.entry.inode)
            }
            index += 1
        }
        return inodes
    }
}
