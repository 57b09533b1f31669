import CSystem
import Policy

/// The facts about a failed libcurl transfer that decide the name of its error.
struct CurlFailure {
    /// libcurl's result, a CURLcode.
    var code: Int32
    /// libcurl's message.
    var errorMessage = ""
    /// The `errno` of a connection that failed.
    var systemError: Int32 = 0
    /// Whether a final status had been received.
    var hasStatus = false
    /// Whether the connection was established, through proxy and TLS, and the request had begun to leave.
    var wasConnected = false
    /// Whether the failed connection was one to a proxy.
    var isFromProxy = false
}

extension NetworkError {
    /// Names the error of a transfer. The message decides only if one code has several meanings.
    init(_ failure: CurlFailure) {
        let name = Self.name(of: failure)
        self = failure.hasStatus ? name.afterStatus : name
    }

    private static func name(of failure: CurlFailure) -> NetworkError {
        let spoken = NetworkError(errorMessage: failure.errorMessage)
        switch failure.code {
        case 1: return failure.wasConnected ? .malformedAnswer : .badURL  // HTTP/0.9 is an unsupported protocol too
        case 3, 67: return .badURL
        case 5, 97: return .proxy
        case 6: return .dns
        case 7:
            if failure.isFromProxy { return .proxy }
            switch failure.systemError {
            case ENETUNREACH, EHOSTUNREACH, ENETDOWN: return .unreachable
            case ETIMEDOUT: return .connectTimeout
            default: return .refused
            }
        case 27: return failure.wasConnected ? .malformedAnswer : .other  // a header line that is too long
        case 28:
            if spoken == .dns || spoken == .proxy { return spoken ?? .other }
            if failure.wasConnected { return .timeout }
            return failure.isFromProxy ? .proxy : .connectTimeout
        case 35: return failure.isFromProxy ? .proxy : spoken ?? .tls
        case 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98: return failure.isFromProxy ? .proxy : .tls
        case 18: return .truncated
        case 52: return .emptyAnswer
        case 55, 56, 65, 92: return spoken ?? .reset
        // libcurl has a message for input that it cannot read, and none if a GOAWAY ends the connection.
        case 16:
            return failure.errorMessage.isEmpty || failure.errorMessage.hasPrefix("Error in the HTTP2")
                ? .reset : .malformedAnswer
        case 8, 61, 100: return .malformedAnswer
        default: return spoken ?? .other
        }
    }
}
