import LoopbackReceiver
import Policy

/// A receiver's rule while its words are read one after the other.
struct AnswerScriptRule {
    private let text: String
    private var condition = Script.Condition()
    private var answer: Answer?
    private var times: Int?

    init(text: String) { self.text = text }

    /// Returns the rule once all words are read. Throws if none of them was an answer.
    func rule() throws(UsageError) -> Script.Rule {
        guard let answer else { throw noAnswer }
        return Script.Rule(answer, when: condition, times: times ?? 1)
    }

    /// Reads the next word. Throws if it cannot follow the words before it.
    mutating func take(_ word: AnswerScriptWord) throws(UsageError) {
        if word.name.begins(with: "*"), word.separator == .none {
            guard let count = Int(word.name.afterFirstByte), count > 0 else {
                throw error(word, "the value is not a count such as *3")
            }
            if times != nil { throw error(word, Self.contradiction) }
            times = count
        } else if var changed = answer {
            try change(&changed, word)
            answer = changed
        } else if word.separator == .none, let first = Answer(word.name) {
            answer = first
        } else if !takeCondition(word) {
            throw errorBeforeAnswer(word)
        }
    }

    private static let answers = ["silence", "reset", "close"]
    private static let changes = ["body", "delay", "retry-after", "type", "location", "truncate"]

    private func errorBeforeAnswer(_ word: AnswerScriptWord) -> UsageError {
        if word.separator == .none, word.name.utf8.allSatisfy(\.isDigit) {
            return error(word, "the value is not a status from 100 to 999")
        }
        return Self.changes.contains(word.name) ? noAnswer : unknown(word, among: Self.answers)
    }

    private func isCondition(_ word: AnswerScriptWord) -> Bool {
        word.name.begins(with: "/") || (word.separator == .none && RequestMethod.isMethod(word.name))
    }

    private mutating func takeCondition(_ word: AnswerScriptWord) -> Bool {
        if word.name.begins(with: "/"), condition.path == nil {
            condition.path = word.text
        } else if word.separator == .colon, !word.name.isEmpty {
            condition.headers.append(HeaderLine(word.name, word.string))
        } else if word.separator == .none, RequestMethod.isMethod(word.name), condition.method == nil {
            condition.method = word.name
        } else {
            return false
        }
        return true
    }

    /// Changes an answer as the word says.
    private func change(_ answer: inout Answer, _ word: AnswerScriptWord) throws(UsageError) {
        if word.separator == .colon {
            if word.name.isEmpty { throw error(word, "the value is not a header such as Name:value") }
            answer.headers.append(HeaderLine(word.name, word.string))
            return
        }
        switch word.name {
        case "retry-after": answer.headers.append(HeaderLine("Retry-After", try value(word)))
        case "type": answer.headers.append(HeaderLine("Content-Type", try value(word)))
        case "location": answer.headers.append(HeaderLine("Location", try value(word)))
        case "body":
            _ = try value(word)
            answer.body = word.value
        case "truncate":
            guard let missing = Int(try value(word)), 1...1 << 53 ~= missing else {
                throw error(word, "the value is not a number of bytes")
            }
            answer = answer.truncated(by: missing)
        case "delay":
            guard let delay = Duration(quantity: try value(word)) else {
                throw error(word, "the value is not a duration such as 250ms or 2s")
            }
            answer.delay = delay
        default:
            if word.separator == .none, Answer(word.name) != nil { throw error(word, Self.contradiction) }
            if isCondition(word) { throw error(word, "conditions come before the answer") }
            throw unknown(word, among: Self.changes)
        }
    }

    private func value(_ word: AnswerScriptWord) throws(UsageError) -> String {
        if word.separator == .none { throw error(word, "a value is needed") }
        return word.string
    }

    // MARK: - Errors

    private static let contradiction = "it contradicts an earlier word"

    private var noAnswer: UsageError {
        Self.error("the answer '\(text)': a status, 'silence', 'reset' or 'close' is missing")
    }

    private func unknown(_ word: AnswerScriptWord, among known: [String]) -> UsageError {
        error(word, "no such word" + (nearest(to: word.name, in: known).map { ", perhaps '\($0)'" } ?? ""))
    }

    private func error(_ word: AnswerScriptWord, _ reason: String) -> UsageError {
        Self.error(in: text, word.text, reason)
    }

    /// Returns the error of a word as it was written, in the text of a rule.
    static func error(in rule: String, _ word: String, _ reason: String) -> UsageError {
        error("'\(word)' in the answer '\(rule)': \(reason)")
    }

    private static func error(_ objection: String) -> UsageError {
        UsageError("cannot use \(objection)", hint: "drainq help receive")
    }
}

extension Answer {
    /// Reads the first word of an answer.
    fileprivate init?(_ word: String) {
        switch word {
        case "silence": self = .silence
        case "reset": self = .reset
        case "close": self = .close
        default:
            guard word.utf8.count == 3, let status = Int(word), status >= 100 else { return nil }
            self.init(status)
        }
    }
}
