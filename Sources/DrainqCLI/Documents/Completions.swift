import Drain
import Policy

/// The completions for one shell, made from the tables.
func completionScript(for shell: Shell) -> String {
    switch shell {
    case .bash: bashCompletions()
    case .zsh: zshCompletions()
    case .fish: fishCompletions()
    }
}

/// The comment in completions that names their origin.
let completionsOrigin = "# drainq \(programVersion): made by 'drainq completions', do not edit"

extension ValueKind {
    /// What may stand as the value.
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
    /// What may stand as an operand.
    var candidates: Candidates {
        switch operands {
        case .none: .none
        case .files: .files
        case .ids, .optionalIDs, .selection, .optionalSelection: .queue(.ids(in: name.statesActedOn))
        case .anything: .unknown
        case .one(let words, _), .optional(let words, _): .words(words)
        case .answer: .words(AnswerPattern.errorNames)
        }
    }
}

extension CommandName {
    /// Where the operations are that the command does something to, first of all; empty where that is anywhere.
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
    /// Something belongs here, but no shell knows what.
    case unknown
    case files
    case directories
    case words([String])
    case queue(QueueCandidates)
}

/// Words that only the queue knows: the texts of a field in the JSON that a command prints of it.
struct QueueCandidates: Hashable {
    var field: String
    /// Without the queue and `--json`. They bound what is read: a person waits.
    var arguments: [String]

    static func ids(in states: [ShownState]) -> QueueCandidates {
        QueueCandidates(
            field: "id", arguments: ["list", "--limit", "100"] + states.flatMap { ["--state", $0.rawValue] })
    }

    /// As the functions of the three shells take it.
    var words: String { ([field] + arguments).joined(separator: " ") }
}
