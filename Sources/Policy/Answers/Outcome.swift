/// The outcome of an attempt, decided by `Classification` alone.
package enum Outcome: String, Hashable, Sendable, CaseIterable {
    /// The server accepted the operation.
    case delivered
    /// The operation is attempted again when the schedule says.
    case deferred
    /// The destination is to blame, and held until a person, a new credential or a probe ends the hold.
    case held
    /// The operation becomes a dead letter.
    case failed
}

/// The errors that can keep a usable answer from arriving. The configuration and the records use these names.
package enum NetworkError: String, Codable, Hashable, Sendable, CaseIterable {
    case dns
    case refused
    case unreachable
    case connectTimeout = "connect-timeout"
    /// No byte passed for the time `timeouts.request`.
    case timeout
    /// The whole attempt took longer than `timeouts.total`.
    case deadline
    case reset
    /// The connection closed before any answer.
    case emptyAnswer = "empty-answer"
    /// The answer ended before its announced length.
    case truncated
    case malformedAnswer = "malformed-answer"
    case tls
    case proxy
    /// The URL or the whole request cannot be sent with this transport; nothing was sent.
    case badURL = "bad-url"
    case offline
    /// This machine forbids the connection, or cannot open the body or the transport. Nothing was sent.
    case machine
    /// This machine had no descriptor, memory, buffer or port left for the attempt. Nothing was sent.
    case shortage
    /// The body file is no longer what it was when the operation was added; no whole request was sent.
    case bodyFileChanged = "body-file"
    /// The delivery agent died or was killed after this attempt had begun.
    case agentDied = "agent-died"
    /// This program cancelled the attempt, to stop in time.
    case cancelled
    /// None of the above; the detail has the transport's own words.
    case other

    /// Whether the server has certainly received nothing of the request.
    package var provesNotSent: Bool {
        switch self {
        // A proxy that cannot be reached, or does not connect, has not been given the request yet.
        case .dns, .refused, .badURL, .offline, .unreachable, .connectTimeout, .proxy, .machine, .shortage: true
        case .timeout, .deadline, .reset, .emptyAnswer, .truncated, .malformedAnswer, .tls, .bodyFileChanged,
            .agentDied, .cancelled, .other:
            false
        }
    }
}

/// The sink's report on one attempt: an answer, or the reason why there is none.
package struct AttemptReport: Hashable, Sendable {
    package enum Result: Hashable, Sendable {
        /// A whole answer arrived (its body possibly cut at the request's bound).
        case answer(Answer)
        case failure(NetworkError, detail: String)
    }

    package struct Answer: Hashable, Sendable {
        package var status: Int
        /// The header fields as received, with names in any case.
        package var headers: [HeaderField]
        /// The first bytes of the body, decoded, at most the request's `answerLimit`.
        package var body: [UInt8]
        /// Whether the rest of the body is not there: it is longer than the request's `answerLimit`, or cannot be read.
        /// Only the reader of the answer knows.
        package var isCut: Bool

        package init(status: Int, headers: [HeaderField] = [], body: [UInt8] = [], isCut: Bool = false) {
            self.status = status
            self.headers = headers
            self.body = body
            self.isCut = isCut
        }

        /// Returns the value of the first field of this name, compared without case (RFC 9110 §5.1).
        package func header(_ name: String) -> String? { headers.first { $0.isNamed(name) }?.value }
    }

    package var result: Result
    package var duration: Duration
    /// Whether the attempt ended because its delivery agent died or hung with several attempts in it. Another attempt
    /// may be to blame, so the operation is attempted again, alone, before it is charged.
    package var isSuspect: Bool
    /// Whether the attempt ended before it began, because its delivery agent did: nothing was sent. The run decides
    /// anew whether to send the operation.
    package var isUnbegun: Bool
    /// Whether the server cannot have read the request. The attempt does not count.
    package var isUnread: Bool
    /// Whether an HTTP/2 stream ended without its whole answer.
    package var hasBrokenStream: Bool

    package init(
        result: Result, duration: Duration, isSuspect: Bool = false, isUnbegun: Bool = false, isUnread: Bool = false,
        hasBrokenStream: Bool = false
    ) {
        self.result = result
        self.duration = duration
        self.isSuspect = isSuspect
        self.isUnbegun = isUnbegun
        self.isUnread = isUnread
        self.hasBrokenStream = hasBrokenStream
    }
}
