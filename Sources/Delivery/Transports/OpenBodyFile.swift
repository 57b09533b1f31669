package import CSystem
package import Policy

/// An open body file, which had the operation's size, modification time and inode when it was opened.
///
/// Checked again before its last bytes are returned, so a request whose body has changed meanwhile never arrives whole:
/// also by the time of change, because a writer can set the modification time back.
final class OpenBodyFile: StreamedBody {
    let file: BodyFile
    private let descriptor: Int32
    /// The time of the last change of the inode when the file was opened, in nanoseconds since 1970.
    private let changed: Int64

    init(_ file: BodyFile) throws(BodyFileError) {
        self.file = file
        // O_NONBLOCK: does not wait for a FIFO in the file's place.
        descriptor = open(file.path.rawCString, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw BodyFileError(errno, opening: file) }
        var status = stat()
        changed = fstat(descriptor, &status) == 0 ? csystem_changed(&status) : 0
        try verify()
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Reads from `offset` on. Returns 0 only at the end.
    func read(at offset: Int, into space: UnsafeMutableRawBufferPointer) throws(BodyFileError) -> Int {
        let wanted = min(space.count, file.length - offset)
        guard wanted > 0 else { return 0 }
        var count = -1
        repeat { count = pread(descriptor, space.baseAddress, wanted, off_t(offset)) } while count < 0 && errno == EINTR
        if count < 0 { throw BodyFileError(errno, reading: file) }
        if count == 0 || offset + count == file.length { try verify() }
        if count == 0 { throw BodyFileError(changed: file) }
        return count
    }

    private func verify() throws(BodyFileError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw BodyFileError(errno, reading: file) }
        let isRegular = status.st_mode & S_IFMT == S_IFREG
        guard isRegular, Int(clamping: status.st_size) == file.length, csystem_modified(&status) == file.modified,
            UInt64(truncatingIfNeeded: status.st_ino) == file.inode
        else { throw BodyFileError(changed: file) }
        guard csystem_changed(&status) == changed else { throw BodyFileError(touched: file) }
    }
}

/// The reason why a body file is not sent, or not to its end.
struct BodyFileError: Error, CustomStringConvertible {
    /// The meaning: `bodyFileChanged` if the file differs from the operation's or may not be read, an error of this
    /// machine if it cannot open the file, and `cancelled` if it cannot go on to read it, after a part may have left.
    var name: NetworkError
    var description: String

    fileprivate init(changed file: BodyFile) {
        name = .bodyFileChanged
        description = "the body file '\(file.path)' has changed since it was added"
    }

    /// The next attempt finds out whether the content is another one.
    fileprivate init(touched file: BodyFile) {
        name = .cancelled
        description = "the body file '\(file.path)' was changed while it was sent"
    }

    init(_ code: Int32, opening file: BodyFile) {
        name = NetworkError(openingBodyFile: Errno(code))
        description = "cannot open the body file '\(file.path)': \(Errno(code))"
    }

    fileprivate init(_ code: Int32, reading file: BodyFile) {
        name = .cancelled
        description = "cannot read the body file '\(file.path)': \(Errno(code))"
    }

    init(unreadable description: String) {
        name = .cancelled
        self.description = description
    }

    var result: AttemptReport.Result { .failure(name, detail: description) }
}

extension NetworkError {
    /// Names the error of opening a body file: the file's, or this machine's.
    package init(openingBodyFile error: Errno) {
        self = error.isAboutTheFile ? .bodyFileChanged : Self.ofThisMachine(error.code) ?? .machine
    }
}
