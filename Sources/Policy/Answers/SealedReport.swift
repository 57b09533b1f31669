/// The report of an attempt, sealed so that no text of the server leaves it with a secret of the request.
///
/// Decisions read the original, which only this module sees. A text for a rule, a record or an event comes out as a
/// `RedactedText`, in which the secrets are replaced; kept values and kept answers come out without secrets too.
package struct SealedReport: Sendable {
    /// The report as it arrived, for decisions only.
    let original: AttemptReport
    private let redaction: Redaction

    package init(_ report: AttemptReport, _ redaction: Redaction) {
        original = report
        self.redaction = redaction
    }

    package var duration: Duration { original.duration }
    package var status: Int? { original.status }
    package var error: NetworkError? { original.error }

    /// The part that a report shows: the beginning of the answer's body, or the error's detail. `nil` if there is none.
    package var excerpt: RedactedText? {
        switch original.result {
        case .answer(let answer):
            // A redirect says where it leads in its head.
            if (300..<400).contains(answer.status), let target = answer.header("Location") {
                excerpt(of: "Location: \(target)".utf8)
            } else {
                excerpt(of: answer.body)
            }
        case .failure(_, let detail): excerpt(of: detail.utf8)
        }
    }

    /// Returns the bytes with a mark in the place of each secret of the request.
    func redacted(_ bytes: [UInt8]) -> [UInt8] { redaction(bytes) }

    /// Returns the beginning of a text of the report, redacted, and cleaned as `Policy.excerpt` does it.
    func excerpt(of bytes: some Collection<UInt8>, limit: Int = 200) -> RedactedText? {
        // Takes more than is shown, so that a secret at the end of the excerpt is found whole.
        let head = Array(bytes.lazy.drop(while: { $0 <= 0x20 }).prefix(limit * 16))
        return Policy.excerpt(of: redaction(head), limit: limit).map(RedactedText.init)
    }
}

/// A text of a server in which every secret of its request is replaced; only a `SealedReport` makes one.
package struct RedactedText: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    fileprivate init(_ text: String) { description = text }
}
