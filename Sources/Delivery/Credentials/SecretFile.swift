import CSystem
import Policy

/// A file that holds a secret.
struct SecretFile {
    let path: String

    /// Upper bound on a secret, in bytes.
    static let limit = 65_536

    init(_ path: String) {
        self.path = path
    }

    /// Returns the secret. Throws unless the file is a regular file of root, of this user or of the owner of the
    /// directory `base`, writable only by its owner and not readable by others. Its group may read it.
    ///
    /// Follows a symbolic link, because mounted secrets are symbolic links; checks the file that was opened.
    func secret(base: String) throws(SecretDefect) -> String {
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
        let content: [UInt8]
        do throws(Errno) {
            content = try bytes(of: descriptor, limit: Self.limit + 1)
        } catch {
            throw defect(error)
        }
        return try SecretDefect.check(content, from: "'\(path)'")
    }

    private func defect(_ reason: String) -> SecretDefect { SecretDefect(place: "'\(path)'", reason: reason) }

    private func defect(_ error: Errno) -> SecretDefect {
        SecretDefect(
            place: "'\(path)'", reason: "cannot be read: \(error)", network: NetworkError.shortage(behind: error))
    }

    private func owner(of path: String) -> uid_t? {
        var status = stat()
        return stat(path.rawCString, &status) == 0 ? status.st_uid : nil
    }
}

/// Reads a descriptor to its end, at most `limit` bytes.
func bytes(of descriptor: Int32, limit: Int) throws(Errno) -> [UInt8] {
    var content: [UInt8] = []
    var failure: Errno?
    withUnsafeTemporaryAllocation(byteCount: 1 << 14, alignment: 1) { space in
        while content.count < limit {
            let count = read(descriptor, space.baseAddress, min(space.count, limit - content.count))
            if count > 0 {
                content.append(contentsOf: space[..<count])
            } else if count == 0 {
                return
            } else if errno != EINTR {
                failure = Errno(errno)
                return
            }
        }
    }
    if let failure { throw failure }
    return content
}
