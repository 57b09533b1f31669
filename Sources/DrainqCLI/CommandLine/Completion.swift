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
            let (flags, use) = uses(in: word)
            given.formUnion(flags)
            if let use, let value = use.value { take(use.row, value) } else { pending = use?.row }
        }
        return true
    }

    private mutating func take(_ row: OptionDescription, _ value: String) {
        given.insert(row.name)
        if row.name == .queue { queue = value }
        if row.name == .config { configuration = value }
    }

    /// An option in a word that takes a value.
    private struct Use {
        var row: OptionDescription
        /// The beginning of the word, up to the value.
        var kept: String
        /// The rest of the word; `nil` if the value is the next word.
        var value: String?
    }

    /// Returns the flags in `word`, `-vn` or `--now`, and the option in it that takes a value.
    private func uses(in word: String) -> (flags: [OptionName], use: Use?) {
        let bytes = Array(word.utf8)
        let equals = bytes.firstIndex(of: UInt8(ascii: "=")) ?? bytes.count
        func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        func use(_ row: OptionDescription, from start: Int) -> Use {
            start > bytes.count
                ? Use(row: row, kept: word) : Use(row: row, kept: text(0..<start), value: text(start..<bytes.count))
        }
        if word.begins(with: "--") {
            guard let name = OptionName(rawValue: text(2..<max(2, equals))),
                let row = OptionDescription.row(name, of: command)
            else { return ([], nil) }
            return row.kind == .flag ? ([name], nil) : ([], use(row, from: equals + 1))
        }
        var flags: [OptionName] = []
        for (index, letter) in bytes.enumerated().dropFirst() {
            guard let row = OptionDescription.row(short: Unicode.Scalar(letter), of: command) else { break }
            if row.kind != .flag {
                let end = index + 1
                return (flags, use(row, from: end == bytes.count ? end + 1 : end == equals ? end + 1 : end))
            }
            flags.append(row.name)
        }
        return (flags, nil)
    }

    // MARK: - The last word

    private mutating func complete(_ word: String) {
        typed = word
        if let row = pending {
            candidates = row.kind.candidates
        } else if !hasOnlyOperands, word.begins(with: "-"), let use = uses(in: word).use, let value = use.value {
            (kept, typed, candidates) = (use.kept, value, use.row.kind.candidates)
        } else if !hasOnlyOperands, word.begins(with: "-") {
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
