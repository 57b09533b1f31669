import CSystem
package import Policy
import Synchronization

/// Calls on single files, the parts of every function of the queue.
extension SpoolDirectory {
    /// Calls `body`, and names the action and its path in the error if the system refuses.
    func attempt<Result>(
        _ verb: String, _ path: QueuePath, _ body: () throws(Errno) -> Result
    ) throws(SpoolError) -> Result {
        do throws(Errno) {
            return try body()
        } catch {
            throw SpoolError(error, verb, path)
        }
    }

    /// Opens a file, calls `body`, and closes with the close checked: NFS reports a lost write there.
    @discardableResult
    static func withDescriptor<Result>(
        _ system: SystemCalls, _ root: Int32, _ path: QueuePath, _ flags: Int32,
        _ body: (Int32) throws(Errno) -> Result
    ) throws(Errno) -> Result {
        let descriptor = try system.open(root, path.bytes, flags, 0o600)
        let result: Result
        do throws(Errno) {
            result = try body(descriptor)
        } catch {
            try? system.close(descriptor)
            throw error
        }
        try system.close(descriptor)
        return result
    }

    /// Returns when an operation's file came to its directory; `nil` if it is not there.
    package func timeInPlace(of entry: Entry) throws(SpoolError) -> Timestamp? {
        try status(QueuePath(entry.path), "look at")?.changedAt
    }

    /// Returns the status of a file; `nil` if there is none of this name.
    func status(_ path: QueuePath, _ verb: String) throws(SpoolError) -> FileStatus? {
        do throws(Errno) {
            return try system.statusAt(root, path.bytes)
        } catch let error where error == .missing {
            return nil
        } catch {
            throw SpoolError(error, verb, path)
        }
    }

    func syncDirectory(_ path: QueuePath) throws(SpoolError) {
        try attempt("sync", path) { () throws(Errno) in try sync(path) }
    }

    /// Makes renames into a directory, and unlinks from it, durable.
    func sync(_ directory: QueuePath) throws(Errno) {
        try Self.withDescriptor(system, root, directory, O_RDONLY | O_DIRECTORY) { (descriptor) throws(Errno) in
            try system.fsync(descriptor)
        }
    }

    /// Reads bytes from this offset of the file on, as many as there are and fit behind those that are there already.
    /// Returns how many.
    func read(
        _ descriptor: Int32, into bytes: inout [UInt8], after filled: Int = 0, from offset: Int
    ) throws(Errno) -> Int {
        let outcome: Swift.Result<Int, Errno> = bytes.withUnsafeMutableBytes { buffer in
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            do throws(Errno) {
                return .success(try system.read(descriptor, rest, offset))
            } catch {
                return .failure(error)
            }
        }
        return try outcome.get()
    }

    /// Writes all bytes at the file's position, or from an offset on.
    func write(_ descriptor: Int32, _ bytes: [UInt8], at offset: Int? = nil) throws(Errno) {
        var written = 0
        while written < bytes.count {
            let outcome: Swift.Result<Int, Errno> = bytes.withUnsafeBytes { buffer in
                let rest = UnsafeRawBufferPointer(rebasing: buffer[written...])
                do throws(Errno) {
                    guard let offset else { return .success(try system.write(descriptor, rest)) }
                    return .success(try system.writeAt(descriptor, rest, offset + written))
                } catch {
                    return .failure(error)
                }
            }
            written += try outcome.get()
        }
    }

