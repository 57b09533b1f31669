import CSystem
import Policy
import Spool

/// Makes the system calls of a process.
///
/// Each call passes the gate before the call looks at the disk, so the call sees the disk at the moment of its effect.
final class DiskCaller {
    typealias Path = SystemCalls.Path

    let disk: SimulatedDisk
    let process: ProcessID
    let descriptors: Descriptors
    let user: UInt32
    let host: String
    let gate: Gate

    init(_ disk: SimulatedDisk, _ process: ProcessID, user: UInt32, host: String, gate: Gate) {
        self.disk = disk
        self.process = process
        self.user = user
        self.host = host
        self.gate = gate
        descriptors = disk.descriptors(of: process)
    }

    // MARK: - The gate

    func before(_ name: Call.Name, _ descriptor: Int32) throws(Errno) {
        // A closed descriptor has no path. The call fails after the gate.
        let path = (try? descriptors.file(descriptor))?.path ?? ""
        try gate.before(Call(name, path: path))
    }

    /// Returns the path in the form of `Call`.
    @discardableResult
    func before(_ name: Call.Name, _ directory: Int32, _ path: Path) throws(Errno) -> String {
        let text = text(directory, path)
        try gate.before(Call(name, path: text))
        return text
    }

    /// Returns the two paths in the form of `Call`.
    private func before(
        _ name: Call.Name, _ directory: Int32, _ path: Path, to target: (directory: Int32, path: Path)
    ) throws(Errno) -> (from: String, to: String) {
        let (from, to) = (text(directory, path), text(target.directory, target.path))
        try gate.before(Call(name, path: from, target: to))
        return (from, to)
    }

    /// Returns a path in the form of `Call`.
    func text(_ directory: Int32, _ path: Path) -> String {
        let text = String(cString: path)
        if text.utf8.first == UInt8(ascii: "/") {
            if text == "/queue" { return "." }
            return text.hasPrefix("/queue/") ? String(text.dropFirst("/queue/".utf8.count)) : text
        }
        // The working directory is the root directory.
        guard let file = try? descriptors.file(directory) else { return "/\(text)" }
        if file.isQueue { return text }
        return text == "." ? file.path : "\(file.path)/\(text)"
    }

    // MARK: - Paths

    func start(_ directory: Int32, _ path: Path) throws(Errno) -> Inode {
        if directory == AT_FDCWD || path[0] == CChar(UInt8(ascii: "/")) { return disk.root }
        if path[0] == 0 { throw Errno(ENOENT) }
        let inode = try descriptors.file(directory).inode
        if !inode.isDirectory { throw Errno(ENOTDIR) }
        return inode
    }

