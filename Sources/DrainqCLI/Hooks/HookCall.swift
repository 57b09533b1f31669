import Delivery
import Policy
import Spool

/// One call of a hook: the command, and the document on its standard input.
struct HookCall {
    /// The document on standard input, schema 1.
    struct Document: Encodable {
        var event: String
        var queue: String
        var time: String
        var count: Int
        /// The first destination if the event is about several; `reason` likewise.
        var destination: String?
        var reason: String
        /// The destinations of the event, at most `News.idsTold`; `ids` has the same limit.
        var destinations: [String]
        var ids: [String]
        /// The kept answers to operations in `ids` that have one; only for the event `delivered`.
        var answers: [Answer]?
    }

    /// A kept answer as `show --json` prints it, with the id of its operation.
    struct Answer: JSONObject {
        var id: String
        var answer: KeptAnswer

        static let fields: [JSONField<Answer>] =
            KeptAnswer.fields.map { $0.of(\.answer) } + [.field("id", .text, "its operation", \.id)]
    }

    /// The longest time that a run waits for a hook.
    static let timeout: Duration = .seconds(10)

    let command: ExternalCommand
    let document: Document

    /// Returns one call for each event, whatever the number of its destinations.
    static func calls(for news: [News], queue: OpenQueue, at now: Timestamp) -> [HookCall] {
        Hooks.Event.allCases.compactMap { event in
            let items = news.filter { $0.event == event }
            guard let first = items.first, let arguments = queue.configuration.hooks.commands[event] else { return nil }
            var document = Document(of: items, first, queue: absolutePath(queue.spool.path), at: now)
            if event == .delivered { document.answers = Answer.kept(of: document.ids, in: queue) }
            return HookCall(arguments, document, queue)
        }
    }

    private init(_ arguments: [String], _ document: Document, _ queue: OpenQueue) {
        var variables = [
            "DRAINQ_EVENT": document.event, "DRAINQ_TIME": document.time, "DRAINQ_COUNT": "\(document.count)",
            "DRAINQ_REASON": document.reason, "DRAINQ_IDS": document.ids.joined(separator: " "),
        ]
        variables["DRAINQ_DESTINATION"] = document.destination
        variables = variables.mapValues(escapedForDisplay)
        // The queue is a path for programs, whatever its bytes are.
        variables["DRAINQ_QUEUE"] = document.queue
        command = ExternalCommand(
            arguments, directory: queue.directory, environment: queue.programEnvironment.adding(variables))
        self.document = document
    }

    /// Calls the hook and waits for its end. Returns the reason of a failure, `nil` if the call succeeded.
    func run() -> String? {
        let result = command.run(input: Array((JSONLine.text(document) + "\n").utf8), within: Self.timeout)
        return result.failure.map { "the hook '\(document.event)' ('\(command.arguments[0])') \($0)" }
    }
}

extension HookCall.Answer {
    /// Reads the kept answers of delivered operations, by ids; `nil` if no route keeps any. Leaves out unreadable ones.
    fileprivate static func kept(of ids: [String], in queue: OpenQueue) -> [Self]? {
        guard queue.configuration.keepsAnswers else { return nil }
        var answers: [String: KeptAnswer] = [:]
        var entries: [Entry] = []
        _ = try? queue.spool.forEachEntry(in: .delivered) { entry in
            if ids.contains(entry.name.id.description) { entries.append(entry) }
        }
        for entry in entries {
            guard case .operation(let stored)? = (try? queue.spool.read(entry)).flatMap(\.self) else { continue }
            answers[entry.name.id.description] = stored.operation.keptAnswer
        }
        return ids.compactMap { id in answers[id].map { Self(id: id, answer: $0) } }
    }
}

extension HookCall.Document {
    fileprivate init(of items: [News], _ first: News, queue: String, at now: Timestamp) {
        let destinations = items.compactMap(\.destination)
        self.init(
            event: first.event.rawValue, queue: queue, time: now.rfc3339,
            count: items.reduce(0) { $0 +| $1.count }, destination: first.destination,
            reason: first.reason, destinations: Array(destinations.prefix(News.idsTold)),
            ids: Array(items.flatMap(\.ids).prefix(News.idsTold)))
    }
}
