import CSystem
package import Policy
package import Spool

/// Actions and views of a test, another program or the story, without a process.
extension SimulatedDisk {
    /// Puts a file or directory at a free path, durably; the parent directory exists. A path that does not begin at the
    /// root directory is relative to the queue. `bytes` are the content of a file or the target of a symbolic link.
    /// Traps if the placement is impossible, because the test is wrong then.
    package func place(
        _ kind: FileStatus.Kind, at path: String, bytes: [UInt8] = [], owner: UInt32 = 0, mode: UInt32 = 0o600,
        time: Timestamp = Timestamp(microseconds: 0)
    ) {
        try! withLast(path) { (last) throws(Errno) in
            let isTaken = try last.isTaken
            precondition(!isTaken, "\(path) exists")
            let inode = try make(kind, owner: owner, mode: kind == .symbolicLink ? 0o777 : mode, at: time)
            inode.bytes = bytes
            inode.synced = bytes
            freeBytes? -= bytes.count
            insert(DirectoryEntry(last.name, in: last.directory, of: inode), into: last.directory)
        }
    }

    /// Calls `body` from now on with each file that gets a name in the directories.
    func watch(_ directories: [String], _ body: @escaping (_ name: [UInt8], _ bytes: [UInt8]) -> Void) {
        watched = directories.compactMap { inode($0) }
        named = body
    }

    /// Returns the content of a file; `nil` if the path is free.
    package func content(of path: String) -> [UInt8]? { inode(path)?.bytes }

    /// Returns the status of a name; `nil` if the path is free.
    package func status(of path: String) -> FileStatus? { inode(path)?.status }

    /// Changes owner and mode of a file or directory, durably.
    package func change(_ path: String, owner: UInt32, mode: UInt32) {
        guard let inode = inode(path) else { preconditionFailure("\(path) is missing") }
        inode.owner = owner
        inode.mode = mode
    }

    /// Changes the content of a file, durably.
    func change(_ path: String, to bytes: [UInt8]) {
        guard let inode = inode(path) else { preconditionFailure("\(path) is missing") }
        inode.bytes = bytes
        inode.synced = inode.bytes
        inode.isDirty = false
    }

    /// Returns the regular files below a directory, sorted by path. Paths are relative to the queue. `.` and `/queue`
    /// stand for the whole queue.
    package func files(in directory: String) -> [LeftFile] {
        guard let start = inode(directory) else { return [] }
        var files: [LeftFile] = []
        var next = [(start, [".", "/queue"].contains(directory) ? "" : directory + "/")]
        while let (directory, path) = next.popLast() {
            for slot in directory.slots {
                let (inode, name) = (slot.entry.inode, path + String(decoding: slot.entry.name.bytes, as: UTF8.self))
                if inode.isDirectory { next.append((inode, name + "/")) }
                if inode.kind == .regular { files.append(LeftFile(path: name, bytes: inode.bytes)) }
            }
        }
        return files.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
    }

    /// Returns the names of the regular files below a directory, without the directories, in any order.
    func names(in directory: String) -> [String] {
        var names: [String] = []
        var next = [inode(directory)].compactMap { $0 }
        while let directory = next.popLast() {
            for entry in directory.slots.lazy.map(\.entry) {
                if entry.inode.isDirectory { next.append(entry.inode) }
                if entry.inode.kind == .regular { names.append(String(decoding: entry.name.bytes, as: UTF8.self)) }
            }
        }
        return names
    }

    private func inode(_ path: String) -> Inode? {
        // Nothing else can be wrong with the path: root may search every directory.
        try? withLast(path) { (last) throws(Errno) in try find(last, as: 0).inode }
    }

    private func withLast<Result>(
        _ path: String, _ body: (Last) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        let absolute = path.utf8.first == UInt8(ascii: "/") ? path : "/queue/\(path)"
        return try Array(absolute.utf8).withUnsafeBufferPointer { (bytes) throws(Errno) in
            var links = 0
            return try body(last(of: bytes, from: root, as: 0, links: &links))
        }
    }

    // MARK: - Digest

    /// A digest of names, contents, modes, owners, synced states and locks, without times and inode numbers. Equal
    /// states have equal digests.
    package var digest: UInt64 {
        var digest = NameHash(seed: 0)
        var indices: [ObjectIdentifier: UInt64] = [:]
        var queue: [Inode] = []
        func index(_ inode: Inode?) -> UInt64 {
            guard let inode else { return .max }
            if let known = indices[ObjectIdentifier(inode)] { return known }
            indices[ObjectIdentifier(inode)] = UInt64(queue.count)
            queue.append(inode)
            return UInt64(queue.count - 1)
        }
        _ = index(root)
        var visited = 0
        func visit(_ changes: [Change]) {
            var groups = 0
            var previous: Int?
            for change in changes {
                if change.group != previous { groups += 1 }
                previous = change.group
                digest.combine(UInt64(groups))
                digest.combine(index(change.inode))
                digest.combine(change.name?.hash ?? UInt64(change.mode))
                digest.combine(index(change.before))
            }
        }
        func visitInodes() {
            while visited < queue.count {
                let inode = queue[visited]
                visited += 1
                digest.combine(UInt64(inode.owner) << 32 | UInt64(inode.mode))
                digest.combine(UInt64(inode.slots.count))
                inode.bytes.withUnsafeBytes { digest.combine($0) }
                if inode.isDirty { inode.synced.withUnsafeBytes { digest.combine($0) } }
                digest.combine(inode.hasLostWrites ? 1 : 0)
                for slot in inode.slots {
                    digest.combine(slot.hash)
                    digest.combine(index(slot.entry.inode))
                }
                for lock in inode.locks { digest.combine(UInt64(lock.process.number)) }
                visit(inode.log)
            }
        }
        visitInodes()
        visit(pending)
        visitInodes()
        return digest.value
    }
}
