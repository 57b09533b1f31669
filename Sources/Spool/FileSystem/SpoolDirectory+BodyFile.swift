import CSystem
package import Policy

/// Files that are bodies: they stay where they are, and are sent only while they are what they were.
extension SpoolDirectory {
    /// What a path stands for now. `roots` are the directories that such files may be in; nothing is read.
    ///
    /// The file is opened first and asked for its path then, which is what is compared with the roots' own: neither a
    /// symbolic link anywhere in the path nor a `..` leads outside, also not by being changed meanwhile. The result has
    /// that path. A root that is not there, or that may not be read, allows nothing.
    package func bodyFile(at path: String, roots: [String]) -> Result<BodyFile, BodyFileRefusal> {
        do throws(BodyFileRefusal) {
            return .success(try examine(path, roots))
        } catch {
            return .failure(error)
        }
    }

    /// Why a file cannot be sent any more; `nil` if it still is what it was when its operation was added.
    package func check(_ file: BodyFile, roots: [String]) -> BodyFileRefusal? {
        switch bodyFile(at: file.path, roots: roots) {
        case .failure(let refusal): return refusal
        case .success(var standing):
            // The path of a foreign writer may be another one to the same file.
            standing.path = file.path
            return standing == file ? nil : .changed
        }
    }

    private func examine(_ path: String, _ roots: [String]) throws(BodyFileRefusal) -> BodyFile {
        if roots.isEmpty { throw .noRoots }
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else { throw .notAbsolute }
        // Looked at before it is opened: opening a device can have effects.
        let kind = try asking { () throws(Errno) in try system.statusAt(AT_FDCWD, path.rawCString).kind }
        if kind != .regular { throw .notAFile(kind) }
        let (status, real) = try asking { () throws(Errno) in
            try Self.withDescriptor(system, AT_FDCWD, QueuePath(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK) {
                (descriptor) throws(Errno) in (try system.status(descriptor), try system.realPath(descriptor))
            }
        }
        if status.kind != .regular { throw .notAFile(status.kind) }
        if status.links == 0 { throw .missing }
        guard let text = String(validating: real, as: UTF8.self) else { throw .notReadable(Errno(EILSEQ)) }
        for root in roots {
            guard let root = try realPath(ofRoot: root), real.starts(with: root) else { continue }
            return BodyFile(
                path: text, length: status.size, modified: status.modifiedNanoseconds, inode: status.inode)
        }
        throw .outside(QueuePath.escaped(real))
    }

    /// With the slash that ends it; `nil` for a root that allows nothing.
    private func realPath(ofRoot root: String) throws(BodyFileRefusal) -> [UInt8]? {
        do throws(BodyFileRefusal) {
            let real = try asking { () throws(Errno) in
                try Self.withDescriptor(system, AT_FDCWD, QueuePath(root), O_RDONLY | O_DIRECTORY) {
                    (descriptor) throws(Errno) in try system.realPath(descriptor)
                }
            }
            return real.last == UInt8(ascii: "/") ? real : real + [UInt8(ascii: "/")]
        } catch {
            if case .system = error { throw error }
            return nil
        }
    }

    private func asking<Result>(_ body: () throws(Errno) -> Result) throws(BodyFileRefusal) -> Result {
        do throws(Errno) { return try body() } catch { throw BodyFileRefusal(error) }
    }
}

extension BodyFileRefusal {
    /// What the system says of a path is the path's fault, or the system's own.
    fileprivate init(_ error: Errno) {
        self =
            switch error.code {
            case ENOENT, ENOTDIR: .missing
            case ELOOP: .notAFile(.symbolicLink)
            case EACCES, EPERM, EINVAL, ENAMETOOLONG, ENXIO: .notReadable(error)
            default: .system(error)
            }
    }
}
