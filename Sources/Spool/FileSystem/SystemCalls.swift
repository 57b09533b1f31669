package import CSystem
import Policy

/// The system calls on the queue's files, as closures, so a test can fail the nth call. Only here they are retried
/// after EINTR. The clock, the chance and the threads of the queue are here too.
///
/// Paths are relative to the directory `Int32` before them. Descriptors are close-on-exec: a child that outlives a run
/// must not keep its lock. Only this file of Spool renames or unlinks.
package struct SystemCalls {
    package typealias Path = UnsafePointer<CChar>
    /// The error that a call throws.
    package typealias Failure = Errno

    package var open: (Int32, Path, Int32, UInt32) throws(Errno) -> Int32
    package var close: (Int32) throws(Errno) -> Void
    package var write: (Int32, UnsafeRawBufferPointer) throws(Errno) -> Int
    /// Writes at an offset, whatever the position.
    package var writeAt: (Int32, UnsafeRawBufferPointer, Int) throws(Errno) -> Int
    package var read: (Int32, UnsafeMutableRawBufferPointer, Int) throws(Errno) -> Int
    package var fsync: (Int32) throws(Errno) -> Void
    /// Syncs the whole file system; fails if anything written on it since the descriptor was opened was lost.
    package var syncfs: (Int32) throws(Errno) -> Void
    package var chmod: (Int32, UInt32) throws(Errno) -> Void
    /// Renames a name in the first directory to a name in the second.
    package var rename: (Int32, Path, Int32, Path) throws(Errno) -> Void
    package var renameNoReplace: (Int32, Path, Path) throws(Errno) -> Void
    package var link: (Int32, Path, Path) throws(Errno) -> Void
    package var unlink: (Int32, Path) throws(Errno) -> Void
    package var removeDirectory: (Int32, Path) throws(Errno) -> Void
    package var makeDirectory: (Int32, Path, UInt32) throws(Errno) -> Void
    package var status: (Int32) throws(Errno) -> FileStatus
    /// The status of the name itself; does not follow links.
    package var statusAt: (Int32, Path) throws(Errno) -> FileStatus
    /// The path of an open file, wherever links and renames have put it.
    package var realPath: (Int32) throws(Errno) -> [UInt8]
    /// The user as whom this process acts on files.
    package var user: () -> UInt32
    /// Takes the exclusive lock without waiting. Returns false if another opener has it.
    package var lock: (Int32) throws(Errno) -> Bool
    /// Releases the lock, even if a forked child that has not yet called exec has the descriptor too.
    package var unlock: (Int32) throws(Errno) -> Void
    /// Streams the names of a directory in its order, without dot names, until the closure returns false. The bytes are
    /// valid only until the closure returns.
    package var list: (Int32, Path, (UnsafeBufferPointer<UInt8>) -> Bool) throws(Errno) -> Void
    /// Streams the names as `list` does, with dot names except `.` and `..`.
    package var listAll: (Int32, Path, (UnsafeBufferPointer<UInt8>) -> Bool) throws(Errno) -> Void
    /// The bytes that an unprivileged user may still write to the file system.
    package var freeBytes: (Int32) throws(Errno) -> Int
    package var fileSystem: (Int32) -> FileSystem
    /// A text that tells this host from others, the same from boot to boot.
    package var host: () -> String
    /// A text that tells this boot of the machine from others; empty if the system has none.
    package var boot: () -> String
    /// The time since a fixed moment; it goes on while the machine sleeps.
    package var elapsed: () -> Duration
    package var sleep: (Duration) -> Void
    /// Returns 64 random bits. May be called from several threads at once.
    package var random: () -> UInt64
    /// Calls `work` once for each index below `count`, at most `width` of them at once, and returns after the last. The
    /// calls are on several threads, in any order.
    package var overlap: (_ count: Int, _ width: Int, _ work: (Int) -> Void) -> Void
}

extension SystemCalls {
    /// The chance of the queue, for the standard library's `random(in:using:)`.
    package var generator: Generator { Generator(bits: random) }

