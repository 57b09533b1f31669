/// The outcome of an attempt. `Classification` alone decides it.
package enum Outcome: String, Hashable, Sendable, CaseIterable {
    /// The server took it; the file goes.
    case delivered
    /// Not now; the schedule says when.
    case deferred
    /// The destination waits for a person, a credential or a cool-down; the operation is blameless.
    case held
    /// Given up: dead letter.
    case failed
}

/// Everything that can keep a usable answer from arriving, by name. The names are the configuration's and the record's.
package enum NetworkError: String, Hashable, Sendable, CaseIterable {
    case dns
    case refused
    case unreachable
    case connectTimeout = "connect-timeout"
    /// No byte for as long as `timeouts.request`.
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
    /// The URL cannot be requested with this transport; nothing was sent.
    case badURL = "bad-url"
    case offline
    /// The body file is not, or ceased to be, what it was when the operation was added; nothing arrived whole.
    case bodyFileChanged = "body-file"
    /// The delivery agent died or had to be killed when this attempt had begun.
    case agentDied = "agent-died"
    /// The attempt was cancelled by this program, to stop in time.
    case cancelled
    /// None of the above; the detail has the transport's own words.
    case other

    /// Whether it is certain that the server saw nothing of the request.
    package var provesNotSent: Bool {
        switch self {
        // A proxy that cannot be reached, or makes no connection, has been given no request yet.
        case .dns, .refused, .badURL, .offline, .unreachable, .connectTimeout, .proxy: true
        case .timeout, .deadline, .reset, .emptyAnswer, .truncated, .malformedAnswer, .tls, .bodyFileChanged,
            .agentDied, .cancelled, .other:
            false
        }
    }
}

/// The sink's report on one attempt: an answer, or the reason why there is none.
package struct AttemptReport: Hashable, Sendable {
    package enum Result: Hashable, Sendable {
        /// A whole answer arrived (its body possibly cut at the bound that the request set).
        case answer(Answer)
        case failure(NetworkError, detail: String)
    }

    package struct Answer: Hashable, Sendable {
        package var status: Int
        /// As received, names in any case.
        package var headers: [HeaderField]
        /// The first bytes of the body, at most the request's `answerLimit`.
        package var body: [UInt8]

        package init(status: Int, headers: [HeaderField] = [], body: [UInt8] = []) {
            self.status = status
            self.headers = headers
            self.body = body
        }

        /// The first field of that name, compared without case (RFC 9110 §5.1).
        package func header(_ name: String) -> String? {
            headers.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    package var result: Result
    package var duration: Duration
    /// Whether the attempt ended because its delivery agent died or hung with several attempts in it. Another attempt may
    /// be to blame, so the operation is attempted again, alone, before it is charged.
    package var isSuspect: Bool

    package init(result: Result, duration: Duration, isSuspect: Bool = false) {
        self.result = result
        self.duration = duration
        self.isSuspect = isSuspect
    }
}
