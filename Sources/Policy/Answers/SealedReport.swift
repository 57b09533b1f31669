/// The report of an attempt behind the door through which text of a server becomes text of ours.
///
/// Decisions read the original, which nothing outside of this module sees. Every text that comes out, for a rule, a record
/// or an event, is a `RedactedText`: it has nothing of the request's secrets in it.
package struct SealedReport: Sendable {
    /// As it arrived, for decisions alone.
    let original: AttemptReport
    private let redaction: Redaction

    package init(_ report: AttemptReport, _ redaction: Redaction) {
        original = report
        self.redaction = redaction
    }

    package var duration: Duration { original.duration }
    package var status: Int? { original.status }
    package var error: NetworkError? { original.error }

    /// The part that a person needs to see; `nil` if there is none.
    package var excerpt: RedactedText? {
        switch original.result {
        case .answer(let answer): excerpt(of: answer.body)
        case .failure(_, let detail): excerpt(of: detail.utf8)
        }
    }

    /// The bytes with a mark in the place of each secret of the request.
    func redacted(_ bytes: [UInt8]) -> [UInt8] { redaction(bytes) }

    /// The beginning of a text that came with it, cleaned as `Policy.excerpt` does it.
    func excerpt(of bytes: some Collection<UInt8>, limit: Int = 200) -> RedactedText? {
        // More than is shown, so that a secret at the end of what is shown is found whole.
        let head = Array(bytes.lazy.drop(while: { $0 <= 0x20 }).prefix(limit * 16))
        return Policy.excerpt(of: redaction(head), limit: limit).map(RedactedText.init)
    }
}

/// A text of a server in which every secret of its request is replaced; only a `SealedReport` makes one.
package struct RedactedText: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    fileprivate init(_ text: String) {
        description = text
    }
}
