import CSystem
import Policy
import Spool

extension DiskCaller {
    // MARK: - Open and close

    func open(_ directory: Int32, _ path: Path, _ flags: Int32, _ mode: UInt32) throws(Errno) -> Int32 {
        let text = try before(.open, directory, path)
        try checkPath(path)
        try descriptors.checkRoom(limit: disk.descriptorLimit)
        var links = 0
        let (found, isNew) = try open(
            bytes(path), from: start(directory, path), flags, mode, links: &links)
        let inode = found.inode
        if !isNew { try check(inode, flags) }
        let descriptor = descriptors.insert(file(found, flags, text))
        if !isNew, flags & O_TRUNC != 0, inode.kind == .regular { truncate(inode) }
        if flags & O_CREAT != 0 { giveToOwner(of: directory, inode) }
        return descriptor
    }

    /// Checks a path before the search for a free descriptor, in the order of the kernel.
    private func checkPath(_ path: Path) throws(Errno) {
        if path[0] == 0 { throw Errno(ENOENT) }
        if strlen(path) > 4095 { throw Errno(ENAMETOOLONG) }
    }

    private func file(_ found: SimulatedDisk.Found, _ flags: Int32, _ text: String) -> OpenFile {
        found.inode.opens += 1
        if flags & O_ACCMODE != O_WRONLY { found.inode.readers += 1 }
        return OpenFile(
            found.inode, found.entry, flags: flags, path: text, host: host, process: process,
            failuresOfDisk: disk.failures)
    }

    /// Finds or makes the file. Follows a symbolic link at the end also where a file is made.
    private func open(
        _ path: UnsafeBufferPointer<UInt8>, from start: Inode, _ flags: Int32, _ mode: UInt32, links: inout Int
    ) throws(Errno) -> (SimulatedDisk.Found, isNew: Bool) {
        let last = try disk.last(of: path, from: start, as: user, links: &links)
        let creates = flags & O_CREAT != 0
        let excludes = creates && flags & O_EXCL != 0
        guard creates, last.kind == .name else {
            if creates { throw Errno(excludes ? EEXIST : EISDIR) }
            if flags & O_NOFOLLOW != 0 { return (try disk.find(last, as: user), false) }
            return (try disk.follow(last, as: user, links: &links), false)
        }
        if last.hasSlash { throw Errno(EISDIR) }
        if let entry = try last.entry {
            if excludes { throw Errno(EEXIST) }
            if entry.inode.kind != .symbolicLink || flags & O_NOFOLLOW != 0 {
                if entry.inode.isDirectory { throw Errno(EISDIR) }
                if disk.isProtected(entry, from: user) { throw Errno(EACCES) }
                return (SimulatedDisk.Found(inode: entry.inode, entry: entry), false)
            }
            links += 1
            if links > 40 { throw Errno(ELOOP) }
            let target = entry.inode.bytes
            return try target.withUnsafeBufferPointer { (bytes) throws(Errno) in
                try open(bytes, from: last.directory, flags, mode, links: &links)
            }
        }
        try disk.checkAdding(to: last.directory, as: user)
        let time = gate.now()
        let made = try disk.make(.regular, owner: user, mode: mode & 0o7777 & ~disk.umask, at: time)
        disk.beginChanges()
        disk.add(last.name, to: last.directory, made, at: time)
        return (SimulatedDisk.Found(inode: made, entry: try last.entry), true)
    }

    /// Checks whether an existing file may be opened so.
    private func check(_ inode: Inode, _ flags: Int32) throws(Errno) {
        let access = flags & O_ACCMODE
        if flags & O_DIRECTORY != 0, !inode.isDirectory { throw Errno(ENOTDIR) }
        if inode.kind == .symbolicLink { throw Errno(ELOOP) }
        let writes = access != O_RDONLY || flags & O_TRUNC != 0
        if inode.isDirectory, writes { throw Errno(EISDIR) }
        let wanted: UInt32 = (access == O_WRONLY ? 0 : 4) | (writes ? 2 : 0)
        if !disk.may(inode, wanted, user) { throw Errno(EACCES) }
        switch inode.kind {
        case .socket, .other: throw Errno(ENXIO)
        case .fifo:
            if access == O_RDWR || access == O_RDONLY && flags & O_NONBLOCK != 0
                || access == O_WRONLY && inode.readers > 0
            {
                return
            }
            throw Errno(flags & O_NONBLOCK != 0 ? ENXIO : EDEADLK)
        default: return
        }
    }

    private func truncate(_ inode: Inode) {
        let time = gate.now()
        disk.freeBytes? += inode.bytes.count
        if !inode.bytes.isEmpty { inode.isDirty = true }
        inode.bytes = []
        inode.modified = time
        inode.changed = time
    }

    func close(_ descriptor: Int32) throws(Errno) {
        do throws(Errno) {
            try before(.close, descriptor)
        } catch {
            if let file = try? descriptors.remove(descriptor) { disk.close(file) }
            throw error
        }
        disk.close(try descriptors.remove(descriptor))
    }

    // MARK: - Content