    /// Makes a new file with this mode whatever the umask; removes the file again if it cannot be completed.
    func createFile(_ path: QueuePath, _ bytes: [UInt8], mode: UInt32 = 0o600, durable: Bool) throws(Errno) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        do throws(Errno) {
            try Self.withDescriptor(system, root, path, flags) { (descriptor) throws(Errno) in
                try system.chmod(descriptor, mode)
                try write(descriptor, bytes)
                if durable { try system.fsync(descriptor) }
            }
        } catch {
            if error != .exists { try? system.unlink(root, path.bytes) }
            throw error
        }
    }

    /// The content of a file.
    enum Content {
        case bytes([UInt8], FileStatus)
        case notAFile(reason: String)
        case tooLong(Int)
        case missing
    }

    /// Reads a file. Never follows a link, never waits for a FIFO, never reads more than `limit` bytes or `readLimit`:
    /// a file without content can have any size.
    ///
    /// A file replaced or moved by another host since the look-up of its name is stale (NFS, GlusterFS), or missing
    /// although open (GlusterFS). So looks the name up again, for as long as such file systems believe their caches of
    /// names: about 2.5 s.
    func content(_ path: QueuePath, limit: Int) throws(Errno) -> Content {
        switch try contentOrFile(path, limit: limit, opened: .max) {
        case .content(let content): return content
        case .large: preconditionFailure("no file is longer than Int.max")
        }
    }

    /// The content of a file, or the open file itself if large.
    enum ContentOrFile {
        case content(Content)
        case large(OpenFile, FileStatus)
    }

    /// Returns what `content` returns. Does not read a file of more than `opened` bytes, unless too many are open.
    func contentOrFile(_ path: QueuePath, limit: Int, opened: Int) throws(Errno) -> ContentOrFile {
        for attempt in 0..<8 {
            do throws(Errno) {
                return try contentAtOnce(path, limit, opened)
            } catch let error where error == .stale || error == .missing {
                system.sleep(.milliseconds(10 << attempt))
            }
        }
        return try contentAtOnce(path, limit, opened)
    }

    private func contentAtOnce(_ path: QueuePath, _ limit: Int, _ opened: Int) throws(Errno) -> ContentOrFile {
        let descriptor: Int32
        do throws(Errno) {
            let place = openDirectories.place(of: path)
            descriptor = try system.open(
                place.directory, place.name.bytes, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
        } catch {
            switch error.code {
            case ENOENT: return .content(.missing)
            case ELOOP: return .content(.notAFile(reason: "it is a symbolic link"))
            case ENXIO: return .content(.notAFile(reason: "it is a socket"))
            default: throw error
            }
        }
        var file: OpenFile?
        defer { if file == nil { try? system.close(descriptor) } }
        let status = try system.status(descriptor)
        if let reason = status.kind.reason { return .content(.notAFile(reason: reason)) }
        if status.size > min(limit, Self.readLimit) { return .content(.tooLong(status.size)) }
        if status.size > opened, let large = openFile(descriptor) {
            file = large
            return .large(large, status)
        }
        // One byte more than the file should have, to notice a growing file.
        var bytes = [UInt8](repeating: 0, count: status.size +| 1)
        var count = 0
        // A read that fills the file's size is at the end, or the file has grown: more than the size was asked for.
        repeat {
            let got = try read(descriptor, into: &bytes, after: count, from: count)
            if got == 0 { break }
            count += got
        } while count < status.size
        bytes.removeLast(bytes.count - count)
        return .content(.bytes(bytes, status))
    }

    /// Upper bound on the queue's files that stay open, since descriptors are few. Further files are read.
    private static let mostOpenFiles = 64

    /// Keeps a descriptor open; `nil` if too many are.
    private func openFile(_ descriptor: Int32) -> OpenFile? {
        let (_, count) = openFiles.add(1, ordering: .relaxed)
        if count > Self.mostOpenFiles {
            openFiles.subtract(1, ordering: .relaxed)
            return nil
        }
        // File workers call these closures on their own threads, too.
        nonisolated(unsafe) let queue = self
        return OpenFile(
            descriptor,
            read: { descriptor, offset, space in
                do throws(Errno) { return try queue.system.read(descriptor, space, offset) } catch { return nil }
            },
            close: { descriptor in
                try? queue.system.close(descriptor)
                queue.openFiles.subtract(1, ordering: .relaxed)
            })
    }

    /// Whether the owner of a file may write the queue's own files: the user of this process, root, or the owner of the
    /// queue. Comments call every other owner "another user".
    func knowsOwner(of status: FileStatus) throws(Errno) -> Bool {
        if status.owner == system.user() || status.owner == 0 { return true }
        return try system.status(root).owner == status.owner
    }

    /// Returns the bytes of one of drainq's own files; `nil` if there is none.
    func readFile(_ path: QueuePath, limit: Int) throws(SpoolError) -> [UInt8]? {
        let content = try attempt("read", path) { () throws(Errno) in try self.content(path, limit: limit) }
        switch content {
        case .bytes(let bytes, _): return bytes
        case .missing: return nil
        case .notAFile(let reason): throw unusable(reason)
        case .tooLong(let size): throw unusable("it has \(size) bytes, and at most \(limit) are read")
        }
        func unusable(_ reason: String) -> SpoolError {
            SpoolError(kind: .notTheFile(reason), verb: "read", path: path.description, code: EIO)
        }
    }

    /// Moves a file in one step, without replacing a file. Throws `exists` if another file has the target's name
    /// already, and `missing` if the source is gone.
    ///
    /// If the file system lacks such a rename, links, syncs the target's directory, and unlinks. Two names of the same
    /// inode are an interrupted move; this call finishes the move. A call that reports an error may have taken effect
    /// (NFS: ESTALE, EIO): the names tell. With `isOwn` no other process moves the source, and a missing source tells
    /// as much.
    func move(_ from: QueuePath, _ to: QueuePath, isOwn: Bool = true) throws(Errno) {
        // The client of a shared file system remembers names for a second: it takes a name that it has just made for
        // missing, or a target that has gone for there.
        for attempt in 0..<8 where !fileSystem.isLocal {
            do throws(Errno) { return try moveOnce(from, to, isOwn) } catch let error where error == .missing {
                guard try lists(from) else { throw error }
                system.sleep(.milliseconds(10 << attempt))
            }
        }
        try moveOnce(from, to, isOwn)
    }

    private func moveOnce(_ from: QueuePath, _ to: QueuePath, _ isOwn: Bool) throws(Errno) {
        if renamesWithoutReplacing {
            do throws(Errno) {
                try system.renameNoReplace(root, from.bytes, to.bytes)
                return
            } catch let error where error == .invalid {
                renamesWithoutReplacing = false
            } catch let error where error == .exists {
                try finishMove(from, to)
                return
            } catch {
                guard isOwn || error != .missing, hasMoved(from, to) else { throw error }
                return
            }
        }
        do throws(Errno) {
            try system.link(root, from.bytes, to.bytes)
        } catch let error where error == .exists {
            try finishMove(from, to)
            return
        } catch let error where error == .notPermitted {
            // Directories cannot be linked. drainq makes up their targets' names, so the rename replaces nothing.
            if try exists(to) { throw .exists }
            return try replace(from, to)
        } catch {
            guard isSameFile(from, to) else { throw error }
        }
        do throws(Errno) {
            try sync(to.parent)
            try system.unlink(root, from.bytes)
        } catch {
            guard try isGone(from, after: error) else {
                // Undone, so a continuing caller does not see the file twice; but the last name always stays.
                try? system.unlink(root, to.bytes)
                throw error
            }
            // try?: then the target is not there. A run that has claimed the file between the two calls removes it.
            if !isOwn, (try? system.statusAt(root, to.bytes).links) != 1 { throw .missing }
        }
    }

    /// Whether the directory of a path lists its name. On a shared file system a stat of the path can say otherwise.
    func lists(_ path: QueuePath) throws(Errno) -> Bool {
        let name = path.nameBytes
        var isThere = false
        try system.list(root, path.parent.bytes) { listed in
            isThere = listed.elementsEqual(name)
            return !isThere
        }
        return isThere
    }

    /// Replaces the file that has the target's name. No other process moves the source: if the source is gone, the move
    /// has happened, whatever the call returned.
    func replace(_ from: QueuePath, _ to: QueuePath) throws(Errno) {
        do throws(Errno) { try system.rename(root, from.bytes, root, to.bytes) } catch {
            guard hasMoved(from, to) else { throw error }
        }
    }

    /// Whether a move that reported an error has happened: the source is gone and the target is there.
    private func hasMoved(_ from: QueuePath, _ to: QueuePath) -> Bool {
        // try?: the state is not known, and the first error counts.
        (try? exists(to) && !exists(from)) ?? false
    }

    /// Whether a link that reported an error was made.
    private func isSameFile(_ from: QueuePath, _ to: QueuePath) -> Bool {
        // try?: as above.
        (try? system.statusAt(root, from.bytes).isSameFile(as: system.statusAt(root, to.bytes))) ?? false
    }

    func exists(_ path: QueuePath) throws(Errno) -> Bool {
        do throws(Errno) {
            _ = try system.statusAt(root, path.bytes)
            return true
        } catch let error where error == .missing {
            return false
        }
    }

    private func finishMove(_ from: QueuePath, _ to: QueuePath) throws(Errno) {
        let source = try system.statusAt(root, from.bytes)
        guard try source.isSameFile(as: system.statusAt(root, to.bytes)) else { throw .exists }
        // A file with one name was renamed between the two calls: the source is gone.
        if source.links < 2 { throw .missing }
        try sync(to.parent)
        do throws(Errno) {
            try system.unlink(root, from.bytes)
        } catch {
            // Another process has finished the move, or NFS lost a reply, unless another process has the file.
            guard try isGone(from, after: error), try system.statusAt(root, to.bytes).links == 1 else { throw error }
        }
    }

    /// Whether the name that could not be removed is gone. After `missing` it is: to look for it again proves nothing,
    /// because this host's cache may still have it (GlusterFS).
    private func isGone(_ path: QueuePath, after error: Errno) throws(Errno) -> Bool {
        if error == .missing { return true }
        return try !exists(path)
    }
}
