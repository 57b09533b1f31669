package import Policy

/// The result of a transfer that libcurl made for Foundation. `FoundationCurl.c` passes it through URLSession: the raw
/// head of the answer in a header field, libcurl's code and message in the description of an error.
///
/// Both are read here, so an answer or an error means the same with URLSession as with libcurl.
package enum FoundationOutcome {
    /// The header field of a request that carries `limits`. It is never sent.
    package static let limitsField = "Drainq-Limits"
    /// The header field of an answer that carries its raw head.
    package static let headField = "Drainq-Head"

    /// Returns the value of `limitsField`: the milliseconds that a connection may take, and the bytes of the answer's
    /// body that are wanted: one more than the limit, to show that an answer is longer.
    package static func limits(of request: OutgoingRequest) -> String {
        "\(max(1, request.timeouts.connect.pollMilliseconds)) \(max(0, request.answerLimit) +| 1)"
    }

    /// Returns the status and header fields in `hexHead`, the value of `headField`: the raw head, each byte as two
    /// lower-case hexadecimal digits. `nil` if it is not a whole head.
    package static func answer(fromHead hexHead: String) -> AttemptReport.Answer? {
        var head = AnswerHead()
        var line: [UInt8] = []
        var high: UInt8?
        for digit in hexHead.utf8 {
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

    /// Returns the result of a transfer that ended with an error. `description` has libcurl's code, the system's error,
    /// the status of a proxy's answer to CONNECT, whether the connection was established, and libcurl's message. `nil`
    /// if the error is not libcurl's.
    package static func result(
        ofError description: String, answer: AttemptReport.Answer?, request: OutgoingRequest
    ) -> AttemptReport.Result? {
        guard let match = description.wholeMatch(of: /(\d+) (\d+) (\d+) ([01]): (.*)/.dotMatchesNewlines()),
            let code = Int32(match.1), let systemError = Int32(match.2), let proxyStatus = Int(match.3)
        else { return nil }
        // A status ≥ 300 that was read counts, whatever happened to the rest of the body.
        if let answer, answer.status >= 300 { return .answer(answer) }
        let errorMessage = String(match.5)
        // The message might quote a URL with a secret.
        let detail =
            errorMessage.contains("://") || errorMessage.contains("@") ? "libcurl's error \(code)" : errorMessage
        switch proxyStatus {
        // The proxy requires credentials: an answer. libcurl does not give its fields.
        case 407: return .answer(AttemptReport.Answer(status: 407))
        case 300...: return .failure(.proxy, detail: detail)
        default:
            let failure = CurlFailure(
                code: code, errorMessage: errorMessage, systemError: systemError, hasStatus: answer != nil,
                wasConnected: match.4 == "1", isFromProxy: request.hasFailedAtProxy(errorMessage))
            return .failure(NetworkError(failure), detail: detail)
        }
    }
}
