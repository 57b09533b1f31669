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
    package init(_ text: String) throws(UsageError) {
        var rule = AnswerScriptRule(text: text)
        for word in try AnswerScriptWord.words(of: text) { try rule.take(word) }
        self = try rule.rule()
    }
}

extension Script {
    /// Reads rules in order. Each is used as often as it says, and the last one without end.
    package init(_ texts: [String]) throws(UsageError) {
        var rules: [Rule] = []
        for text in texts { rules.append(try Rule(text)) }
        self = .rules(rules)
    }
}