    package struct Generator: RandomNumberGenerator {
        let bits: () -> UInt64

        package mutating func next() -> UInt64 { bits() }
    }
}

extension SystemCalls {
    package static var real: SystemCalls {
        // Read once: no process of drainq changes it.
        let user = geteuid()
        return SystemCalls(
            open: { (directory, path, flags, mode) throws(Errno) in
                let file = try checked { openat(directory, path, flags | O_CLOEXEC, mode_t(mode)) }
                if user == 0, flags & O_CREAT != 0 { giveToOwner(of: directory, file) }
                return file
            },
            // After EINTR the descriptor is gone on Linux: closing again could close another one.
            close: { (descriptor) throws(Errno) in
                if CSystem.close(descriptor) < 0, errno != EINTR { throw Errno(errno) }
            },
            write: { (descriptor, bytes) throws(Errno) in
                try checked { posixWrite(descriptor, bytes.baseAddress, bytes.count) }
            },
            writeAt: { (descriptor, bytes, offset) throws(Errno) in
                try checked { pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(offset)) }
            },
            read: { (descriptor, buffer, offset) throws(Errno) in
                try checked { pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
            },
            fsync: { (descriptor) throws(Errno) in try checked { posixFsync(descriptor) } },
            syncfs: { (descriptor) throws(Errno) in try checked { csystem_syncfs(descriptor) } },
            chmod: { (descriptor, mode) throws(Errno) in try checked { fchmod(descriptor, mode_t(mode)) } },
            rename: { (directory, from, target, to) throws(Errno) in
                try checked { renameat(directory, from, target, to) }
            },
            renameNoReplace: { (directory, from, to) throws(Errno) in
                try checked { csystem_rename_noreplace(directory, from, directory, to) }
            },
            link: { (directory, from, to) throws(Errno) in try checked { linkat(directory, from, directory, to, 0) } },
            unlink: { (directory, path) throws(Errno) in try checked { unlinkat(directory, path, 0) } },
            removeDirectory: { (directory, path) throws(Errno) in
                try checked { unlinkat(directory, path, AT_REMOVEDIR) }
            },
            makeDirectory: { (directory, path, mode) throws(Errno) in
                try checked { mkdirat(directory, path, mode_t(mode)) }
                if user != 0 { return }
                let made = openat(directory, path, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                if made < 0 { return }
                giveToOwner(of: directory, made)
                _ = CSystem.close(made)
            },
            status: { (descriptor) throws(Errno) in
                var status = stat()
                try checked { fstat(descriptor, &status) }
                return FileStatus(&status)
            },
            statusAt: { (directory, path) throws(Errno) in
                var status = stat()
                try checked { fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW) }
                return FileStatus(&status)
            },
            realPath: { (descriptor) throws(Errno) in try openedPath(descriptor) },
            user: { user },
            lock: { (descriptor) throws(Errno) in
                do throws(Errno) {
                    try checked { flock(descriptor, LOCK_EX | LOCK_NB) }
                    return true
                } catch let error where error.code == EWOULDBLOCK {
                    return false
                }
            },
            unlock: { (descriptor) throws(Errno) in try checked { flock(descriptor, LOCK_UN) } },
            list: { (directory, path, body) throws(Errno) in
                try listNames(directory, path) { $0.first == UInt8(ascii: ".") || body($0) }
            },
            listAll: { (directory, path, body) throws(Errno) in try listNames(directory, path, body) },
            freeBytes: { (descriptor) throws(Errno) in
                var status = statvfs()
                try checked { fstatvfs(descriptor, &status) }
                return Int(clamping: UInt64(clamping: status.f_bavail) *| UInt64(clamping: status.f_frsize))
            },
            fileSystem: { FileSystem(of: $0) },
            host: { hostIdentity() },
            boot: { bootIdentity() },
            elapsed: { ContinuousClock.now - beginning },
            sleep: { duration in usleep(UInt32(clamping: duration.wholeMicroseconds)) },
            random: {
                var generator = SystemRandomNumberGenerator()
                return generator.next()
            },
            overlap: { (count, width, work) in
                withoutActuallyEscaping(work) { work in
                    let job = Job(work)
                    withExtendedLifetime(job) {
                        csystem_overlap(
                            count, width, { Job.at($0).work($1) }, Unmanaged.passUnretained(job).toOpaque())
                    }
                }
            })
    }
}

