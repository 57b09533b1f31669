import Policy
import Spool

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `drainq add`: one operation per JSON value of the files or of standard input, answered only when it is safe.
func add(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(command, environment)
        var addition = Addition(queue: queue, command: command)
        let files = command.texts(.bodyFile)
        if let operand = command.operands.first, !files.isEmpty {
            throw CommandFailure(
                .usage, "'\(operand)' and '--body-file' exclude each other",
                hint: "a body is read now, from operands, or when it is sent, from --body-file")
        }
        for path in files { try addition.take(bodyFile: path) }
        let sources = command.operands.isEmpty && files.isEmpty ? ["-"] : command.operands
        for source in sources { try addition.take(from: source) }
        try addition.finish()
        return addition.status
    }
}

/// The work of one `add`: values in, batches to the spool, one answer for each.
private struct Addition {
    /// So many operations share one sync of the directory, unless the input pauses before.
    private static let batchSize = 1000
    /// A single value longer than this is refused before it fills the memory.
    private static let longestValue = 256 * 1_048_576

    private struct Pending {
        var operation: Operation
        var hasOwnID: Bool
        var source: String
        var line: Int
    }

    let queue: OpenQueue
    let command: ParsedCommand
    private let isAtomic: Bool
    /// Nothing is accepted before all of the input has been seen.
    private var gathersAll: Bool { isAtomic || command.operationID(.id) != nil }
    private let notBefore: Timestamp?
    private let expiresAt: Timestamp?
    private var batch: [Pending] = []
    private var last = Timestamp(microseconds: 0)
    private var applying: Set<ExitStatus> = []
    private var values = 0

    var status: ExitStatus { .first(of: applying) }

    init(queue: OpenQueue, command: ParsedCommand) {
        self.queue = queue
        self.command = command
        let now = Timestamp.now()
        isAtomic = command.flag(.atomic)
        notBefore = command.time(.at, now: now) ?? command.duration(.delay).map { now + $0 }
        expiresAt = command.time(.expires, now: now)
    }

    mutating func take(from path: String) throws {
        let source = try InputSource(path)
        if let mediaType = command.text(.contentType), !command.flag(.envelope) {
            return try takeWhole(source, mediaType)
        }
        var input = JSONInput()
        while true {
            let chunk = try source.next(atMost: max(65_536, min(input.pending, 16 * 1_048_576)))
            for item in input.feed(chunk, atEnd: chunk.isEmpty) { try take(item, source.name) }
            if !gathersAll { try flush() }
            if chunk.isEmpty { break }
            if input.pending > Self.longestValue {
                throw CommandFailure(
                    .dataInvalid, "cannot add from '\(source.name)': a value is longer than \(Self.longestValue) bytes")
            }
        }
    }

    mutating func finish() throws {
        if isAtomic, applying.contains(.dataInvalid) {
            throw CommandFailure(.dataInvalid, "nothing was added", hint: "--atomic accepts all or none")
        }
        if command.operationID(.id) != nil, values > 1 {
            throw CommandFailure(.usage, "--id is for a single operation", hint: "use --envelope for ids of their own")
        }
        try flush()
    }

    // MARK: - Input

    /// `--content-type`: the source is one body, whatever its bytes are.
    private mutating func takeWhole(_ source: InputSource, _ mediaType: String) throws {
        let body = try source.all(upTo: Self.longestValue)
        values += 1
        let hasOwnID = command.operationID(.id) != nil
        if hasOwnID, values > 1 { return }
        var header = newHeader()
        override(&header)
        let operation = Operation(header: header, body: body)
        try take(Pending(operation: operation, hasOwnID: hasOwnID, source: source.name, line: 1), as: body)
        if !gathersAll { try flush() }
    }

    /// `--body-file`: the file stays where it is, and is the body of one operation.
    mutating func take(bodyFile path: String) throws {
        values += 1
        let hasOwnID = command.operationID(.id) != nil
        if hasOwnID, values > 1 { return }
        var header = newHeader()
        header.contentType = nil
        override(&header)
        switch examine(bodyFile: URL(filePath: path).path) {
        case .success(let file):
            header.bodyFile = file
            let operation = Operation(header: header, body: [])
            try take(Pending(operation: operation, hasOwnID: hasOwnID, source: path, line: 1), as: [])
        case .failure(let refusal):
            // There is nothing to keep: the file is where it was.
            if case .system = refusal { applying.insert(.inputOutput) } else { applying.insert(.dataInvalid) }
            let reason = "the body file \(refusal)"
            if command.flag(.json) { JSONLine.write(AddResult(error: reason, source: path)) }
            Messages.error("cannot add '\(path)': \(reason)", hint: "see bodyFiles in drainq-config(5)")
        }
    }

    private func examine(bodyFile path: String) -> Result<BodyFile, BodyFileRefusal> {
        queue.spool.bodyFile(at: path, roots: queue.configuration.bodyFileRoots)
    }