    func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int? = nil) throws(Errno) -> Int {
        try before(.write, descriptor)
        let file = try descriptors.file(descriptor)
        let inode = file.inode
        if file.flags & O_ACCMODE == O_RDONLY { throw Errno(EBADF) }
        if inode.kind != .regular { throw Errno(EAGAIN) }
        if bytes.isEmpty { return 0 }
        let size = inode.bytes.count
        let position = offset ?? (file.flags & O_APPEND != 0 ? size : file.position)
        var count = bytes.count
        if disk.shortWriteRate > 0, count > 1, gate.random() % disk.shortWriteRate == 0 {
            count = 1 + Int(gate.random() % UInt64(count - 1))
        }
        if let free = disk.freeBytes {
            count = min(count, free + size - position)
            if count <= 0 {
                disk.refused(process, .write, file.path)
                throw Errno(ENOSPC)
            }
            disk.freeBytes = free - max(0, position + count - size)
        }
        if position > size { inode.bytes += [UInt8](repeating: 0, count: position - size) }
        let overlap = min(count, inode.bytes.count - position)
        if overlap > 0 { inode.bytes.replaceSubrange(position..<position + overlap, with: bytes[..<overlap]) }
        if overlap < count { inode.bytes += bytes[overlap..<count] }
        if offset == nil { file.position = position + count }
        inode.isDirty = true
        let time = gate.now()
        inode.modified = time
        inode.changed = time
        return count
    }

    func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer, _ offset: Int) throws(Errno) -> Int {
        try before(.read, descriptor)
        let file = try descriptors.file(descriptor)
        if offset < 0 { throw Errno(EINVAL) }
        if file.inode.kind == .fifo { throw Errno(ESPIPE) }
        if file.flags & O_ACCMODE == O_WRONLY { throw Errno(EBADF) }
        if file.inode.isDirectory { throw Errno(EISDIR) }
        let count = min(buffer.count, file.inode.bytes.count - offset)
        if count <= 0 { return 0 }
        file.inode.bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[offset..<offset + count])) }
        return count
    }

    func fsync(_ descriptor: Int32) throws(Errno) {
        do throws(Errno) {
            try before(.fsync, descriptor)
        } catch {
            if let file = try? descriptors.file(descriptor) {
                disk.failSync(of: [file.inode])
                disk.tell(file)
            }
            throw error
        }
        let file = try descriptors.file(descriptor)
        if file.inode.kind != .regular, file.inode.kind != .directory { throw Errno(EINVAL) }
        disk.sync(file.inode)
        if disk.tell(file) { throw Errno(EIO) }
    }

    func syncfs(_ descriptor: Int32) throws(Errno) {
        do throws(Errno) {
            try before(.syncfs, descriptor)
        } catch {
            disk.failSync(of: disk.inodes())
            if let file = try? descriptors.file(descriptor) { file.knownFailures.disk = disk.failures }
            throw error
        }
        let file = try descriptors.file(descriptor)
        disk.syncAll()
        if file.knownFailures.disk < disk.failures {
            file.knownFailures.disk = disk.failures
            throw Errno(EIO)
        }
    }

    // MARK: - Status

    func chmod(_ descriptor: Int32, _ mode: UInt32) throws(Errno) {
        try before(.chmod, descriptor)
        let inode = try descriptors.file(descriptor).inode
        if user != 0, user != inode.owner { throw Errno(EPERM) }
        disk.changeMode(of: inode, to: mode & 0o7777, at: gate.now())
    }

    func status(_ descriptor: Int32) throws(Errno) -> FileStatus {
        try before(.status, descriptor)
        return try descriptors.file(descriptor).inode.status
    }

    func statusAt(_ directory: Int32, _ path: Path) throws(Errno) -> FileStatus {
        try before(.statusAt, directory, path)
        return try disk.find(last(directory, path), as: user).inode.status
    }

    func realPath(_ descriptor: Int32) throws(Errno) -> [UInt8] {
        try before(.realPath, descriptor)
        // An unknown descriptor has no name below /proc. The real call takes a missing name for a missing /proc.
        guard let file = try? descriptors.file(descriptor) else { throw Errno(ENOSYS) }
        return disk.path(of: file)
    }

    func freeBytes(_ descriptor: Int32) throws(Errno) -> Int {
        try before(.freeBytes, descriptor)
        _ = try descriptors.file(descriptor)
        return max(0, disk.freeBytes ?? 1 << 40)
    }

    // MARK: - Locks

    func lock(_ descriptor: Int32) throws(Errno) -> Bool {
        try before(.lock, descriptor)
        let file = try descriptors.file(descriptor)
        if disk.lock(file) { return true }
        disk.finds(process, file.path, file.inode.locks.first?.process)
        return false
    }

    func unlock(_ descriptor: Int32) throws(Errno) {
        try before(.unlock, descriptor)
        disk.unlock(try descriptors.file(descriptor))
    }

    // MARK: - Listings

    func list(
        _ directory: Int32, _ path: Path, all: Bool, _ body: (UnsafeBufferPointer<UInt8>) -> Bool
    ) throws(Errno) {
        let text = try before(.list, directory, path)
        try checkPath(path)
        try descriptors.checkRoom(limit: disk.descriptorLimit)
        let found = try disk.find(last(directory, path), as: user)
        if !found.inode.isDirectory { throw Errno(ENOTDIR) }
        if !disk.may(found.inode, 4, user) { throw Errno(EACCES) }
        // The descriptor belongs to the process, so the death of the process in the middle closes the descriptor.
        let descriptor = descriptors.insert(file(found, O_RDONLY | O_DIRECTORY, text))
        defer { if let file = try? descriptors.remove(descriptor) { disk.close(file) } }
        var next: UInt64? = 0
        while let place = next {
            let slots = found.inode.slots
            let first = found.inode.index(place)
            if first == slots.count { return }
            let end = min(slots.count, first + 1 + Int(gate.random() % max(1, disk.portion)))
            // A copy: the entries' names may change before the caller sees them.
            let names = slots[first..<end].map(\.entry.name)
            for name in names where all || name.bytes[0] != UInt8(ascii: ".") {
                if !name.bytes.withUnsafeBufferPointer(body) { return }
            }
            next = slots[end - 1].hash == .max ? nil : slots[end - 1].hash + 1
            try gate.before(Call(.listPart, path: text))
        }
    }
}
