import CSystem
package import Policy

/// Body files: files outside the queue that are sent as bodies, only with the content that they had.
///
/// The SHA-256 is the content's name. A file whose length, times and inode are the known ones is not
/// read for it.
extension SpoolDirectory {
    /// Reads the file at a path, and returns what it is now. Body files may be in the directories `roots`.
    ///
    /// Opens the file first, then asks for its path, and compares the path with the roots' own. So neither a symbolic
    /// link anywhere in the path nor a `..` leads outside, even if a link is changed meanwhile. The result has the open
    /// file's path. A missing or unreadable root allows nothing.
    package func bodyFile(at path: String, roots: [String]) -> Result<BodyFile, BodyFileRefusal> {
        do throws(BodyFileRefusal) {
            return .success(try examine(path, roots) { _ in true })
        } catch {
            return .failure(error)
        }
    }

    /// Returns the file as it can be sent now: with the content that it had when its operation was added, although
    /// another file with this content may have taken its place since.
    package func current(_ file: BodyFile, roots: [String]) -> Result<BodyFile, BodyFileRefusal> {
        do throws(BodyFileRefusal) {
            let existing = try examine(file.path, roots) { existing in
                file.sha256 != nil && existing.length == file.length && !existing.isUntouched(since: file)
            }
            guard existing.hasContent(of: file) else {
                throw .changed(length: existing.length, before: file.length)
            }
            // A foreign writer may have given another path to the same file.
            return .success(
                BodyFile(
                    path: file.path, length: file.length, modified: existing.modified, inode: existing.inode,
                    changed: existing.changed, sha256: file.sha256))
        } catch {
            return .failure(error)
        }
    }

    private func examine(
        _ path: String, _ roots: [String], _ needsContent: (BodyFile) -> Bool
    ) throws(BodyFileRefusal) -> BodyFile {
        do throws(BodyFileRefusal) {
            return try look(at: path, roots, needsContent)
        } catch {
            throw error == .missing ? refusal(ofMissing: path, roots) : error
        }
    }

    /// Returns why no file is at a path. A file has its real path, and a root may be a link: a root that cannot be
    /// opened may be the one of any file, unless the file lies in another root.
    private func refusal(ofMissing path: String, _ roots: [String]) -> BodyFileRefusal {
        var away: BodyFileRefusal?
        for root in roots {
            do throws(Errno) {
                if path.utf8.starts(with: try realPath(ofRoot: root)) { return .missing }
            } catch {
                away = away ?? .rootAway(root, error)
            }
        }
        return away ?? .missing
    }

    /// Looks at a file, and reads its content where `needsContent` says so.
    private func look(
        at path: String, _ roots: [String], _ needsContent: (BodyFile) -> Bool
    ) throws(BodyFileRefusal) -> BodyFile {
        if roots.isEmpty { throw .noRoots }
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else { throw .notAbsolute }
        // Checked before the open, which can have effects on a device.
        let kind = try asking { () throws(Errno) in try system.statusAt(AT_FDCWD, path.rawCString).kind }
        if kind != .regular { throw .notAFile(kind) }
        var allowed: [[UInt8]] = []
        for root in roots {
            do throws(Errno) { allowed.append(try realPath(ofRoot: root)) } catch {
                if !error.isAboutTheFile { throw .system(error) }
            }
        }
        let look = try asking { () throws(Errno) in
            try Self.withDescriptor(system, AT_FDCWD, QueuePath(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK) {
                (descriptor) throws(Errno) in
                Result { () throws(BodyFileRefusal) in try examine(descriptor, allowed, needsContent) }
            }
        }
        return try look.get()
    }

    private func examine(
        _ descriptor: Int32, _ allowed: [[UInt8]], _ needsContent: (BodyFile) -> Bool
    ) throws(BodyFileRefusal) -> BodyFile {
        let (status, real) = try asking { () throws(Errno) in
            (try statusWithSize(descriptor), try system.realPath(descriptor))
        }
        guard let status else { throw .withoutSize }
        if status.kind != .regular { throw .notAFile(status.kind) }
        if status.links == 0 { throw .missing }
        guard let text = String(validating: real, as: UTF8.self) else { throw .notReadable(Errno(EILSEQ)) }
        guard allowed.contains(where: { real.starts(with: $0) }) else { throw .outside(QueuePath.escaped(real)) }
        var file = BodyFile(path: text, length: status.size, status)
        if !needsContent(file) { return file }
        file.sha256 = try asking { () throws(Errno) in try digest(of: descriptor) }
        let after = try asking { () throws(Errno) in try system.status(descriptor) }
        guard BodyFile(path: text, length: after.size, after).isUntouched(since: file) else { throw .changing }
        return file
    }

    /// Reads the file to its end, and returns the SHA-256 of its content.
    private func digest(of descriptor: Int32) throws(Errno) -> String {
        var hash = SHA256()
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        var (offset, filled) = (0, 0)
        while true {
            let count = try read(descriptor, into: &buffer, after: filled, from: offset)
            (offset, filled) = (offset + count, filled + count)
            if count == 0 { return SHA256.hexadecimal(hash.digest(endingWith: buffer[..<filled])) }
            if filled == buffer.count {
                hash.update(buffer[...])
                filled = 0
            }
        }
    }

    /// Returns the status of an open file; `nil` for a file that has content although its size is 0.
    private func statusWithSize(_ descriptor: Int32) throws(Errno) -> FileStatus? {
        let status = try system.status(descriptor)
        if status.size > 0 || status.kind != .regular { return status }
        var byte: [UInt8] = [0]
        return try read(descriptor, into: &byte, from: 0) == 0 ? status : nil
    }

    /// Returns the root's real path with a slash at its end.
    private func realPath(ofRoot root: String) throws(Errno) -> [UInt8] {
        let real = try Self.withDescriptor(system, AT_FDCWD, QueuePath(root), O_RDONLY | O_DIRECTORY) {
            (descriptor) throws(Errno) in try system.realPath(descriptor)
        }
        return real.last == UInt8(ascii: "/") ? real : real + [UInt8(ascii: "/")]
    }

    private func asking<Result>(_ body: () throws(Errno) -> Result) throws(BodyFileRefusal) -> Result {
        do throws(Errno) { return try body() } catch { throw BodyFileRefusal(error) }
    }
}

extension BodyFile {
    fileprivate init(path: String, length: Int, _ status: FileStatus) {
        self.init(
            path: path, length: length, modified: status.modifiedNanoseconds, inode: status.inode,
            changed: status.changedAt.microseconds * 1000)
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