    /// The header of the next operation, with a creation time after all before it.
    private mutating func newHeader() -> OperationHeader {
        last = max(.now(), last + .microseconds(1))
        return OperationHeader(
            id: command.operationID(.id) ?? OperationID(UUID().uuidString.lowercased())!,
            type: command.typeNames(.type).last ?? .default, createdAt: last,
            contentType: command.text(.contentType) ?? "application/json")
    }

    private mutating func take(_ item: JSONInput.Item, _ source: String) throws {
        switch item {
        case .bad(let text, let line, let mistake, let reason):
            try refuse(text, source, line, mistake == line ? reason : "\(reason) in line \(mistake)")
        case .value(let text, let line):
            values += 1
            if command.operationID(.id) != nil, values > 1 { return }
            var value: Pending?
            do throws(OperationFileError) {
                value = try pending(text, source, line)
            } catch {
                try refuse(text, source, line, error.detail)
            }
            if let value { try take(value, as: text) }
            if batch.count >= Self.batchSize, !gathersAll { try flush() }
        }
    }

    /// What could never be sent is not let in. `text` is how it was given.
    private mutating func take(_ pending: Pending, as text: [UInt8]) throws {
        let operation = pending.operation
        if let defect = queue.configuration.route(of: operation.header.type).defect(of: operation) {
            try refuse(text, pending.source, pending.line, "\(defect)")
        } else {
            batch.append(pending)
        }
    }

    private mutating func pending(
        _ text: [UInt8], _ source: String, _ line: Int
    ) throws(OperationFileError) -> Pending {
        let header = newHeader()
        var operation = Operation(header: header, body: text)
        var hasOwnID = command.operationID(.id) != nil
        if command.flag(.envelope) {
            let envelope = try Envelope.operation(
                from: text, in: 0..<text.count, file: source, line: line,
                defaults: Envelope.Defaults(id: header.id, createdAt: header.createdAt, type: header.type),
                requiresMarker: true, bodyFile: examine)
            operation = envelope.operation
            hasOwnID = hasOwnID || envelope.hasOwnID
        }
        override(&operation.header)
        return Pending(operation: operation, hasOwnID: hasOwnID, source: source, line: line)
    }

    /// What the command line says wins over what the envelope says.
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

    /// Reports a bad value and keeps it, so that nothing given to `add` is lost; under `--atomic` the giver has it still,
    /// and a body in a file of its own, which has no text here, is where it was.
    private mutating func refuse(_ text: [UInt8], _ source: String, _ line: Int, _ reason: String) throws {
        applying.insert(.dataInvalid)
        var hint: String?
        if !isAtomic, !text.isEmpty {
            let item = try queue.spool.keepBadInput(
                text, reason: reason, source: "\(source) line \(line)", now: .now())
            hint = "kept as 'quarantine/\(item.fileName)'"
        }
        if command.flag(.json) {
            JSONLine.write(AddResult(error: reason, source: source, line: line))
        }
        Messages.error("cannot add line \(line) of '\(source)': \(reason)", hint: hint)
    }

    // MARK: - Output

    /// Hands what has gathered to the spool and answers: from here on these operations are safe.
    private mutating func flush() throws {
        if batch.isEmpty { return }
        let taken = batch
        batch = []
        let accepted = try queue.spool.accept(
            taken.map(\.operation), limits: queue.configuration.limits, durable: command.text(.sync) != "none",
            givenIDs: Set(taken.filter(\.hasOwnID).map(\.operation.header.id)), allOrNone: isAtomic)
        for (pending, result) in zip(taken, accepted.results) { answer(pending, result) }
        for entry in accepted.dropped {
            Messages.notice(
                "dropped '\(entry.name.id)', the oldest: the queue is full and limits.whenFull is dropOldest")
        }
        standardOutput.flush()
    }

    private mutating func answer(_ pending: Pending, _ result: Acceptance) {
        let id = pending.operation.header.id.description
        let isJSON = command.flag(.json)
        switch result {
        case .accepted:
            if isJSON { JSONLine.write(AddResult(id: id)) } else { standardOutput.line(id) }
        case .duplicate(let state):
            if isJSON {
                JSONLine.write(AddResult(id: id, duplicate: true, state: state.word))
            } else {
                standardOutput.line(id)
                Messages.notice("'\(id)' is in the queue already (\(state.word)): not added again")
            }
        case .rejected(let limit):
            applying.insert(.inputOutput)
            if isJSON { JSONLine.write(AddResult(error: "\(limit)", source: pending.source, line: pending.line)) }
            Messages.error(
                "cannot add line \(pending.line) of '\(pending.source)': \(limit)",
                hint: "see limits in drainq-config(5)")
        case .notAttempted:
            applying.insert(.inputOutput)
            if isJSON {
                JSONLine.write(AddResult(error: "not added: --atomic", source: pending.source, line: pending.line))
            }
        }
    }
}

/// One line of `add --json`, schema 1.
private struct AddResult: Encodable {
    var id: String?
    var duplicate: Bool?
    var state: String?
    var error: String?
    var source: String?
    var line: Int?
}
