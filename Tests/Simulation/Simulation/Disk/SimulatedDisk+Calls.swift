internal import CSystem
internal import Policy
internal import Spool

extension SimulatedDisk {
    /// Makes the system calls of a process. `user` is who it acts as; 0 is root.
    func calls(of process: ProcessID, user: UInt32, host: String, through gate: Gate) -> SystemCalls {
        func before(_ name: Call.Name, _ path: SystemCalls.Path, _ target: SystemCalls.Path? = nil) throws(Errno) {
            try gate.before(Call(name: name, path: text(path), target: target.map(text)))
        }
        func before(_ name: Call.Name, _ descriptor: Int32) throws(Errno) -> OpenFile {
            try gate.before(Call(name: name, path: descriptors[descriptor]?.path ?? "", target: nil))
            return try file(descriptor)
        }
        var calls = SystemCalls.real
        calls.open = { (directory, path, flags, mode) throws(Errno) in
            try before(.open, path)
            return try self.open(directory, path, flags, mode, process, user, gate.now())
        }
        calls.close = { (descriptor) throws(Errno) in
            try gate.before(Call(name: .close, path: self.descriptors[descriptor]?.path ?? "", target: nil))
            try self.close(descriptor)
        }
        calls.write = { (descriptor, bytes) throws(Errno) in
            let file = try before(.write, descriptor)
            return try self.write(bytes, to: file, isShort: gate.random() % 16 == 0, gate.now())
        }
        calls.read = { (descriptor, buffer, offset) throws(Errno) in
            let data = try before(.read, descriptor).inode.data
            if offset >= data.count { return 0 }
            let count = min(buffer.count, data.count - offset)
            data.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[offset..<offset + count])) }
            return count
        }
        calls.fsync = { (descriptor) throws(Errno) in self.sync(try before(.fsync, descriptor).inode) }
        calls.syncfs = { (descriptor) throws(Errno) in
            _ = try before(.syncfs, descriptor)
            self.syncAll()
        }
        calls.chmod = { (descriptor, mode) throws(Errno) in
            let inode = try before(.chmod, descriptor).inode
            if user != 0, user != inode.owner { throw Errno(EPERM) }
            inode.permissions = mode & 0o777
        }
        calls.rename = { (directory, from, to) throws(Errno) in
            try before(.rename, from, to)
            try self.rename(directory, from, to, replaces: true, user, gate.now())
        }
        calls.renameNoReplace = { (directory, from, to) throws(Errno) in
            try before(.renameNoReplace, from, to)
            if !self.renamesWithoutReplacing { throw Errno(EINVAL) }
            try self.rename(directory, from, to, replaces: false, user, gate.now())
        }
        calls.link = { (directory, from, to) throws(Errno) in
            try before(.link, from, to)
            let inode = try self.inode(at: self.place(directory, from))
            if inode.kind == .directory { throw Errno(EPERM) }
            let target = try self.place(directory, to)
            if target.inode != nil { throw Errno(EEXIST) }
            try self.checkWritable(target.directory, user)
            self.beginChange()
            self.set(target, to: inode, at: gate.now())
        }
        calls.unlink = { (directory, path) throws(Errno) in
            try before(.unlink, path)
            let place = try self.place(directory, path)
            let inode = try self.inode(at: place)
            if inode.kind == .directory { throw Errno(EISDIR) }
            try self.checkRemovable(inode, from: place.directory, user)
            self.beginChange()
            self.set(place, to: nil, at: gate.now())
        }
        calls.removeDirectory = { (directory, path) throws(Errno) in
            try before(.removeDirectory, path)
            let place = try self.place(directory, path)
            let inode = try self.inode(at: place)
            if inode.kind != .directory { throw Errno(ENOTDIR) }
            if !inode.names.isEmpty { throw Errno(ENOTEMPTY) }
            try self.checkRemovable(inode, from: place.directory, user)
            self.beginChange()
            self.set(place, to: nil, at: gate.now())
        }
        calls.makeDirectory = { (directory, path, mode) throws(Errno) in
            try before(.makeDirectory, path)
            let place = try self.place(directory, path)
            if place.inode != nil { throw Errno(EEXIST) }
            try self.checkWritable(place.directory, user)
            if let free = self.freeBytes, free <= 0 { throw Errno(ENOSPC) }
            let inode = self.makeInode(.directory, owner: user, permissions: mode & 0o777, at: gate.now())
            self.beginChange()
            self.set(place, to: inode, at: gate.now())
        }
        calls.status = { (descriptor) throws(Errno) in FileStatus(of: try before(.status, descriptor).inode) }
        calls.statusAt = { (directory, path) throws(Errno) in
            try before(.statusAt, path)
            return FileStatus(of: try self.inode(at: self.place(directory, path)))
        }
        calls.realPath = { (descriptor) throws(Errno) in Array(try before(.realPath, descriptor).path.utf8) }
        calls.user = { user }
        calls.lock = { (descriptor) throws(Errno) in
            let file = try before(.lock, descriptor)
            if file.inode.lock == nil { file.inode.lock = file }
            return file.inode.lock === file
        }
        calls.unlock = { (descriptor) throws(Errno) in
            let file = try before(.unlock, descriptor)
            if file.inode.lock === file { file.inode.lock = nil }
        }
        calls.list = { (directory, path, body) throws(Errno) in
            try before(.list, path)
            try self.list(directory, path, gate) { $0.first == UInt8(ascii: ".") || body($0) }
        }
        calls.listAll = { (directory, path, body) throws(Errno) in
            try before(.list, path)
            try self.list(directory, path, gate, body)
        }
        calls.freeBytes = { (descriptor) throws(Errno) in
            _ = try before(.freeBytes, descriptor)
            return self.freeBytes ?? 1 << 40
        }
        calls.fileSystem = { _ in FileSystem(type: "ext4", options: ["rw"]) }
        calls.host = { host }
        calls.elapsed = gate.elapsed
        calls.sleep = gate.sleep
        calls.random = gate.random
        // One after the other: which process goes on is decided at each call.
        calls.overlap = { count, _, work in for index in 0..<count { work(index) } }
        return calls
    }

    // MARK: - Calls

    private func open(
        _ directory: Int32, _ path: SystemCalls.Path, _ flags: Int32, _ mode: UInt32, _ process: ProcessID,
        _ user: UInt32, _ now: Timestamp
    ) throws(Errno) -> Int32 {
        let place = try place(directory, path)
        let isWriting = flags & O_ACCMODE != O_RDONLY
        let inode: Inode
        if let existing = place.inode {
            if flags & O_CREAT != 0, flags & O_EXCL != 0 { throw Errno(EEXIST) }
            inode = existing
            if inode.kind == .symbolicLink { throw Errno(flags & O_NOFOLLOW != 0 ? ELOOP : ENOENT) }
            if inode.kind == .socket { throw Errno(ENXIO) }
            if inode.kind == .directory, isWriting || flags & O_CREAT != 0 { throw Errno(EISDIR) }
            if inode.kind != .directory, flags & O_DIRECTORY != 0 { throw Errno(ENOTDIR) }
            let needed: UInt32 = isWriting ? 0o2 : 0o4
            if user != 0, inode.permissions & (inode.owner == user ? needed << 6 : needed) == 0 { throw Errno(EACCES) }
        } else {
            guard flags & O_CREAT != 0 else { throw Errno(ENOENT) }
            try checkWritable(place.directory, user)
            if let free = freeBytes, free <= 0 { throw Errno(ENOSPC) }
            inode = makeInode(.regular, owner: user, permissions: mode & 0o777, at: now)
            beginChange()
            set(place, to: inode, at: now)
        }
        return try open(inode, process, text(path), isAppending: flags & O_APPEND != 0)
    }

    private func write(
        _ bytes: UnsafeRawBufferPointer, to file: OpenFile, isShort: Bool, _ now: Timestamp
    ) throws(Errno) -> Int {
        var count = isShort && bytes.count > 1 ? bytes.count / 2 : bytes.count
        if let free = freeBytes {
            if free <= 0, count > 0 { throw Errno(ENOSPC) }
            count = min(count, free)
            freeBytes = free - count
        }
        let inode = file.inode
        if file.isAppending { file.position = inode.data.count }
        let end = file.position + count
        if inode.data.count < end { inode.data += [UInt8](repeating: 0, count: end - inode.data.count) }
        inode.data.replaceSubrange(file.position..<end, with: bytes[..<count])
        file.position = end
        inode.isSynced = false
        inode.modified = now.microseconds * 1000
        inode.changed = inode.modified
        return count
    }

    private func rename(
        _ directory: Int32, _ from: SystemCalls.Path, _ to: SystemCalls.Path, replaces: Bool, _ user: UInt32,
        _ now: Timestamp
    ) throws(Errno) {
        let (source, target) = (try place(directory, from), try place(directory, to))
        let inode = try inode(at: source)
        if let existing = target.inode {
            if !replaces { throw Errno(EEXIST) }
            if existing === inode { return }
            if existing.kind == .directory {
                if inode.kind != .directory { throw Errno(EISDIR) }
                if !existing.names.isEmpty { throw Errno(ENOTEMPTY) }
            } else if inode.kind == .directory {
                throw Errno(ENOTDIR)
            }
            try checkRemovable(existing, from: target.directory, user)
        }
        try checkRemovable(inode, from: source.directory, user)
        try checkWritable(target.directory, user)
        beginChange()
        set(source, to: nil, at: now)
        set(target, to: inode, at: now)
    }

    /// Streams names in the order of their hashes, some at a time. Between two portions other processes change the
    /// directory: a file that is renamed meanwhile is seen under both names, under one, or under none.
    private func list(
        _ directory: Int32, _ path: SystemCalls.Path, _ gate: Gate, _ body: (UnsafeBufferPointer<UInt8>) -> Bool
    ) throws(Errno) {
        let inode = try inode(at: place(directory, path))
        guard inode.kind == .directory else { throw Errno(ENOTDIR) }
        var cursor: UInt64?
        while true {
            var names: [(place: UInt64, name: [UInt8])] = []
            for (name, _) in inode.names {
                let place = hash(name)
                if cursor.map({ place > $0 }) ?? true { names.append((place, name)) }
            }
            if names.isEmpty { return }
            names.sort { $0.place < $1.place }
            for (place, name) in names.prefix(1 + Int(gate.random() % 4)) {
                cursor = place
                if !name.withUnsafeBufferPointer(body) { return }
            }
            try gate.before(Call(name: .listPart, path: text(path), target: nil))
        }
    }

    private func hash(_ name: [UInt8]) -> UInt64 {
        var digest = TraceDigest()
        digest.add(hashSeed)
        for byte in name { digest.add(UInt64(byte)) }
        return digest.value
    }

    // MARK: - Permissions

    private func checkWritable(_ directory: Inode, _ user: UInt32) throws(Errno) {
        if user == 0 || directory.owner == user || directory.permissions & 0o002 != 0 { return }
        throw Errno(EACCES)
    }

    private func checkRemovable(_ inode: Inode, from directory: Inode, _ user: UInt32) throws(Errno) {
        try checkWritable(directory, user)
        if directory.isSticky, user != 0, user != inode.owner, user != directory.owner { throw Errno(EPERM) }
    }
}

extension FileStatus {
    init(of inode: Inode) {
        self.init(
            kind: inode.kind, size: inode.data.count,
            links: inode.kind == .directory ? 2 : inode.links, device: 1, inode: inode.number, owner: inode.owner,
            permissions: inode.permissions, isSticky: inode.isSticky, modifiedNanoseconds: inode.modified,
            changedAt: Timestamp(microseconds: inode.changed / 1000))
    }
}

private func text(_ path: UnsafePointer<CChar>) -> String { String(cString: path) }
