import CSystem
import Policy

/// A file that holds a secret.
struct SecretFile {
    let path: String

    /// Upper bound on a secret, in bytes.
    static let limit = 65_536

    /// Returns the secret. Throws unless the file is a regular file of root, of this user or of the owner of the
    /// directory `base`, writable only by its owner and not readable by others. Its group may read it.
    ///
    /// Follows a symbolic link, because mounted secrets are symbolic links; checks the opened file.
    ///
    /// `isReplaced`: drainq writes new secrets to the file, so throws also if it cannot.
    func secret(base: String, isReplaced: Bool = false) throws(SecretDefect) -> String {
        let content = try content(base: base)
        if isReplaced {
            var status = stat()
            guard stat(path.rawCString, &status) == 0, access(path.rawCString, W_OK) == 0 else {
                throw defect("cannot be written: \(Errno(errno))")
            }
            try checkReplaceable(status)
        }
        return try SecretDefect.check(content, from: "'\(path)'")
    }

    /// Throws unless only its owner may read and write a file that drainq replaces.
    private func checkReplaceable(_ status: stat) throws(SecretDefect) {
        let mode = status.st_mode & 0o7777
        guard status.st_mode & S_IFMT == S_IFREG, mode & 0o077 == 0 else {
            throw defect("may be read or written by others (mode 0\(String(mode, radix: 8)), should be 0600)")
        }
    }

    /// Returns the content of a file that may hold a secret, at most one byte more than `limit`.
    func content(base: String) throws(SecretDefect) -> [UInt8] {
        let descriptor = open(path.rawCString, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw defect(Errno(errno)) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw defect(Errno(errno)) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw defect("is not a regular file") }
        // In a user namespace root has another number: the owner of the root directory.
        guard [0, geteuid(), owner(of: base), owner(of: "/")].contains(status.st_uid) else {
            throw defect("belongs to another user (uid \(status.st_uid))")
        }
        let mode = status.st_mode & 0o7777
        guard mode & 0o026 == 0 else {
            let digits = String(mode, radix: 8)
            let others = mode & 0o006 == 0 ? "is writable by its group" : "is readable or writable by others"
            throw defect("\(others) (mode 0\(digits), should be 0600 or 0640)")
        }
        do throws(Errno) {
            return try contents(of: descriptor, upTo: Self.limit + 1)
        } catch {
            throw defect(error)
        }
    }

    /// Writes a secret in place of the present one, and syncs the file. Throws unless only this user may read it.
    ///
    /// The file is written in place: drainq may have no right to its directory. Line breaks, which do not count, fill
    /// the file up to the present length, so that a reader at any moment, and one after a crash, finds the old or the
    /// new secret; a power cut can tear it only if the disk tears a write of this length.
    ///
    /// The file keeps its time of modification, so that it stays the file of the same login (`FileIdentity.login`).
    func replace(with secret: String) throws(SecretDefect) {
        let descriptor = open(path.rawCString, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { throw defect("cannot be written: \(Errno(errno))") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw defect(Errno(errno)) }
        try checkReplaceable(status)
        let text = Array(secret.utf8) + [0x0A]
        let present: Int
        do throws(Errno) {
            present = try contents(of: descriptor, upTo: Self.limit).count
        } catch {
            throw defect("cannot be read: \(error)")
        }
        let padding = max(0, present - text.count)
        let content = text + [UInt8](repeating: 0x0A, count: padding)
        let written = content.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        guard written == content.count, ftruncate(descriptor, off_t(text.count)) == 0,
            csystem_set_modified(descriptor, &status) == 0, fsync(descriptor) == 0
        else {
            throw defect("cannot be written: \(Errno(errno))")
        }
    }

    /// Locks the file, so that only one process uses a token that may be used once. Follows a file that is replaced
    /// meanwhile. Throws if another process keeps the lock for longer than a request for a token takes.
    func lock() throws(SecretDefect) -> Lock {
        let end = ContinuousClock.now + .seconds(12)
        while true {
            let descriptor = open(path.rawCString, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
            guard descriptor >= 0 else { throw defect(Errno(errno)) }
            let lock = Lock(descriptor: descriptor)
            if !lockFile(descriptor, until: end) {
                lock.release()
                throw SecretDefect(place: "'\(path)'", reason: "another process is using", delay: .zero)
            }
            var (locked, present) = (stat(), stat())
            if fstat(descriptor, &locked) == 0, stat(path.rawCString, &present) != 0 || present.st_ino == locked.st_ino
            {
                return lock
            }
            lock.release()
        }
    }

    /// A lock on the file, until its release.
    struct Lock {
        fileprivate let descriptor: Int32

        func release() { close(descriptor) }
    }

    private func defect(_ reason: String) -> SecretDefect { SecretDefect(place: "'\(path)'", reason: reason) }

    private func defect(_ error: Errno) -> SecretDefect {
        SecretDefect(
            place: "'\(path)'", reason: "cannot be read: \(error)",
            delay: NetworkError.shortage(behind: error) == nil ? nil : .zero)
    }

    private func owner(of path: String) -> uid_t? {
        var status = stat()
        return stat(path.rawCString, &status) == 0 ? status.st_uid : nil
    }
}
