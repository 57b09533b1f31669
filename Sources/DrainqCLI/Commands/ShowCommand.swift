import Policy
import Spool

/// `drainq show`: one operation as a story: what it asks for, where it is, what each attempt met.
func show(_ command: ParsedCommand, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(command, environment)
        let known = try queue.knownDestinations()
        let ids = try givenIDs(command)
        let found = try queue.entries(ids: ids)
        var status = ExitStatus.ok
        for id in ids {
            guard let entries = found[id] else {
                Messages.error("no operation '\(id)' in the queue", hint: "drainq list")
                status = .failed
                continue
            }
            for entry in entries { try show(entry, queue, known, asJSON: command.flag(.json)) }
        }
        return status
    }
}

private func show(_ entry: Entry, _ queue: OpenQueue, _ known: KnownDestinations, asJSON: Bool) throws {
    var view = queue.view(entry, known)
    guard let file = try queue.spool.read(entry) else { return }
    switch file {
    case .notAnOperation(let reason):
        Messages.error("cannot read '\(entry.path)': \(reason)", hint: "drainq check")
    case .newerFormat(let version):
        Messages.error("'\(entry.path)' has format \(version), newer than this drainq reads")
    case .operation(let stored):
        view.add(stored.operation)
        let hold = known.states[view.destination]?.hold.map(HoldView.init)
        if asJSON {
            JSONLine.write(Story(view, stored.operation, hold))
        } else {
            tell(view, stored.operation, isHeld: entry.name.isHeld, hold)
        }
    }
}

/// One line of `show --json`, schema 1: what `list` says, and the whole of the operation.
private struct Story: Encodable {
    var entry: EntryView
    var header: OperationHeader
    var bodyLength: Int
    var body: String?
    var history: [RecordView]
    var destinationHold: HoldView?

    init(_ entry: EntryView, _ operation: Operation, _ hold: HoldView?) {
        self.entry = entry
        header = operation.header
        bodyLength = header.bodyFile?.length ?? operation.body.count
        body = header.bodyFile == nil ? String(validating: operation.body, as: UTF8.self) : nil
        history = operation.attempts.map(RecordView.init)
        destinationHold = hold
    }

    private enum Key: String, CodingKey {
        case method, url, contentType, expiresAt, idempotencyKey, bodyFile, bodyLength, body, history
        case destinationHold
    }

    func encode(to encoder: any Encoder) throws {
        try entry.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encodeIfPresent(header.method, forKey: .method)
        try container.encodeIfPresent(header.url, forKey: .url)
        try container.encodeIfPresent(header.contentType, forKey: .contentType)
        try container.encodeIfPresent(header.expiresAt?.rfc3339, forKey: .expiresAt)
        try container.encodeIfPresent(header.idempotencyKey, forKey: .idempotencyKey)
        try container.encodeIfPresent(header.bodyFile?.path, forKey: .bodyFile)
        try container.encode(bodyLength, forKey: .bodyLength)
        try container.encodeIfPresent(body, forKey: .body)
        try container.encode(history, forKey: .history)
        try container.encodeIfPresent(destinationHold, forKey: .destinationHold)
    }
}

private func tell(_ view: EntryView, _ operation: Operation, isHeld: Bool, _ hold: HoldView?) {
    let now = Timestamp.now()
    let header = operation.header
    func say(_ name: String, _ value: String?) {
        guard let value else { return }
        standardOutput.line("\(name):".padded(to: 14) + escapedForDisplay(value))
    }
    say("id", view.id)
    say("state", view.state + (view.run.map { ", by run \($0)" } ?? ""))
    if isHeld { say("held", "by itself, until 'drainq release \(view.id)'") }
    if let hold { say("held", "its destination, since \(hold.since): \(hold.reason)") }
    say("type", view.type)
    say("destination", header.url ?? view.destination)
    say("created", "\(view.createdAt) (\(InWords.moment(header.createdAt, from: now)))")
    say("key", header.key)
    say("expires", header.expiresAt.map { "\($0.rfc3339) (\(InWords.moment($0, from: now)))" })
    say("attempts", attemptsInWords(view))
    if let next = (view.due ?? view.notBefore).flatMap({ Timestamp(rfc3339: $0) }) {
        say("next", "\(next.rfc3339) (\(InWords.moment(next, from: now)))")
    }
    say("file", view.path)
    let source = header.bodyFile.map { ", from '\($0.path)'" } ?? ""
    let length = header.bodyFile?.length ?? operation.body.count
    say("body", "\(length) bytes\(header.contentType.map { ", \($0)" } ?? "")\(source)")
    for record in operation.attempts {
        var line =
            "\(record.at.rfc3339)  \(record.outcome.rawValue)  \(record.status.map { "\($0)" } ?? record.error ?? "-")"
        line += " in \(InWords.short(record.duration)), by \(record.rule)"
        if let retryAfter = record.retryAfter { line += ", server asked for \(retryAfter)s" }
        if let excerpt = record.excerpt, !excerpt.isEmpty { line += ": \(excerpt)" }
        standardOutput.line("  " + escapedForDisplay(line))
    }
}

extension String {
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