    func bytes(_ path: Path) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: UnsafeRawPointer(path).assumingMemoryBound(to: UInt8.self), count: strlen(path))
    }

    func last(_ directory: Int32, _ path: Path) throws(Errno) -> SimulatedDisk.Last {
        var links = 0
        return try disk.last(of: bytes(path), from: start(directory, path), as: user, links: &links)
    }

    // MARK: - Names

    func rename(_ directory: Int32, _ from: Path, _ target: Int32, _ to: Path) throws(Errno) {
        let texts = try before(.rename, directory, from, to: (target, to))
        try move((directory, from), (target, to), texts, replaces: true)
        try gate.after(Call(.rename, path: texts.to))
    }

    func renameNoReplace(_ directory: Int32, _ from: Path, _ to: Path) throws(Errno) {
        let texts = try before(.renameNoReplace, directory, from, to: (directory, to))
        if !disk.renamesWithoutReplacing { throw Errno(EINVAL) }
        try move((directory, from), (directory, to), texts, replaces: false)
        try gate.after(Call(.renameNoReplace, path: texts.to))
    }

    private func move(
        _ from: (directory: Int32, path: Path), _ to: (directory: Int32, path: Path),
        _ texts: (from: String, to: String), replaces: Bool
    ) throws(Errno) {
        let old = try last(from.directory, from.path)
        let new = try last(to.directory, to.path)
        if old.kind != .name { throw Errno(EBUSY) }
        if new.kind != .name { throw Errno(replaces ? EBUSY : EEXIST) }
        guard let entry = try old.entry else { throw Errno(ENOENT) }
        let target = try new.entry
        if target != nil, !replaces { throw Errno(EEXIST) }
        if !entry.inode.isDirectory {
            if old.hasSlash || new.hasSlash { throw Errno(ENOTDIR) }
        } else if contains(entry.inode, new.directory) {
            throw Errno(EINVAL)
        }
        if let target, target.inode.isDirectory, contains(target.inode, old.directory) { throw Errno(ENOTEMPTY) }
        if let target, target.inode === entry.inode { return }
        try disk.checkTaking(entry, as: user, asDirectory: entry.inode.isDirectory)
        if let target {
            try disk.checkTaking(target, as: user, asDirectory: entry.inode.isDirectory)
        } else {
            try disk.checkAdding(to: new.directory, as: user)
        }
        if entry.inode.isDirectory, old.directory !== new.directory, !disk.may(entry.inode, 2, user) {
            throw Errno(EACCES)
        }
        if let target, !target.inode.slots.isEmpty { throw Errno(ENOTEMPTY) }
        disk.moves(process, texts.from, texts.to)
        disk.beginChanges()
        disk.memory?.removes(old.name, in: old.directory, at: gate.elapsed(), by: host)
        disk.memory?.makes(new.name, in: new.directory, at: gate.elapsed())
        disk.move(entry, to: new.name, in: new.directory, at: gate.now())
    }

    /// Whether a directory is `other` or lies above `other`.
    private func contains(_ directory: Inode, _ other: Inode) -> Bool {
        var next: Inode? = other
        while let inode = next {
            if inode === directory { return true }
            next = inode.entry?.parent
        }
        return false
    }

    func link(_ directory: Int32, _ from: Path, _ to: Path) throws(Errno) {
        let texts = try before(.link, directory, from, to: (directory, to))
        let old = try last(directory, from)
        let inode = try disk.find(old, as: user).inode
        let new = try last(directory, to)
        if let memory = disk.memory {
            let now = gate.elapsed()
            if memory.isNew(old.name, in: old.directory, at: now), gate.random() % 4 == 0 { throw Errno(ENOENT) }
            if memory.remembers(new.name, in: new.directory, at: now, on: host), gate.random() % 2 == 0 {
                throw Errno(EEXIST)
            }
        }
        if try new.isTaken { throw Errno(EEXIST) }
        if new.hasSlash { throw Errno(ENOENT) }
        if disk.protectsHardLinks, user != 0, user != inode.owner,
            inode.kind != .regular || !disk.may(inode, 6, user)
        {
            throw Errno(EPERM)
        }
        try disk.checkAdding(to: new.directory, as: user)
        if inode.isDirectory { throw Errno(EPERM) }
        disk.beginChanges()
        disk.memory?.makes(new.name, in: new.directory, at: gate.elapsed())
        disk.add(new.name, to: new.directory, inode, at: gate.now())
        try gate.after(Call(.link, path: texts.to))
    }

    func unlink(_ directory: Int32, _ path: Path) throws(Errno) {
        let text = try before(.unlink, directory, path)
        let last = try last(directory, path)
        if last.kind != .name { throw Errno(EISDIR) }
        guard let entry = try last.entry else { throw Errno(ENOENT) }
        if last.hasSlash { throw Errno(entry.inode.isDirectory ? EISDIR : ENOTDIR) }
        try disk.checkTaking(entry, as: user, asDirectory: false)
        disk.beginChanges()
        disk.memory?.removes(last.name, in: last.directory, at: gate.elapsed(), by: host)
        disk.remove(entry, at: gate.now())
        try gate.after(Call(.unlink, path: text))
    }

    func removeDirectory(_ directory: Int32, _ path: Path) throws(Errno) {
        try before(.removeDirectory, directory, path)
        let last = try last(directory, path)
        switch last.kind {
        case .same: throw Errno(last.hasSlash && last.bytes.isEmpty ? EBUSY : EINVAL)
        case .parent: throw Errno(ENOTEMPTY)
        case .name: break
        }
        guard let entry = try last.entry else { throw Errno(ENOENT) }
        try disk.checkTaking(entry, as: user, asDirectory: true)
        if !entry.inode.slots.isEmpty { throw Errno(ENOTEMPTY) }
        disk.beginChanges()
        disk.remove(entry, at: gate.now())
    }

    func makeDirectory(_ directory: Int32, _ path: Path, _ mode: UInt32) throws(Errno) {
        try before(.makeDirectory, directory, path)
        let last = try last(directory, path)
        if try last.isTaken { throw Errno(EEXIST) }
        try disk.checkAdding(to: last.directory, as: user)
        let setgid = last.directory.mode & 0o2000
        let time = gate.now()
        let made = try disk.make(.directory, owner: user, mode: mode & 0o1777 & ~disk.umask | setgid, at: time)
        disk.beginChanges()
        disk.add(last.name, to: last.directory, made, at: time)
        giveToOwner(of: directory, made)
    }

    /// Gives a file made by root to the owner of the directory, as `SystemCalls.real` does.
    func giveToOwner(of directory: Int32, _ made: Inode) {
        guard user == 0, made.owner == 0, made.links == 1, directory >= 0,
            let owner = (try? descriptors.file(directory))?.inode.owner
        else { return }
        made.owner = owner
    }
}
