import CSystem
import Policy

/// A token that outlives its run: a file in a directory for this user's run-time files, never in the queue.
///
/// The file is locked while a token is fetched, so that only one of several runs asks for a token. The file is written
/// in place: after a crash it may be torn, and then counts as empty. A file readable or writable by others is not used,
/// nor a directory writable by others, nor a token outside its period of validity.
struct TokenFile: ~Copyable {
    private let descriptor: Int32

    /// Upper bound on the content, in bytes.
    private static let limit = 65_536

    /// Opens and locks the file of this name. `nil` if there is no trustworthy file, or another run keeps it locked for
    /// longer than `patience`: then a token is fetched and not kept.
    init?(_ name: String, in directory: RuntimeDirectory, patience: Duration) {
        guard let place = directory.descriptor() else { return nil }
        defer { close(place) }
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        let file = openat(place, name.rawCString, flags, 0o600)
        guard file >= 0 else { return nil }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_mode & 0o077 == 0, status.st_nlink == 1,
            lockFile(file, until: .now + patience)
        else {
            close(file)
            return nil
        }
        descriptor = file
    }

    deinit {
        // Closing releases the lock.
        close(descriptor)
    }

    /// Returns the token and its remaining lifetime; `nil` if there is no valid token that was made from these
    /// credentials.
    func token(at now: Timestamp, of credentials: RequestCredentials) -> OAuth2.Token? {
        guard lseek(descriptor, 0, SEEK_SET) == 0, let content = try? contents(of: descriptor, upTo: Self.limit),
            let document = try? JSONDocument(content),
            // The file has the syntax of an endpoint's answer.
            case .token(var token) = OAuth2.answer(
                in: AttemptReport(result: .answer(.init(status: 200, body: content)), duration: .zero), at: now),
            let from = Self.time("from", document), let until = Self.time("until", document), from <= now, now < until,
            case .string(credentials.mark(key: token.value))? = Self.value("of", document)
        else { return nil }
        token.lifetime = until - now
        return token
    }

    private static func time(_ name: String, _ document: JSONDocument) -> Timestamp? {
        guard case .string(let text)? = value(name, document) else { return nil }
        return Timestamp(compact: text)
    }

    private static func value(_ name: String, _ document: JSONDocument) -> JSONValue? {
        document.value(at: JSONPointer(tokens: [name]))
    }

    func forget() { ftruncate(descriptor, 0) }

    /// Writes a token and the mark of the credentials that it was made from. The token is the key of the mark: only a
    /// reader of the token can test guesses of the credentials. If the write fails, empties the file.
    func keep(_ value: String, of credentials: RequestCredentials, from now: Timestamp, until end: Timestamp) {
        let text =
            "{\"from\":\"\(now.compactMicroseconds)\",\"until\":\"\(end.compactMicroseconds)\",\"of\":"
            + "\"\(credentials.mark(key: value))\",\"access_token\":\(JSONText.quoted(value))}\n"
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else { return }
        let content = Array(text.utf8)
        if content.withUnsafeBytes({ write(descriptor, $0.baseAddress, $0.count) }) != content.count { forget() }
    }
}

/// Locks an open file. Returns false if another process keeps the lock until the time.
func lockFile(_ file: Int32, until end: ContinuousClock.Instant) -> Bool {
    while flock(file, LOCK_EX | LOCK_NB) != 0 {
        guard errno == EWOULDBLOCK || errno == EINTR, ContinuousClock.now < end else { return false }
        poll(nil, 0, 20)
    }
    return true
}

/// The directory of this user's run-time files, which do not survive a restart of the machine.
package struct RuntimeDirectory: Sendable {
    /// The absolute path of the directory.
    package let path: String
    /// Whether drainq creates the directory if it is missing. Its parent must exist.
    let isOurs: Bool

    /// Chooses the directory named by systemd in `RUNTIME_DIRECTORY`, or `drainq` in `XDG_RUNTIME_DIR`, or else
    /// `drainq-UID` in `TMPDIR` or `/tmp`.
    package init(environment: [String: String]) {
        func directory(_ variable: String) -> String? {
            environment[variable].flatMap { $0.begins(with: "/") ? $0 : nil }
        }
        if let given = directory("RUNTIME_DIRECTORY") {
            (path, isOurs) = (String(given.upTo(":")), false)
        } else if let given = directory("XDG_RUNTIME_DIR") {
            (path, isOurs) = ("\(given)/drainq", true)
        } else {
            (path, isOurs) = ("\(directory("TMPDIR") ?? "/tmp")/drainq-\(geteuid())", true)
        }
    }

    /// Opens the directory; `nil` if it is a symbolic link or another user's, or if others may write in it (or, if
    /// drainq creates it, read it).
    func descriptor() -> Int32? {
        if isOurs { mkdir(path.rawCString, 0o700) }
        let place = open(path.rawCString, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard place >= 0 else { return nil }
        var status = stat()
        guard fstat(place, &status) == 0, status.st_uid == geteuid(), status.st_mode & (isOurs ? 0o077 : 0o022) == 0
        else {
            close(place)
            return nil
        }
        return place
    }
}
