import Delivery
import Policy
import Spool

/// One call of a hook: what it is told, and how.
struct HookCall {
    /// The object on its standard input, schema 1.
    struct Document: Encodable {
        var schema = 1
        var event: String
        var queue: String
        var time: String
        var count: Int
        /// Where something is to be told of several, the first; the same is true of `reason`.
        var destination: String?
        var reason: String
        /// The first of them.
        var destinations: [String]
        var ids: [String]
    }

    /// So long a run waits for a hook.
    static let patience: Duration = .seconds(10)

    let command: ExternalCommand
    let document: Document

    /// One call for each event, whatever number of destinations it is about.
    static func calls(for news: [HookNews], queue: OpenQueue, at now: Timestamp) -> [HookCall] {
        Hooks.Event.allCases.compactMap { event in
            let items = news.filter { $0.event == event }
            guard let first = items.first, let words = queue.configuration.hooks.commands[event] else { return nil }
            return HookCall(words, Document(of: items, first, queue: absolutePath(queue.spool.path), at: now), queue)
        }
    }

    private init(_ words: [String], _ document: Document, _ queue: OpenQueue) {
        let store = SecretStore(
            sources: queue.configuration.secrets, environment: queue.environment,
            passing: queue.configuration.passEnvironment, base: queue.directory)
        let variables = [
            "DRAINQ_EVENT": document.event, "DRAINQ_QUEUE": document.queue, "DRAINQ_TIME": document.time,
            "DRAINQ_COUNT": "\(document.count)", "DRAINQ_DESTINATION": document.destination ?? "",
            "DRAINQ_REASON": document.reason, "DRAINQ_IDS": document.ids.joined(separator: " "),
        ]
        command = ExternalCommand(
            words, directory: queue.directory,
            environment: store.commandEnvironment.merging(variables.mapValues(escapedForDisplay)) { $1 })
        self.document = document
    }

    /// Calls it and waits for its end; returns what went wrong, `nil` if nothing did.
    func run() -> String? {
        let result = command.run(input: Array((JSONLine.text(document) + "\n").utf8), within: Self.patience)
        return result.failure.map { "the hook '\(document.event)' ('\(command.arguments[0])') \($0)" }
    }
}

extension HookCall.Document {
    fileprivate init(of items: [HookNews], _ first: HookNews, queue: String, at now: Timestamp) {
        let destinations = items.compactMap(\.destination)
        self.init(
            event: first.event.rawValue, queue: queue, time: now.rfc3339,
            count: items.reduce(0) { $0 +| $1.count }, destination: first.destination,
            reason: first.reason, destinations: Array(destinations.prefix(HookNews.idsTold)),
            ids: Array(items.flatMap(\.ids).prefix(HookNews.idsTold)))
    }
}
