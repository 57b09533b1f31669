import CSystem
import Policy
import Synchronization

/// Single files: what every function of the queue is made of.
extension SpoolDirectory {
    /// Names what was being done, and to which path, when the system refuses.
    func attempt<Result>(
        _ verb: String, _ path: QueuePath, _ body: () throws(Errno) -> Result
    ) throws(SpoolError) -> Result {
        do throws(Errno) {
            return try body()
        } catch {
            throw SpoolError(error, verb, path)
        }
    }

    /// Opens, calls, and closes with the close checked: NFS reports a lost write there.
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

    /// `nil` if there is nothing of that name.
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

    /// Makes what was renamed into, or unlinked from, a directory durable.
    func sync(_ directory: QueuePath) throws(Errno) {
        try Self.withDescriptor(system, root, directory, O_RDONLY | O_DIRECTORY) { (descriptor) throws(Errno) in
            try system.fsync(descriptor)
        }
    }

    func write(_ descriptor: Int32, _ bytes: [UInt8]) throws(Errno) {
        var written = 0
        while written < bytes.count {
            let outcome: Swift.Result<Int, Errno> = bytes.withUnsafeBytes { buffer in
                do throws(Errno) {
                    return .success(try system.write(descriptor, UnsafeRawBufferPointer(rebasing: buffer[written...])))
                } catch {
                    return .failure(error)
                }
            }
            written += try outcome.get()
        }
    }

    /// A new file with this mode whatever the umask; removed again if it cannot be completed.
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

    /// What a file holds. Never follows a link, never waits for a FIFO, never reads beyond `limit` bytes, nor beyond
    /// `readLimit`: a file without content can have any size.
    enum Content {
        case bytes([UInt8], FileStatus)
        case notAFile(reason: String)
        case tooLong(Int)
        case missing
    }

    /// What another host has replaced or moved since its name was looked up is stale (NFS, GlusterFS), or missing although it
    /// is open (GlusterFS): the name is looked up again, for as long as such file systems believe what they remember of
    /// names.
    func content(_ path: QueuePath, limit: Int) throws(Errno) -> Content {
        switch try contentOrFile(path, limit: limit, opened: .max) {
        case .content(let content): return content
        case .large: preconditionFailure("no file is longer than Int.max")
        }
    }

    /// What a file holds, or the open file where it is large.
    enum ContentOrFile {
        case content(Content)
        case large(OpenFile, FileStatus)
    }

    /// Returns what `content` returns; of a file of more than `opened` bytes nothing is read, unless too many
    /// are open.
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
            descriptor = try system.open(root, path.bytes, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0)
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
        // One byte more than it should have: a file that grows meanwhile is seen to.
        var bytes = [UInt8](repeating: 0, count: status.size +| 1)
        var count = 0
        // More than its size was asked for: what is at least that long is at its end, or has grown.
        repeat {
            let offset = count
            let outcome: Swift.Result<Int, Errno> = bytes.withUnsafeMutableBytes { buffer in
                do throws(Errno) {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[offset...])
                    return .success(try system.read(descriptor, rest, offset))
                } catch {
                    return .failure(error)
                }
            }
            let got = try outcome.get()
            if got == 0 { break }
            count += got
        } while count < status.size
        bytes.removeLast(bytes.count - count)
        return .content(.bytes(bytes, status))
    }

    /// Upper bound on the files that stay open in this process: descriptors are few. What is beyond is read.
    private static let mostOpenFiles = 64
    private static let openFiles = Atomic(0)

    /// Keeps a descriptor open; `nil` where too many are.
    private func openFile(_ descriptor: Int32) -> OpenFile? {
        let (_, count) = Self.openFiles.add(1, ordering: .relaxed)
        if count > Self.mostOpenFiles {
            Self.openFiles.subtract(1, ordering: .relaxed)
            return nil
        }
        // File workers call these on threads of theirs, too.
        nonisolated(unsafe) let system = system
        return OpenFile(
            descriptor,
            read: { descriptor, offset, space in
                do throws(Errno) { return try system.read(descriptor, space, offset) } catch { return nil }
            },
            close: { descriptor in
                try? system.close(descriptor)
                Self.openFiles.subtract(1, ordering: .relaxed)
            })
    }

    /// Whether a file belongs to somebody who may write the queue's own files: the user of this process, root, or the
    /// owner of the queue.
    func knowsOwner(of status: FileStatus) throws(Errno) -> Bool {
        if status.owner == system.user() || status.owner == 0 { return true }
        return try system.status(root).owner == status.owner
    }

    /// The bytes of a file of ours; `nil` if there is none.
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

    /// Moves without replacing, in one step. Throws `exists` if something else has the target's name already, and
    /// `missing` if the source is gone.
    ///
    /// Where the file system cannot do that: link, sync the target's directory, unlink; two names of one inode are
    /// that move, interrupted, and are finished here. `isOwn` says that nobody else moves the source, so that a source
    /// which is gone while the target is there means that it has happened, whatever the call said.
    func move(_ from: QueuePath, _ to: QueuePath, isOwn: Bool = true) throws(Errno) {
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
                // A reply lost on the way (NFS): it has happened if the source is gone and the target is there.
                let happened = isOwn && ((try? exists(to) && !exists(from)) ?? false)
                if !happened { throw error }
                return
            }
        }
        do throws(Errno) {
            try system.link(root, from.bytes, to.bytes)
        } catch let error where error == .exists {
            try finishMove(from, to)
            return
        } catch let error where error == .notPermitted {
            // Directories cannot be linked. Their targets are names made up by us, so nothing is replaced.
            if try exists(to) { throw .exists }
            try system.rename(root, from.bytes, to.bytes)
            return
        }
        do throws(Errno) {
            try sync(to.parent)
            try system.unlink(root, from.bytes)
        } catch {
            // Undone, so that a caller who goes on does not see it twice; but never the only name that is left.
            guard try exists(from) else { return }
            try? system.unlink(root, to.bytes)
            throw error
        }
    }

    /// Replaces what has the target's name. Nobody else moves the source: one that is gone has been moved, though the call,
    /// sent again after a reply was lost on the way (NFS), says that it was missing.
    func replace(_ from: QueuePath, _ to: QueuePath) throws(Errno) {
        do throws(Errno) {
            try system.rename(root, from.bytes, to.bytes)
        } catch let error where error == .missing {
            guard try exists(to), try !exists(from) else { throw error }
        }
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
        // A file with one name was renamed between the two looks: the source is gone.
        if source.links < 2 { throw .missing }
        try sync(to.parent)
        do throws(Errno) {
            try system.unlink(root, from.bytes)
        } catch {
            // A reply lost on the way (NFS): it has happened if the source is gone, and nobody else has the file.
            guard try !exists(from), try system.statusAt(root, to.bytes).links == 1 else { throw error }
        }
    }
}
