import CSystem
import Spool

/// Paths, as in path_resolution(7).
extension SimulatedDisk {
    /// The inode and entry at the end of a path.
    struct Found {
        var inode: Inode
        var entry: DirectoryEntry?
    }

    /// The last component of a path, in the directory of the preceding components.
    struct Last {
        enum Kind {
            case name
            /// `.`, or `/` alone.
            case same
            case parent
        }

        var kind: Kind
        var directory: Inode
        /// The component's bytes, in the caller's path.
        var bytes: UnsafeBufferPointer<UInt8>
        var hash: UInt64
        var hasSlash: Bool

        var name: FileName { FileName(hash: hash, bytes: Array(bytes)) }
        /// `nil` if nothing has the name.
        var entry: DirectoryEntry? {
            get throws(Errno) {
                if bytes.count > 255 { throw Errno(ENAMETOOLONG) }
                return kind == .name ? directory.entry(hash) : nil
            }
        }
        /// Whether the path is taken, so that nothing can be made there.
        var isTaken: Bool {
            get throws(Errno) {
                let entry = try entry
                return kind != .name || entry != nil
            }
        }
    }

    /// The maximal number of symbolic links in a path.
    private static var links: Int { 40 }

    /// Finds the directory of the last component. `start` is where a relative path begins.
    func last(
        of path: UnsafeBufferPointer<UInt8>, from start: Inode, as user: UInt32, links: inout Int
    ) throws(Errno) -> Last {
        let slash = UInt8(ascii: "/")
        if path.isEmpty { throw Errno(ENOENT) }
        if path.count > 4095 { throw Errno(ENAMETOOLONG) }
        var directory = path[0] == slash ? root : start
        var index = 0
        while index < path.count, path[index] == slash { index += 1 }
        if index == path.count {
            return Last(kind: .same, directory: root, bytes: .init(rebasing: path[..<0]), hash: 0, hasSlash: true)
        }
        while true {
            if !directory.isDirectory { throw Errno(ENOTDIR) }
            if !may(directory, 1, user) { throw Errno(EACCES) }
            let begin = index
            while index < path.count, path[index] != slash { index += 1 }
            let bytes = UnsafeBufferPointer(rebasing: path[begin..<index])
            let hasSlash = index < path.count
            while index < path.count, path[index] == slash { index += 1 }
            let isLast = index == path.count
            var kind = Last.Kind.name
            if bytes[0] == UInt8(ascii: ".") {
                if bytes.count == 1 { kind = .same }
                if bytes.count == 2, bytes[1] == UInt8(ascii: ".") { kind = .parent }
            }
            var hash: UInt64 = 0
            if kind == .name {
                var hasher = NameHash(seed: seed)
                hasher.combine(UnsafeRawBufferPointer(bytes))
                hash = hasher.value
            }
            let last = Last(kind: kind, directory: directory, bytes: bytes, hash: hash, hasSlash: hasSlash)
            if isLast { return last }
            directory = try follow(last, as: user, links: &links).inode
        }
    }

    /// Returns the target of the last component, through symbolic links.
    func follow(_ last: Last, as user: UInt32, links: inout Int) throws(Errno) -> Found {
        switch last.kind {
        case .same: return Found(inode: last.directory, entry: last.directory.entry)
        case .parent:
            let parent = last.directory.entry?.parent ?? last.directory
            return Found(inode: parent, entry: parent.entry)
        case .name:
            guard let entry = try last.entry else { throw Errno(ENOENT) }
            if entry.inode.kind != .symbolicLink {
                if last.hasSlash, !entry.inode.isDirectory { throw Errno(ENOTDIR) }
                return Found(inode: entry.inode, entry: entry)
            }
            links += 1
            if links > Self.links { throw Errno(ELOOP) }
            let target = entry.inode.bytes
            let next = try target.withUnsafeBufferPointer { (bytes) throws(Errno) in
                try follow(
                    self.last(of: bytes, from: last.directory, as: user, links: &links), as: user, links: &links)
            }
            if last.hasSlash, !next.inode.isDirectory { throw Errno(ENOTDIR) }
            return next
        }
    }

    /// Returns the inode of the last component. Follows a symbolic link only before a slash.
    func find(_ last: Last, as user: UInt32) throws(Errno) -> Found {
        if let entry = try last.entry, !last.hasSlash || entry.inode.kind != .symbolicLink {
            if last.hasSlash, !entry.inode.isDirectory { throw Errno(ENOTDIR) }
            return Found(inode: entry.inode, entry: entry)
        }
        var links = 0
        return try follow(last, as: user, links: &links)
    }

    // MARK: - Permissions

    /// Whether the mode grants a user the access `wanted`: 4 read, 2 write, 1 search.
    func may(_ inode: Inode, _ wanted: UInt32, _ user: UInt32) -> Bool {
        user == 0 || (user == inode.owner ? inode.mode >> 6 : inode.mode) & wanted == wanted
    }

    /// Checks that a user may add a name to a directory.
    func checkAdding(to directory: Inode, as user: UInt32) throws(Errno) {
        if directory.isDead { throw Errno(ENOENT) }
        if !may(directory, 3, user) { throw Errno(EACCES) }
    }

    /// Checks that a user may remove a name from its directory. `asDirectory` says whether the caller expects a
    /// directory.
    func checkTaking(_ entry: DirectoryEntry, as user: UInt32, asDirectory: Bool) throws(Errno) {
        if !may(entry.parent, 3, user) { throw Errno(EACCES) }
        if entry.parent.mode & 0o1000 != 0, user != 0, user != entry.inode.owner, user != entry.parent.owner {
            throw Errno(EPERM)
        }
        if asDirectory != entry.inode.isDirectory { throw Errno(asDirectory ? ENOTDIR : EISDIR) }
    }

    /// Whether O_CREAT must not open an existing file: the file can be a trap in a sticky directory that everybody may
    /// write.
    func isProtected(_ entry: DirectoryEntry, from user: UInt32) -> Bool {
        let (directory, inode) = (entry.parent, entry.inode)
        if directory.mode & 0o1002 != 0o1002 || inode.owner == directory.owner || inode.owner == user { return false }
        return protectsSticky || inode.kind != .regular && inode.kind != .fifo
    }

    /// Returns the path of an open file, with ` (deleted)` if the name is gone.
    func path(of file: OpenFile) -> [UInt8] {
        guard let entry = file.entry else { return Array("/".utf8) }
        var names: [[UInt8]] = []
        var next: DirectoryEntry? = entry
        while let entry = next {
            names.append(entry.name.bytes)
            next = entry.parent.entry
        }
        var path: [UInt8] = []
        for name in names.reversed() {
            path.append(UInt8(ascii: "/"))
            path += name
        }
        return entry.isRemoved ? path + Array(" (deleted)".utf8) : path
    }
}
