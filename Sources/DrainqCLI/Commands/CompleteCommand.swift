import Drain
import Policy
import Spool

/// `drainq complete -- WORD...`, which the scripts of `drainq completions` call. The first line says what the shell
/// completes the last word with: `words`, `files` or `directories`. The candidates follow, one a line, each with a tab
/// before its summary.
///
/// The command ignores errors and prints no candidates then: a user who presses Tab has not asked for a message.
struct CompleteCommand: Command {
    static let name = "complete"
    static let isHidden = true

    /// The words after the program, up to the cursor.
    var words: [String] = []

    mutating func take(operands: [String]) { words = operands }

    static let description = CommandDescription(
        Self.self, "print candidates for a shell",
        "Prints the candidates for the last word of a command line. Only the scripts of completions call it.",
        operands: .anything, onlyPrints: true)

    func perform(environment: [String: String]) -> ExitStatus {
        let completion = Completion(of: words)
        switch completion.candidates {
        case .files: standardOutput.line("files")
        case .directories: standardOutput.line("directories")
        default:
            standardOutput.line("words")
            for (word, summary) in completion.found(environment) where word.begins(with: completion.typed) {
                standardOutput.line(completion.kept + word + (summary.isEmpty ? "" : "\t\(summary)"))
            }
        }
        return .ok
    }
}

extension Completion {
    /// The number of ids that a shell shows at most: a person chooses among them.
    private static let mostIDs = 100

    /// Returns the candidates with their summaries.
    fileprivate func found(_ environment: [String: String]) -> [(word: String, summary: String)] {
        switch candidates {
        case .none, .files, .directories: return []
        case .words(let words): return words.map { ($0, "") }
        case .commands: return CommandDescription.visible.map { ($0.name, $0.summary) }
        case .options(let rows):
            return rows.flatMap { row in
                ((row.short.map { ["-\($0)"] } ?? []) + [row.name.spelling]).map { ($0, row.summary) }
            }
        case .examples: return ((try? ExampleConfigurations().names) ?? []).map { ($0, "") }
        case .ids, .types, .destinations: return ((try? inQueue(environment)) ?? []).map { ($0, "") }
        }
    }

    private func inQueue(_ environment: [String: String]) throws -> [String] {
        var options = GlobalOptions()
        // A shell has not expanded the words yet.
        func expanded(_ path: String) -> String {
            path.begins(with: "~/") ? (environment["HOME"] ?? "~") + path.dropFirst() : path
        }
        (options.path, options.configuration) = (queue.map(expanded), configuration.map(expanded))
        let queue = try OpenQueue(options, environment)
        let known = try queue.knownDestinations()
        if candidates == .destinations { return known.names.sorted() }
        var states: Set<ShownState> = [.new, .deferred, .claimed, .held, .failed, .quarantined]
        if case .ids(let chosen) = candidates, !chosen.isEmpty { states = Set(chosen) }
        let entries = try queue.spool.entries(OperationFilter(states: states), known).entries
        guard case .ids = candidates else {
            return Set(entries.map(\.name.type) + queue.configuration.routes.keys).map(\.description).sorted()
        }
        let ids = entries.lazy.map(\.name.id.description).filter { $0.begins(with: typed) }.prefix(Self.mostIDs)
        if !states.contains(.quarantined) { return Array(ids) }
        return try ids + queue.spool.quarantined().compactMap { $0.name?.id.description }
    }
}
