package import Drain
import Policy

/// The candidates for the last word of a command line that is being typed. Reads nothing but the words.
package struct Completion {
    /// What can stand in one place of a command line.
    package enum Candidates: Hashable, Sendable {
        /// No program can propose a value.
        case none
        case files
        case directories
        case words([String])
        case commands
        case options([OptionDescription])
        /// The ids of the operations in these states; of those that `list` shows if there are none.
        case ids(in: [ShownState])
        case types
        case destinations
        /// The services of `drainq init --example`.
        case examples
    }

    package private(set) var candidates = Candidates.none
    /// The beginning of the last word that a candidate follows: `--state=`; mostly empty.
    package private(set) var kept = ""
    /// The rest of the last word: the beginning of each candidate.
    package private(set) var typed = ""
    /// The queue and the configuration that the line names.
    package private(set) var queue: String?
    package private(set) var configuration: String?

    private var command: CommandDescription?
    /// The option whose value is the next word.
    private var pending: OptionDescription?
    private var given: Set<OptionName> = []
    private var hasOnlyOperands = false
    private var operands = 0

    /// - Parameter words: the words after the program, up to the cursor. The last one may be empty.
    package init(of words: [String]) {
        for word in words.dropLast() where !pass(word) { return }
        complete(words.last ?? "")
    }

    // MARK: - The words before

    /// Reads a word before the last one. Returns false if it is an unknown command: nothing can follow it.
    private mutating func pass(_ word: String) -> Bool {
        if let row = pending {
            take(row, word)
            pending = nil
        } else if hasOnlyOperands || !word.begins(with: "-") || word == "-" {
            guard command == nil else {
                operands += 1
                return true
            }
            command = CommandDescription.named(word)
            return command != nil
        } else if word == "--" {
            hasOnlyOperands = true
        } else {
            let read = OptionWord(RawText(word), of: command)
            given.formUnion(read.flags.map(\.name))
            if let row = read.row, let value = read.value { take(row, value.path) } else { pending = read.row }
        }
        return true
    }

    private mutating func take(_ row: OptionDescription, _ value: String) {
        given.insert(row.name)
        if row.name == .queue { queue = value }
        if row.name == .config { configuration = value }
    }

    // MARK: - The last word

    private mutating func complete(_ word: String) {
        typed = word
        let read = hasOnlyOperands || !word.begins(with: "-") ? nil : OptionWord(RawText(word), of: command)
        if let row = pending {
            candidates = row.kind.candidates
        } else if let read, let row = read.row, let value = read.value {
            (kept, typed, candidates) = (read.kept, value.path, row.kind.candidates)
        } else if read != nil {
            let rows = command?.options ?? OptionDescription.table.filter { $0.group == .global }
            candidates = .options(rows.filter { $0.repeats || !given.contains($0.name) })
        } else if let command {
            candidates = command.candidates(afterOperands: operands)
        } else {
            candidates = .commands
        }
    }
}

extension CommandDescription {
    fileprivate func candidates(afterOperands count: Int) -> Completion.Candidates {
        switch operands {
        case .files: .files
        case .ids, .optionalIDs, .selection, .optionalSelection: .ids(in: states)
        case .none, .anything: .none
        case _ where count > 0: .none
        case .directory: .directories
        case .one(let words, _), .optional(let words, _): .words(words)
        case .answer: .words(Completion.answers)
        }
    }
}

extension Completion {
    /// The statuses that services answer with when something is wrong, and the errors. All five hundred statuses would
    /// hide them.
    static let answers = statuses.map(String.init) + AnswerPattern.errorNames

    private static let statuses = [400, 401, 403, 404, 408, 409, 410, 413, 422, 429, 500, 502, 503, 504]
}
