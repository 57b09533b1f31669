import Policy

/// The completions for one shell, made from the tables.
func completionScript(for shell: Shell) -> String {
    switch shell {
    case .bash: bashCompletions()
    case .zsh: zshCompletions()
    case .fish: fishCompletions()
    }
}

/// What completions say of where they come from.
let completionsOrigin = "# drainq \(programVersion): made by 'drainq completions', do not edit"

extension ValueKind {
    /// What may stand as the value.
    var candidates: Candidates {
        switch self {
        case .flag: .none
        case .text, .count, .duration, .interval, .time, .typeName, .operationID, .header, .rate: .unknown
        case .answer: .words(ClassificationOverride.Match.errorNames)
        case .file: .files
        case .directory: .directories
        case .choice(let words): .words(words)
        }
    }
}

extension Operands {
    var candidates: Candidates {
        switch self {
        case .none: .none
        case .files: .files
        case .ids, .selection, .optionalSelection, .anything: .unknown
        case .one(let words, _), .optional(let words, _): .words(words)
        case .answer: .words(ClassificationOverride.Match.errorNames)
        }
    }
}

/// What a shell can offer in one place.
enum Candidates: Hashable {
    case none
    /// Something belongs here, but no shell knows what.
    case unknown
    case files
    case directories
    case words([String])
}
