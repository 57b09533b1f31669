/// The text of a rule, as `drainq receive --answer` takes it: words separated by blanks.
///
///     [condition…] answer [change…] [*TIMES]
///
///     503 *2                        429 retry-after=5          200 type=application/json body={"ok":true}
///     POST /orders* 201             X-Tenant:b 403             200 size=1MB drip=100/1s
///     reset                         200 truncate=10            200 body="with blanks\n" reset=body+3
///
/// - conditions: a method in capitals, a path (`/a`, or `/a*` for its beginning), a header as `Name:value`
/// - answers: a status; `silence`, `reset` or `close` before any byte; `raw=BYTES`
/// - changes to the message: `Name:value` (a header), `retry-after= type= location=` (frequent headers), `reason=`,
///   `body=`, `size=N` (a body of N bytes), `endless` (a body without end), `endless=headers`
/// - changes to its framing: `chunked`, `trailer=Name:value`, `bad-chunks`, `length=+N` or `-N` (a Content-Length that
///   is wrong by N), `truncate=N` (announces N bytes more than it sends, then closes), `until-close`
/// - changes in time: `delay=D`, `drip=BYTES/D` (the whole answer), `drip-body=BYTES/D`
/// - the end of the connection: `close`, `reset` or `stall`, each with a position: `=N` bytes of the answer, `=body+N`
///   behind its head, `=end` (the default)
///
/// A value that begins with `"` ends with `"` and may contain blanks and `\n \r \t \\ \" \xHH`; any other value is
/// taken literally. Durations are `250ms 2s 5m 1h`, sizes `10 64KB 1MB 2GB` (powers of 1000).
extension Script.Rule {
    package init(_ text: String) throws(ScriptError) {
        let words = try ScriptWord.words(of: text)
        var reading = RuleReading(text: text)
        for word in words { try reading.take(word) }
        self = try reading.rule()
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
        /// The word takes no value, or needs one.
        case value(needed: Bool)
        /// The word contradicts an earlier one.
        case repeated
        case conditionAfterAnswer
    }

    package var rule: String
    /// The word as it was written.
    package var word: String
    package var problem: Problem

    package init(rule: String, word: String, problem: Problem) {
        self.rule = rule
        self.word = word
        self.problem = problem
    }

    /// `cannot use 'dealy=5s' in the answer '503 dealy=5s': no such word, perhaps 'delay'`
    package var description: String {
        let reason =
            switch problem {
            case .noAnswer: "a status, 'silence', 'reset', 'close' or 'raw=' is missing"
            case .unknown(let nearest): "no such word" + (nearest.map { ", perhaps '\($0)'" } ?? "")
            case .notA(let kind): "the value is not \(kind)"
            case .unclosedQuote: "the quotation mark is not closed"
            case .value(let needed): needed ? "a value is needed" : "it takes no value"
            case .repeated: "it contradicts what stands before it"
            case .conditionAfterAnswer: "conditions come before the answer"
            }
        return word.isEmpty || problem == .noAnswer
            ? "cannot use the answer '\(rule)': \(reason)" : "cannot use '\(word)' in the answer '\(rule)': \(reason)"
    }
}
