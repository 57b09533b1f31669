import Drain
import Policy

/// Returns the completions for one shell, made from the tables.
func completionScript(for shell: Shell) -> String {
    switch shell {
    case .bash: bashCompletions()
    case .zsh: zshCompletions()
    case .fish: fishCompletions()
    }
}

/// The comment that names the origin of the completions.
let completionsOrigin = "# drainq \(programVersion): made by 'drainq completions', do not edit"

extension ValueKind {
    /// The candidates for the value.
    var candidates: Candidates {
        switch self {
        case .flag: .none
        case .text, .pointer, .count, .duration, .interval, .time, .operationID, .header, .rate: .unknown
        case .template(.type, _): ValueKind.typeName.candidates
        case .template: .unknown
        case .answer: .words(AnswerPattern.errorNames)
        case .file: .files
        case .directory: .directories
        case .choice(let words): .words(words)
        case .countOr(let word, _): .words([word])
        case .typeName: .queue(QueueCandidates(field: "type", arguments: ["list", "--limit", "1000"]))
        case .destination: .queue(QueueCandidates(field: "destination", arguments: ["status"]))
        }
    }
}

extension CommandDescription {
    /// The candidates for an operand.
    var candidates: Candidates {
        switch operands {
        case .none: .none
        case .files: .files
        case .directory: .directories
        case .ids, .optionalIDs, .selection, .optionalSelection: .queue(.ids(in: name.statesActedOn))
        case .anything: .unknown
        case .one(let words, _), .optional(let words, _): .words(words)
        case .answer: .words(AnswerPattern.errorNames)
        }
    }
}

extension CommandName {
    /// The states of the operations that the command mostly changes; empty if the state does not matter.
    fileprivate var statesActedOn: [ShownState] {
        switch self {
        case .retry: [.failed, .deferred, .held]
        case .hold: [.new, .deferred]
        case .release: [.held]
        case .run: [.new, .deferred]
        default: []
        }
    }
}

/// The candidates that a shell can offer in one place.
enum Candidates: Hashable {
    case none
    /// A value is expected, but no shell can propose one.
    case unknown
    case files
    case directories
    case words([String])
    case queue(QueueCandidates)
}

/// Candidates that only the queue has: the values of one field in the JSON output of a command.
struct QueueCandidates: Hashable {
    var field: String
    /// The command and its options, without the queue and `--json`. They limit what is read, because the user waits.
    var arguments: [String]

    static func ids(in states: [ShownState]) -> QueueCandidates {
        QueueCandidates(
            field: "id", arguments: ["list", "--limit", "100"] + states.flatMap { ["--state", $0.rawValue] })
    }

    /// The words that the shell functions take as arguments.
    var words: String { ([field] + arguments).joined(separator: " ") }
}
