package import LoopbackReceiver

/// The text of a receiver's rule, as `drainq receive --answer` takes it: words separated by blanks.
///
///     [condition…] answer [change…] [*TIMES]
///
///     503 *2                        429 retry-after=5          200 type=application/json body={"ok":true}
///     POST /orders* 201             X-Tenant:b 403             200 body="with blanks\n" delay=2s
///
/// - conditions: a method in capitals, a path (`/a`, or `/a*` for its beginning), a header as `Name:value`
/// - answers: a status; `silence`, `reset` or `close` before any byte
/// - changes: `Name:value` (a header), `retry-after= type= location=` (frequent headers), `body=`, `delay=D`,
///   `truncate=N` (announces N bytes more than it sends, then closes)
///
/// A value that begins with `"` ends with `"` and may contain blanks and `\n \r \t \\ \" \xHH`; any other value is
/// taken literally. Durations are those of the command line: `250ms 2s 5m 1h`.
extension Script.Rule {
    package init(_ text: String) throws(ScriptError) {
        let words = try AnswerScriptWord.words(of: text)
        var rule = AnswerScriptRule(text: text)
        for word in words { try rule.take(word) }
        self = try rule.rule()
    }
}

extension Script {
    /// Reads rules in order. Each is used as often as it says, and the last one without end.
    package init(_ texts: [String]) throws(ScriptError) {
        var rules: [Rule] = []
        for text in texts { rules.append(try Rule(text)) }
        self = .rules(rules)
    }
}

/// A word of a rule that cannot be used.
package struct ScriptError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Problem: Hashable, Sendable {
        /// The rule has no answer.
        case noAnswer
        case unknown(nearest: String?)
        case notA(String)
        case unclosedQuote
        case noValue
        /// The word contradicts an earlier one.
        case repeated
        case conditionAfterAnswer
    }

    package var rule: String
    /// The word as it was written.
    package var word: String
    package var problem: Problem

    /// `cannot use 'dealy=5s' in the answer '503 dealy=5s': no such word, perhaps 'delay'`
    package var description: String {
        let reason =
            switch problem {
            case .noAnswer: "a status, 'silence', 'reset' or 'close' is missing"
            case .unknown(let nearest): "no such word" + (nearest.map { ", perhaps '\($0)'" } ?? "")
            case .notA(let kind): "the value is not \(kind)"
            case .unclosedQuote: "the quotation mark is not closed"
            case .noValue: "a value is needed"
            case .repeated: "it contradicts an earlier word"
            case .conditionAfterAnswer: "conditions come before the answer"
            }
        return word.isEmpty || problem == .noAnswer
            ? "cannot use the answer '\(rule)': \(reason)" : "cannot use '\(word)' in the answer '\(rule)': \(reason)"
    }
}
