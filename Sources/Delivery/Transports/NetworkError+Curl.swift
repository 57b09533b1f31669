import CSystem
import Policy

/// The facts about a failed libcurl transfer that decide the name of its error.
struct CurlFailure {
    /// libcurl's result, a CURLcode.
    var code: Int32
    /// libcurl's message.
    var errorMessage = ""
    /// The `errno` of a failed connection.
    var systemError: Int32 = 0
    /// Whether a final status had been received.
    var hasStatus = false
    /// Whether the connection was established, through proxy and TLS, and the request had begun to leave.
    var wasConnected = false
    /// The proxy of the request; `nil` without one.
    var proxy: String?
    /// The status of the proxy's answer to CONNECT; 0 without one.
    var tunnelStatus = 0
    /// The last alert that the server has sent over TLS; -1 for none or an unknown one.
    var alert = -1

    /// Whether the server has refused the client's certificate, or that there is none, by an alert of TLS. Over TLS 1.3
    /// it does so when the client has sent its request (RFC 8446 §4.4.2.4).
    var isRefusal: Bool { !hasStatus && !NetworkError.isAboutTLS(code) && Self.refusals[alert] != nil }

    /// The alerts about a certificate, and their names (RFC 8446 §6).
    private static let refusals = [
        40: "handshake_failure", 41: "no_certificate", 42: "bad_certificate", 43: "unsupported_certificate",
        44: "certificate_revoked", 45: "certificate_expired", 46: "certificate_unknown", 48: "unknown_ca",
        49: "access_denied", 51: "decrypt_error", 116: "certificate_required",
    ]

    /// Whether the transfer ended before the proxy had passed anything on: at the proxy, in its handshake, or in its
    /// answer to CONNECT. Afterwards, and in TLS through a SOCKS proxy, the destination may have failed.
    var isFromProxy: Bool {
        guard let proxy, !wasConnected, !(200..<300).contains(tunnelStatus), !Self.isOfThisSide(code) else {
            return false
        }
        return !(proxy.lowercased().begins(with: "socks") && NetworkError.isAboutTLS(code))
    }

    /// Returns the words about the failure: the system's if this machine is to blame, else libcurl's message, or
    /// `general` if there is no message or if it might quote a URL with a secret.
    func words(general: String) -> String {
        if !wasConnected, NetworkError.ofThisMachine(systemError) != nil {
            return "cannot connect: \(Errno(systemError))"
        }
        if isRefusal, let name = Self.refusals[alert] {
            return "the server ended TLS with the alert \(name): it may want another client certificate"
        }
        if code == 23 { return "the answer's body goes on behind the end of its coding" }
        return errorMessage.isEmpty || errorMessage.contains("://") || errorMessage.contains("@")
            ? general : errorMessage
    }

    /// Returns whether a code is about the request, this process, or files of this machine, and no peer.
    private static func isOfThisSide(_ code: Int32) -> Bool { [1, 3, 27, 43, 58, 67, 77].contains(code) }

    /// Returns the `errno` that explains why a connection was not established: libcurl's, a failed socket(2)'s, or this
    /// process's if it has no descriptor left for a resolver or a file. 0 if there is none.
    static func systemError(_ ofConnection: Int32, ofSocket: Int32, wasConnected: Bool) -> Int32 {
        if wasConnected { return ofConnection }
        if NetworkError.ofThisMachine(ofSocket) != nil { return ofSocket }
        if ofConnection != 0 || ofSocket != 0 { return ofConnection != 0 ? ofConnection : ofSocket }
        return Errno.shortage()?.code ?? 0
    }
}

extension NetworkError {
    /// Names the error of a transfer. The message decides only if a code has several meanings.
    init(_ failure: CurlFailure) {
        let name = Self.name(of: failure)
        self = failure.hasStatus ? name.afterStatus : name
    }

    private static func name(of failure: CurlFailure) -> NetworkError {
        let spoken = NetworkError(errorMessage: failure.errorMessage)
        if !failure.wasConnected, let own = failure.code == 27 ? .shortage : ofThisMachine(failure.systemError) {
            return own
        }
        if failure.isFromProxy { return spoken == .dns && failure.code == 97 ? .dns : .proxy }
        if failure.isRefusal { return .tls }
        if isAboutTLS(failure.code) { return failure.code == 35 ? spoken ?? .tls : .tls }
        switch failure.code {
        case 1: return failure.wasConnected ? .malformedAnswer : .badURL  // HTTP/0.9 is an unsupported protocol too
        case 3, 67: return .badURL
        case 5, 97: return .proxy
        case 6: return .dns
        case 7: return name(ofSystemError: failure.systemError)
        case 27: return .malformedAnswer  // a header line that is too long
        case 28:
            if failure.wasConnected { return .timeout }
            return spoken == .dns ? .dns : .connectTimeout
        // The connection has ended, over HTTP/2 with an open stream.
        case 18: return failure.hasStatus ? .truncated : .emptyAnswer
        case 52: return .emptyAnswer
        case 92: return .reset
        case 55, 56, 65: return spoken == .malformedAnswer || spoken == .tls ? spoken! : .reset
        // libcurl has a message for unreadable input, and none if a GOAWAY ends the connection.
        case 16:
            return failure.errorMessage.isEmpty || failure.errorMessage.begins(with: "Error in the HTTP2")
                ? .reset : .malformedAnswer
        case 8, 23, 61, 100: return .malformedAnswer  // 23: data behind the end of the body's coding
        default: return spoken ?? .other
        }
    }

    /// Returns whether a code of libcurl is about TLS: its handshake, its certificates or its library.
    static func isAboutTLS(_ code: Int32) -> Bool {
        [35, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98].contains(code)
    }

    /// Names the error of a failed connection, by the `errno` of socket(2) or connect(2).
    private static func name(ofSystemError code: Int32) -> NetworkError {
        switch code {
        case ENETUNREACH, EHOSTUNREACH, ENETDOWN, EHOSTDOWN, EAFNOSUPPORT, EPROTONOSUPPORT: .unreachable
        case ETIMEDOUT: .connectTimeout
        default: .refused
        }
    }

    /// Returns `shortage` if an `errno` of open(2), pipe(2) or fork(2) says that this machine has nothing left; else
    /// `nil`.
    static func shortage(behind error: Errno) -> NetworkError? {
        error.code == EAGAIN || ofThisMachine(error.code) == .shortage ? .shortage : nil
    }

    /// Names an `errno` of socket(2), connect(2) or open(2) for which this machine is to blame: it has no descriptor,
    /// memory, buffer or port left, or forbids the call. `nil` for every other `errno`.
    static func ofThisMachine(_ code: Int32) -> NetworkError? {
        switch code {
        case EMFILE, ENFILE, ENOMEM, ENOBUFS, EADDRNOTAVAIL, EADDRINUSE: .shortage
        case EACCES, EPERM: .machine
        default: nil
        }
    }
}
