/// Which transport makes a request, and why: `libcurl: proxy is configured`.
package struct TransportChoice: Hashable, Sendable, CustomStringConvertible {
    package var transport: Transport
    /// One line, without the transport's name.
    package var reason: String

    package var description: String { "\(transport.rawValue): \(reason)" }

    package init(_ transport: Transport, reason: String) {
        self.transport = transport
        self.reason = reason
    }

    /// The transport for a request, by what the configuration wants, what the request needs and what there is.
    ///
    /// A need that cannot be met is thrown: nothing that the configuration says is left out in silence.
    package static func choose(
        for request: OutgoingRequest, preference: TransportPreference, available: [Transport]
    ) throws(RequestError) -> TransportChoice {
        let need = LibcurlNeed.first(of: request)
        switch (preference, need) {
        case (.libcurl, _) where !available.contains(.libcurl):
            throw .noTransport(
                reason: "'transport' is 'libcurl', which is not installed here: install libcurl, or set it to 'auto'")
        case (.libcurl, _): return TransportChoice(.libcurl, reason: "transport is 'libcurl'")
        case (.urlsession, let need?):
            throw .noTransport(
                reason: "\(need) cannot be done by 'transport: \"urlsession\"': set it to 'auto', or \(need.wayOut)")
        case (.urlsession, nil):
            guard available.contains(.urlsession) else {
                throw .noTransport(
                    reason: "'transport' is 'urlsession', whose program is not installed here: "
                        + "put drainq-urlsession beside drainq, or set it to 'auto'")
            }
            return TransportChoice(.urlsession, reason: "transport is 'urlsession'")
        case (.auto, let need?):
            guard available.contains(.libcurl) else {
                throw .noTransport(
                    reason: "\(need) needs libcurl, which is not installed here: install it, or \(need.wayOut)")
            }
            return TransportChoice(.libcurl, reason: need.reason)
        case (.auto, nil):
            if available.contains(.urlsession) {
                return TransportChoice(.urlsession, reason: "nothing asks for libcurl")
            }
            guard available.contains(.libcurl) else {
                throw .noTransport(
                    reason: "neither drainq-urlsession nor libcurl is installed here: install one of them")
            }
            return TransportChoice(.libcurl, reason: "drainq-urlsession is not installed here")
        }
    }
}

/// What URLSession on Linux cannot do (FACTS §1).
private enum LibcurlNeed: CustomStringConvertible {
    case proxy
    case direct
    case caFile
    case clientCertificate
    case unixSocket
    case ipv6Host
    case connectTimeout
    case bodyOfGET
    case bodyFile

    /// Milliseconds need none: URLSession's transport keeps them by a timer of its own. The time to connect it can tell
    /// from the first byte of a body alone; only one that somebody has set, other than the default, is worth libcurl.
    static func first(of request: OutgoingRequest) -> LibcurlNeed? {
        let connection = request.connection
        let hasBody = request.body?.isEmpty == false || request.bodyFile != nil
        switch connection.proxy {
        case .environment: break
        case .direct: return .direct
        case .url: return .proxy
        }
        if connection.caFile != nil { return .caFile }
        if connection.clientCertificate != nil { return .clientCertificate }
        if connection.unixSocket != nil { return .unixSocket }
        if request.url.hasBracketedHost { return .ipv6Host }
        // Read from the descriptor that was checked, never opened a second time by its path.
        if request.bodyFile != nil { return .bodyFile }
        if request.method == "GET", hasBody { return .bodyOfGET }
        let connect = request.timeouts.connect
        if !hasBody, connect != Timeouts().connect, connect < request.timeouts.request { return .connectTimeout }
        return nil
    }

    var description: String {
        switch self {
        case .proxy: "'proxy'"
        case .direct: "'proxy: \"direct\"'"
        case .caFile: "'caFile'"
        case .clientCertificate: "'clientCertificate'"
        case .unixSocket: "'unixSocket'"
        case .ipv6Host: "a host that is an IPv6 address"
        case .connectTimeout: "'timeouts.connect' of a request without a body"
        case .bodyOfGET: "a GET with a body"
        case .bodyFile: "a 'bodyFile'"
        }
    }

    var reason: String {
        switch self {
        case .proxy: "proxy is configured"
        case .direct: "proxy is 'direct'"
        case .caFile: "caFile is configured"
        case .clientCertificate: "clientCertificate is configured"
        case .unixSocket: "unixSocket is configured"
        case .ipv6Host: "the host is an IPv6 address"
        case .connectTimeout: "timeouts.connect is configured, and the request has no body"
        case .bodyOfGET: "a GET has a body"
        case .bodyFile: "the body is streamed from a file"
        }
    }

    var wayOut: String {
        switch self {
        case .proxy: "name the proxy in the environment"
        case .direct: "name the host in the environment's no_proxy"
        case .caFile: "add the certificate to the system's"
        case .clientCertificate, .unixSocket: "remove it"
        case .ipv6Host: "give the address a name"
        case .connectTimeout: "remove it"
        case .bodyOfGET: "use another method"
        case .bodyFile: "give the body itself"
        }
    }
}

extension String {
    /// Of a url: whether its host is an IPv6 literal.
    fileprivate var hasBracketedHost: Bool {
        utf8.drop { $0 != UInt8(ascii: ":") }.starts(with: "://[".utf8)
    }
}

extension Route {
    /// The transport that an ordinary operation of this route takes: one that brings no url, method or file of its own.
    package func transportChoice(
        settings: DestinationSettings, available: [Transport]
    ) throws(RequestError) -> TransportChoice {
        let isRead = ["GET", "HEAD", "DELETE", "OPTIONS"].contains(method)
        let request = OutgoingRequest(
            method: method, url: url ?? "", body: isRead ? nil : [0], timeouts: timeouts,
            connection: settings.connection)
        return try TransportChoice.choose(for: request, preference: settings.transport, available: available)
    }
}
