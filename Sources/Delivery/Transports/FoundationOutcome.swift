package import Policy

/// The result of a transfer made by libcurl for Foundation. `FoundationCurl.c` passes it through URLSession: the raw
/// head of the answer in a header field, libcurl's code and message in the description of an error.
///
/// Both are read here, so an answer or an error means the same with URLSession as with libcurl.
package enum FoundationOutcome {
    /// The header field of a request that carries `limits`. It is never sent.
    package static let limitsField = "Drainq-Limits"
    /// The header field of an answer that carries its raw head.
    package static let headField = "Drainq-Head"

    /// Returns the value of `limitsField`: the milliseconds for a connection, the wanted bytes of the answer's body,
    /// one more than the limit, to show that an answer is longer, whether a proxy carries the request, and the
    /// request's ticket.
    package static func limits(of request: OutgoingRequest, ticket: Int) -> String {
        "\(max(1, request.timeouts.connect.pollMilliseconds)) \(max(0, request.answerLimit) +| 1) \(request.proxy == nil ? 0 : 1) \(ticket)"
    }

    /// Returns the status and header fields in `hexHead`, the value of `headField`: the raw head, each byte as two
    /// lower-case hexadecimal digits. `nil` if it is no final head.
    package static func answer(fromHead hexHead: String) -> AttemptReport.Answer? {
        var head = AnswerHead(over: 1)
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
                if !head.take(line) { break }
                line = []
            }
        }
        return head.isComplete ? AttemptReport.Answer(status: head.status, headers: head.headers) : nil
    }

    /// Returns the result of a transfer that ended with an error. `description` has libcurl's code, the `errno` of the
    /// connection and of its socket, the status of a proxy's answer to CONNECT, whether the connection was established,
    /// the server's last alert of TLS, and libcurl's message. `nil` if the error is not libcurl's.
    package static func result(
        ofError description: String, answer: AttemptReport.Answer?, request: OutgoingRequest
    ) -> AttemptReport.Result? {
        guard
            let match = description.wholeMatch(of: /(\d+) (\d+) (\d+) (\d+) ([01]) (-?\d+): (.*)/.dotMatchesNewlines()),
            let code = Int32(match.1), let systemError = Int32(match.2), let socketError = Int32(match.3),
            let proxyStatus = Int(match.4), let alert = Int(match.6)
        else { return nil }
        // A status ≥ 300 that was read counts, whatever happened to the rest of the body.
        if let answer, answer.status >= 300 { return .answer(answer) }
        let errorMessage = String(match.7)
        // The proxy requires credentials: an answer. libcurl does not give its fields.
        if proxyStatus == 407 { return .answer(AttemptReport.Answer(status: 407)) }
        let wasConnected = match.5 == "1"
        let failure = CurlFailure(
            code: code, errorMessage: errorMessage,
            systemError: CurlFailure.systemError(systemError, ofSocket: socketError, wasConnected: wasConnected),
            hasStatus: answer != nil, wasConnected: wasConnected, proxy: request.proxy, tunnelStatus: proxyStatus,
            alert: alert)
        return .failure(NetworkError(failure), detail: failure.words(general: "libcurl's error \(code)"))
    }
}
