import CSystem
import Drain
import Policy

/// A file or standard input. Reads it in pieces as they arrive, so that a pipeline gets its answers line by line.
final class InputSource {
    /// The name of the source in messages.
    let name: String
    private let descriptor: Int32

    /// Opens the file; `-` is standard input.
    init(_ path: String) throws {
        name = path == "-" ? "standard input" : path
        descriptor = path == "-" ? STDIN_FILENO : open(path.rawCString, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 {
            // A JSON value in the place of a file's name.
            let isValue = path.utf8.first.map("{[\"".utf8.contains) ?? false
            throw CommandFailure(
                .inputOutput, "cannot read '\(path)': \(Errno(errno))",
                hint: isValue ? "operands are files; a value comes by standard input" : nil)
        }
    }

    deinit {
        if descriptor != STDIN_FILENO { close(descriptor) }
    }

    /// Says that the command reads what is typed, if that is so: it would seem to hang.
    func noteTerminal() {
        if descriptor == STDIN_FILENO, isatty(descriptor) == 1 {
            Messages.notice("reads operations from the terminal; Ctrl-D on a line of its own ends them")
        }
    }

    /// Reads the next bytes, at least one; none at the end. Waits for them also if another process has made the
    /// descriptor non-blocking, which concerns every process that has it.
    func next(atMost count: Int) throws -> [UInt8] {
        while true {
            do throws(Errno) {
                return try someBytes(of: descriptor, atMost: count)
            } catch  where error.code == EAGAIN {
                waitUntilReady(descriptor, for: POLLIN)
            } catch {
                throw CommandFailure(.inputOutput, "cannot read '\(name)': \(error)")
            }
        }
    }

    /// Whether the next bytes, or the end, can be read without waiting.
    var isReady: Bool {
        var descriptor = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) > 0
    }

    /// Reads the remaining lines, without line breaks and a byte order mark. Throws if they exceed `limit` bytes.
    func lines(upTo limit: Int) throws -> [ArraySlice<UInt8>] {
        let bytes = try all(upTo: limit)
        return bytes.dropFirst(ByteOrderMark.length(in: bytes))
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    }

    /// Reads the remaining bytes. Throws if they are more than `limit`.
    func all(upTo limit: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let more = try next(atMost: max(65_536, min(bytes.count, 16 * 1_048_576)))
            if more.isEmpty { return bytes }
            bytes += more
            if bytes.count > limit {
                throw CommandFailure(.dataInvalid, "cannot use '\(name)': a value is longer than \(limit) bytes")
            }
        }
    }

    /// Opens each source and passes it to `read`. Calls `pause` before it throws, so that `add` and `import` queue the
    /// operations before the error.
    static func forEach(_ paths: [String], pause: () throws -> Void, read: (InputSource) throws -> Void) throws {
        for path in paths {
            do {
                let source = try InputSource(path)
                source.noteTerminal()
                try read(source)
            } catch {
                try pause()
                throw error
            }
        }
    }

    /// Reads the JSON values of the source to its end. Calls `pause` if the next bytes may come late, and `refuse` with
    /// the reason for a part that is not JSON.
    func forEachValue(
        upTo longest: Int, pause: () throws -> Void, refuse: (GivenValue, String) throws -> Void,
        take: (GivenValue) throws -> Void
    ) throws {
        var input = JSONInput(longest: longest)
        while true {
            if !isReady { try pause() }
            let chunk = try next(atMost: max(65_536, min(input.pending, 16 * 1_048_576)))
            for item in input.feed(chunk, atEnd: chunk.isEmpty) {
                switch item {
                case .value(let text, let line):
                    try take(GivenValue(text, GivenValue.Place(source: name, line: line)))
                case .bad(let text, let line, let mistake, let reason):
                    try refuse(
                        GivenValue(text, GivenValue.Place(source: name, line: line)),
                        mistake == line ? reason : "\(reason) in line \(mistake)")
                }
            }
            if chunk.isEmpty { return }
        }
    }
}
