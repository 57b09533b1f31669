/// Why an attempt was no delivery, or why a destination is held: what an operator reads first.
package struct Cause: Hashable, Sendable {
    /// The status of the answer; `nil` without one.
    package var status: Int?
    /// The name of the network error, or a callable function's code.
    package var error: String?
    /// The words of the server if there is a status, else those of the error or the rule. Secrets are redacted.
    package var words: String?
    /// The kind of the deciding rule, unless it is about answers.
    package var code: Rule.Code?

    package init(status: Int? = nil, error: String? = nil, words: String? = nil, code: Rule.Code? = nil) {
        self.status = status
        self.error = error
        self.words = words
        self.code = code
    }

    /// Makes the cause of a failure by its name: the status of an answer, or an error.
    package init(failure: String) {
        let status = Int(failure)
        self.init(status: status, error: status == nil ? failure : nil)
    }

    package init(_ record: AttemptRecord) {
        self.init(status: record.status, error: record.error, excerpt: record.excerpt, rule: record.rule)
        code = record.ruleCode
    }

    init(_ verdict: Verdict, _ report: SealedReport) {
        self.init(
            status: verdict.status ?? report.status, error: report.error?.rawValue ?? verdict.canonical?.rawValue,
            excerpt: (verdict.excerpt ?? report.excerpt)?.description, rule: verdict.rule.description)
        code = verdict.rule.code
    }

    private init(status: Int?, error: String?, excerpt: String?, rule: @autoclosure () -> String) {
        let words = excerpt.flatMap(ServerWords.readable)
        self.init(status: status, error: error, words: status == nil && error == nil ? words ?? rule() : words)
    }

    /// `401 "token expired"`, `timeout: no answer in 30s`, or the words of a rule or an operator.
    package var text: String {
        guard let status else { return [error, words].compactMap(\.self).joined(separator: ": ") }
        let name = error.map { "\(status) \($0)" } ?? "\(status)"
        return words.map { "\(name) \"\($0)\"" } ?? name
    }

    /// The name of the causes that are told as one: status or error, and the words without what differs by operation.
    package var group: String {
        "\(status.map { "\($0)" } ?? error ?? code?.rawValue ?? "") \(Self.fixedWords(of: words ?? ""))"
    }

    /// Returns the first words that have only letters: ids, numbers and times are left out.
    package static func fixedWords(of text: String) -> String {
        let parts = text.unicodeScalars.split { scalar in
            !(scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == "_" || scalar == "-")
        }
        let words = parts.filter { $0.allSatisfy { $0.properties.isAlphabetic || $0 == "_" } }
        return words.prefix(6).map { String($0) }.joined(separator: " ")
    }
}

extension AttemptRecord {
    /// The cause in a few words: the status or the error, and the words of an answer that was no delivery.
    package var cause: String {
        outcome == .delivered ? status.map { "\($0)" } ?? error ?? rule : Cause(self).text
    }
}

extension Cause: StoredObject {
    package static let blank = Cause()
    package static let fields: [StoredField<Cause>] = [
        .init("status", \.status),
        .init("error", \.error),
        .init("words", \.words),
        .init("code", \.codeWord),
    ]

    /// The word of `code`; a word of a newer version counts as none.
    private var codeWord: String? {
        get { code?.rawValue }
        set { code = newValue.flatMap(Rule.Code.init) }
    }
}
