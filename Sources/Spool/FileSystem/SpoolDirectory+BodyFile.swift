import CSystem
package import Policy

/// Body files: files outside the queue that are sent as bodies, only as long as they have not changed.
extension SpoolDirectory {
    /// Returns the file at a path now, without reading the file. Body files may be in the directories `roots`.
    ///
    /// Opens the file first, then asks for its path, and compares the path with the roots' own. So neither a symbolic
    /// link anywhere in the path nor a `..` leads outside, even if a link is changed meanwhile. The result has the open
    /// file's path. A missing or unreadable root allows nothing.
    package func bodyFile(at path: String, roots: [String]) -> Result<BodyFile, BodyFileRefusal> {
        do throws(BodyFileRefusal) {
            return .success(try examine(path, roots))
        } catch {
            return .failure(error)
        }
    }

    /// Returns why a file cannot be sent any more; `nil` if it is still what it was when its operation was added.
    package func check(_ file: BodyFile, roots: [String]) -> BodyFileRefusal? {
        switch bodyFile(at: file.path, roots: roots) {
        case .failure(let refusal): return refusal
        case .success(var existing):
            // A foreign writer may have given another path to the same file.
            existing.path = file.path
            return existing == file ? nil : .changed
        }
    }

    private func examine(_ path: String, _ roots: [String]) throws(BodyFileRefusal) -> BodyFile {
        if roots.isEmpty { throw .noRoots }
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else { throw .notAbsolute }
        // Checked before the open, which can have effects on a device.
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

    /// Returns the root's real path with a slash at its end; `nil` for a root that allows nothing.
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
    /// Sorts an error of the system: the fault of the path, or the system's own.
    fileprivate init(_ error: Errno) {
        self =
            switch error.code {
            case ENOENT, ENOTDIR: .missing
            case ELOOP: .notAFile(.symbolicLink)
            default: error.isAboutTheFile ? .notReadable(error) : .system(error)
            }
    }
}
