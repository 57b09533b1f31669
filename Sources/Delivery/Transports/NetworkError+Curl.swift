import CSystem
import Policy

/// How a transfer of libcurl's ended without an answer, as far as its name depends on it.
struct CurlFailure {
    /// libcurl's result, a CURLcode.
    var code: Int32
    /// libcurl's own words.
    var words = ""
    /// The `errno` of a connection that did not come about.
    var systemError: Int32 = 0
    /// A final status had been received.
    var hasStatus = false
    /// The connection stood, through proxy and TLS, and the request was on its way.
    var wasConnected = false
    /// The connection that failed was one to a proxy.
    var isProxys = false
}

extension NetworkError {
    /// The name of what libcurl ended with. Words decide only where one code means several things.
    init(_ failure: CurlFailure) {
        let name = Self.name(of: failure)
        self = failure.hasStatus ? name.afterStatus : name
    }

    private static func name(of failure: CurlFailure) -> NetworkError {
        let spoken = NetworkError(words: failure.words)
        switch failure.code {
        case 1: return failure.wasConnected ? .malformedAnswer : .badURL  // HTTP/0.9 is an unsupported protocol, too
        case 3, 67: return .badURL
        case 5, 97: return .proxy
        case 6: return .dns
        case 7:
            if failure.isProxys { return .proxy }
            switch failure.systemError {
            case ENETUNREACH, EHOSTUNREACH, ENETDOWN: return .unreachable
            case ETIMEDOUT: return .connectTimeout
            default: return .refused
            }
        case 27: return failure.wasConnected ? .malformedAnswer : .other  // a header line longer than it takes
        case 28:
            if spoken == .dns || spoken == .proxy { return spoken ?? .other }
            if failure.wasConnected { return .timeout }
            return failure.isProxys ? .proxy : .connectTimeout
        case 35: return failure.isProxys ? .proxy : spoken ?? .tls
        case 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98: return failure.isProxys ? .proxy : .tls
        case 18: return .truncated
        case 52: return .emptyAnswer
        case 55, 56, 65, 92: return spoken ?? .reset
        // libcurl has words of its own for what it cannot read, and none where a GOAWAY ends the connection.
        case 16:
            return failure.words.isEmpty || failure.words.hasPrefix("Error in the HTTP2") ? .reset : .malformedAnswer
        case 8, 61, 100: return .malformedAnswer
        default: return spoken ?? .other
        }
    }
}
