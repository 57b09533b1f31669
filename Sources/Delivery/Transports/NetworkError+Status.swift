import Policy

extension NetworkError {
    /// The name of the error if the status of the answer had been received: a connection that is lost after it has cut the
    /// answer off.
    var afterStatus: NetworkError {
        switch self {
        case .reset, .emptyAnswer, .other: .truncated
        case .dns, .refused, .unreachable, .connectTimeout, .timeout, .deadline, .truncated, .malformedAnswer, .tls,
            .proxy, .badURL, .offline, .bodyFileChanged, .agentDied, .cancelled:
            self
        }
    }
}
