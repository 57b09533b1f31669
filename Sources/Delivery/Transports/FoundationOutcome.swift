package import Policy

/// The end of a transfer that libcurl made for Foundation, as `FoundationCurl.c` passes it through URLSession: the raw head
/// of the answer in a header field, and libcurl's code and words in the description of an error.
///
/// Reading both here makes an answer and an error mean the same over URLSession as over libcurl.
package enum FoundationOutcome {
    /// The header field of a request with `limits`, which is never sent.
    package static let limitsField = "Drainq-Limits"
    /// The header field of an answer with its raw head.
    package static let headField = "Drainq-Head"

    /// The value of `limitsField`: the milliseconds a connection may take, and how many bytes of the answer's body are
    /// wanted. One more byte than fits shows that the answer was longer.
    package static func limits(of request: OutgoingRequest) -> String {
        "\(max(1, request.timeouts.connect.pollMilliseconds)) \(max(0, request.answerLimit) +| 1)"
    }

    /// The status and header fields in `digits`, the value of `headField`; `nil` if they are no whole head.
    package static func answer(fromHead digits: String) -> AttemptReport.Answer? {
        var head = AnswerHead()
        var line: [UInt8] = []
        var high: UInt8?
        for digit in digits.utf8 {
            let value = digit <= UInt8(ascii: "9") ? digit &- UInt8(ascii: "0") : digit &- UInt8(ascii: "a") &+ 10
            guard value < 16 else { return nil }
            guard let first = high else {
                high = value
                continue
            }
            high = nil
            line.append(first << 4 | value)
            if line.last == UInt8(ascii: "\n") {
                guard head.take(line) else { return nil }
                line = []
            }
        }
        return head.isComplete ? AttemptReport.Answer(status: head.status, headers: head.headers) : nil
    }

    /// The result of a transfer that ended with the error that `description` tells: libcurl's code, the system's error,
    /// the status of a proxy's answer to CONNECT, whether the connection stood, and libcurl's words. `nil` if the error is
    /// not libcurl's.
    package static func result(
        ofError description: String, answer: AttemptReport.Answer?, request: OutgoingRequest
    ) -> AttemptReport.Result? {
        guard let match = description.wholeMatch(of: /(\d+) (\d+) (\d+) ([01]): (.*)/.dotMatchesNewlines()),
            let code = Int32(match.1), let systemError = Int32(match.2), let proxyStatus = Int(match.3)
        else { return nil }
        // A refusal that was read stands, whatever happened to the rest of its body.
        if let answer, answer.status >= 300 { return .answer(answer) }
        let words = String(match.5)
        let detail = words.contains("://") || words.contains("@") ? "libcurl's error \(code)" : words
        switch proxyStatus {
        // The proxy wants credentials: that is an answer, though libcurl keeps its fields to itself.
        case 407: return .answer(AttemptReport.Answer(status: 407))
        case 300...: return .failure(.proxy, detail: detail)
        default:
            let failure = CurlFailure(
                code: code, words: words, systemError: systemError, hasStatus: answer != nil,
                wasConnected: match.4 == "1", isProxys: request.hasFailedAtProxy(words))
            return .failure(NetworkError(failure), detail: detail)
        }
    }
}
