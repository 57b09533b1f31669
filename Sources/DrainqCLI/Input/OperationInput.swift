import Policy
import Spool

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What `add` and `send` are given, as operations: a JSON value each, a body, or a file that stays where it is.
struct OperationInput {
    /// One operation of the input, or a part of it that is none.
    enum Item {
        case operation(Given)
        /// `text` is how it was given; empty where it is a file that is still there.
        case refused(text: [UInt8], place: Place, reason: String)
        /// A body file that cannot be used.
        case refusedFile(String, BodyFileRefusal)
    }

    struct Place {
        var source: String
        var line: Int
    }

    struct Given {
        var operation: Operation
        /// A person chose the id: one that is in the queue already is the same operation.
        var hasOwnID: Bool
        /// As it was given; empty for a file that is still there.
        var text: [UInt8]
        var place: Place
        /// When it was given; the times of one input increase.
        var at: Timestamp

        var submission: Submission {
            Submission(operation, hasOwnID: hasOwnID, at: at, isDated: operation.header.createdAt != at)
        }
    }

    /// A single value longer than this is refused before it fills the memory.
    private static let longestValue = 256 * 1_048_576

    private let queue: OpenQueue
    private let command: ParsedCommand
    private let id: OperationID?
    private let notBefore: Timestamp?
    private let expiresAt: Timestamp?
    private var last = Timestamp(microseconds: 0)
    private var values = 0
    /// Names of fields that have been warned of.
    private var warned: Set<String> = []

    init(queue: OpenQueue, command: ParsedCommand) {
        self.queue = queue
        self.command = command
        let now = Timestamp.now()
        id = command.operationID(.id)
        notBefore = command.time(.at, now: now) ?? command.duration(.delay).map { now + $0 }
        expiresAt = command.time(.expires, now: now)
    }

    /// Reads all that the command line names, standard input where it names nothing. `pause` is called where the next
    /// part of the input may be long in coming.
    mutating func read(_ take: (Item) throws -> Void, pause: () throws -> Void = {}) throws {
        let files = command.texts(.bodyFile)
        if let operand = command.operands.first, !files.isEmpty {
            throw CommandFailure(
                .usage, "'\(operand)' and '--body-file' exclude each other",
                hint: "a body is read now, from operands, or when it is sent, from --body-file")
        }
        for path in files { try read(bodyFile: path, take) }
        for path in command.operands.isEmpty && files.isEmpty ? ["-"] : command.operands {
            try read(from: path, take, pause)
        }
        if id != nil, values > 1 {
            throw CommandFailure(.usage, "--id is for a single operation", hint: "use --envelope for ids of their own")
        }
    }

    // MARK: - Sources

    private mutating func read(from path: String, _ take: (Item) throws -> Void, _ pause: () throws -> Void) throws {
        let source = try InputSource(path)
        if command.isGiven(.contentType), !command.flag(.envelope) {
            // The source is one body, whatever its bytes are.
            let body = try source.all(upTo: Self.longestValue)
            try give(
                body, Place(source: source.name, line: 1), Operation(header: newHeader(), body: body),
                hasOwnID: false, take)
            return try pause()
        }
        var input = JSONInput()
        while true {
            let chunk = try source.next(atMost: max(65_536, min(input.pending, 16 * 1_048_576)))
            for item in input.feed(chunk, atEnd: chunk.isEmpty) { try read(item, source.name, take) }
            if chunk.isEmpty || !source.isReady { try pause() }
            if chunk.isEmpty { break }
            if input.pending > Self.longestValue {
                throw CommandFailure(
                    .dataInvalid, "cannot read '\(source.name)': a value is longer than \(Self.longestValue) bytes")
            }
        }
    }

    private mutating func read(_ item: JSONInput.Item, _ source: String, _ take: (Item) throws -> Void) throws {
        switch item {
        case .bad(let text, let line, let mistake, let reason):
            let reason = mistake == line ? reason : "\(reason) in line \(mistake)"
            try take(.refused(text: text, place: Place(source: source, line: line), reason: reason))
        case .value(let text, let line):
            let place = Place(source: source, line: line)
            guard command.flag(.envelope) else {
                return try give(text, place, Operation(header: newHeader(), body: text), hasOwnID: false, take)
            }
            var envelope: (operation: Operation, hasOwnID: Bool)
            let header = newHeader()
            do throws(OperationFileError) {
                envelope = try Envelope.operation(
                    from: text, in: 0..<text.count, file: source, line: line,
                    defaults: Envelope.Defaults(id: header.id, createdAt: header.createdAt, type: header.type),
                    isMarked: true, bodyFile: examine)
            } catch {
                return try take(.refused(text: text, place: place, reason: error.detail))
            }
            warn(of: envelope.operation.header.unknown.map(\.name), place)
            try give(text, place, envelope.operation, hasOwnID: envelope.hasOwnID, take)
        }
    }

    /// Warns of fields that are no fields of an operation but nearly so, once for each name. They are kept.
    private mutating func warn(of unknown: [String], _ place: Place) {
        for name in unknown where warned.count < 10 && !warned.contains(name) {
            guard let meant = nearest(to: name, in: Envelope.fields) else { continue }
            warned.insert(name)
            Messages.warning(
                "line \(place.line) of '\(place.source)': '\(name)' is no field of an operation, and means nothing",
                hint: "did you mean '\(meant)'?")
        }
    }

    /// The file stays where it is, and is the body of one operation.
    private mutating func read(bodyFile path: String, _ take: (Item) throws -> Void) throws {
        switch examine(bodyFile: path.utf8.first == UInt8(ascii: "/") ? path : "\(absolutePath("."))/\(path)") {
        case .success(let file):
            var header = newHeader()
            header.bodyFile = file
            header.contentType = nil
            try give(
                [], Place(source: path, line: 1), Operation(header: header, body: []), hasOwnID: false, take)
        case .failure(let refusal): try take(.refusedFile(path, refusal))
        }
    }

    private func examine(bodyFile path: String) -> Result<BodyFile, BodyFileRefusal> {
        queue.spool.bodyFile(at: path, roots: queue.configuration.bodyFileRoots)
    }

    // MARK: - Operations

    /// What the command line says wins over what an envelope says.
    private mutating func give(
        _ text: [UInt8], _ place: Place, _ operation: Operation, hasOwnID: Bool, _ take: (Item) throws -> Void
    ) throws {
        values += 1
        if id != nil, values > 1 { return }
        var operation = operation
        override(&operation.header)
        try take(
            .operation(
                Given(operation: operation, hasOwnID: hasOwnID || id != nil, text: text, place: place, at: last)))
    }

    /// The header of the next operation, with a creation time after all before it.
    private mutating func newHeader() -> OperationHeader {
        last = max(.now(), last + .microseconds(1))
        return OperationHeader(
            id: id ?? .random(),
            type: command.typeNames(.type).last ?? .default, createdAt: last,
            contentType: command.text(.contentType) ?? "application/json")
    }

    private func override(_ header: inout OperationHeader) {
        if command.isGiven(.type), let type = command.typeNames(.type).last { header.type = type }
        if let key = command.text(.key) { header.key = key }
        if let url = command.text(.url) { header.url = url }
        if let method = command.text(.method) { header.method = method }
        if let contentType = command.text(.contentType) { header.contentType = contentType }
        header.headers += command.headers(.header)
        if let notBefore { header.notBefore = notBefore }
        if let expiresAt { header.expiresAt = expiresAt }
    }
}
