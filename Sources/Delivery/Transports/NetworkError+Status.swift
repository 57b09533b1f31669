import Policy

extension NetworkError {
    /// The name of the error after the answer's status was received: a lost connection has then truncated the answer.
    var afterStatus: NetworkError {
        switch self {
        case .reset, .emptyAnswer, .other: .truncated
        case .dns, .refused, .unreachable, .connectTimeout, .timeout, .deadline, .truncated, .malformedAnswer, .tls,
            .proxy, .badURL, .offline, .machine, .shortage, .bodyFileChanged, .agentDied, .cancelled:
            self
        }
    }
}