/// Gives what root has made in the queue to the queue's owner, whose runs could not read it otherwise. Leaves a file
/// with a second name: its other place may be anywhere.
private func giveToOwner(of directory: Int32, _ made: Int32) {
    var (owner, status) = (stat(), stat())
    guard directory >= 0, fstat(directory, &owner) == 0, owner.st_uid != 0, fstat(made, &status) == 0,
        status.st_uid == 0, status.st_nlink == 1 || status.st_mode & S_IFMT == S_IFDIR
    else { return }
    _ = fchown(made, owner.st_uid, owner.st_gid)
}

private let beginning = ContinuousClock.now

/// The work that C's threads are given.
private final class Job {
    let work: (Int) -> Void

    init(_ work: @escaping (Int) -> Void) { self.work = work }

    static func at(_ address: UnsafeMutableRawPointer?) -> Job {
        Unmanaged.fromOpaque(address!).takeUnretainedValue()
    }
}

/// Calls again after EINTR, and throws what `errno` says of any other failure.
@discardableResult
private func checked<Result: FixedWidthInteger>(_ call: () -> Result) throws(Errno) -> Result {
    while true {
        let result = call()
        if result >= 0 { return result }
        if errno != EINTR { throw Errno(errno) }
    }
}

private func posixWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}

private func posixFsync(_ descriptor: Int32) -> Int32 {
    fsync(descriptor)
}

private func openedPath(_ descriptor: Int32) throws(Errno) -> [UInt8] {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    #if os(Linux)
        let count: Int
        do throws(Errno) {
            count = try checked { readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count) }
        } catch let error where error == .missing {
            // /proc is missing, not the file.
            throw Errno(ENOSYS)
        }
        if count == buffer.count { throw Errno(ENAMETOOLONG) }
    #else
        try checked { fcntl(descriptor, F_GETPATH, &buffer) }
        let count = strlen(buffer)
    #endif
    return buffer[..<Int(count)].map { UInt8(bitPattern: $0) }
}

private func listNames(
    _ directory: Int32, _ path: SystemCalls.Path, _ body: (UnsafeBufferPointer<UInt8>) -> Bool
) throws(Errno) {
    let descriptor = try checked { openat(directory, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
    guard let stream = fdopendir(descriptor) else {
        let code = errno
        close(descriptor)
        throw Errno(code)
    }
    defer { closedir(stream) }
    while true {
        errno = 0
        guard let entry = readdir(stream) else {
            if errno == 0 { return }
            if errno == EINTR { continue }
            throw Errno(errno)
        }
        // d_name is shorter in memory than its declared type says, so the tuple must not be copied.
        let start = UnsafeRawPointer(entry).advanced(by: MemoryLayout<dirent>.offset(of: \dirent.d_name)!)
            .assumingMemoryBound(to: UInt8.self)
        let name = UnsafeBufferPointer(
            start: start, count: strlen(UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self)))
        if name[0] == UInt8(ascii: "."), name.elementsEqual(".".utf8) || name.elementsEqual("..".utf8) { continue }
        if !body(name) { return }
    }
}

extension FileStatus {
    fileprivate init(_ status: inout stat) {
        let kind: Kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            case S_IFIFO: .fifo
            case S_IFSOCK: .socket
            default: .other
            }
        self.init(
            kind: kind, size: Int(clamping: status.st_size), links: Int(clamping: status.st_nlink),
            device: UInt64(truncatingIfNeeded: status.st_dev),
            inode: UInt64(truncatingIfNeeded: status.st_ino), owner: status.st_uid,
            permissions: UInt32(status.st_mode & 0o777), isSticky: status.st_mode & S_ISVTX != 0,
            setsGroup: status.st_mode & S_ISGID != 0,
            modifiedNanoseconds: csystem_modified(&status),
            changedAt: Timestamp(microseconds: csystem_changed(&status) / 1000))
    }
}
