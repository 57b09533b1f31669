/// The transport of a request, and the reason: `libcurl: proxy is configured`.
package struct TransportChoice: Hashable, Sendable, CustomStringConvertible {
    package var transport: Transport
    /// One line, without the transport's name.
    package var reason: String

    package var description: String { "\(transport.rawValue): \(reason)" }

    package init(_ transport: Transport, reason: String) {
        self.transport = transport
        self.reason = reason
    }

    /// The transports in the order in which `auto` takes them on this platform: the first that is installed and can
    /// carry the request.
    ///
    /// Answers and errors mean the same over both. On Linux libcurl is first because it keeps connections and speaks
    /// HTTP/2: a request over URLSession takes a connection, so a local port for a minute, and three to seven times the
    /// processor time. URLSession there also rewrites header fields and lacks the features of `LibcurlNeed`.
    #if os(Linux)
        package static let order: [Transport] = [.libcurl, .urlsession]
    #else
        package static let order: [Transport] = [.urlsession, .libcurl]
    #endif

    /// Returns the transport for a request, from the destination's settings, the features that the request needs, and
    /// the installed transports.
    ///
    /// Throws `noTransport` if no permitted transport can carry all of the request: no setting is ignored silently.
    package static func choose(
        for request: OutgoingRequest, settings: DestinationSettings, available: [Transport],
        order: [Transport] = TransportChoice.order
    ) throws(RequestError) -> TransportChoice {
        let need = LibcurlNeed.first(of: request)
        switch settings.transport {
        case .libcurl: return try forced(.libcurl, by: .key, need, available)
        case .urlsession: return try forced(.urlsession, by: .key, need, available)
        case .auto: break
        }
        if let transport = settings.transportOfEnvironment {
            return try forced(transport, by: .variable, need, available)
        }
        if let need {
            guard available.contains(.libcurl) else {
                throw .noTransport(
                    reason: "\(need) needs libcurl, which is not installed here: install it, or \(need.remedy)")
            }
            return TransportChoice(.libcurl, reason: need.reason)
        }
        guard let first = order.first(where: available.contains) else {
            throw .noTransport(reason: "neither drainq-urlsession nor libcurl is installed here: install one of them")
        }
        return TransportChoice(first, reason: first == order.first ? first.reasonToBeFirst : first.reasonToBeNext)
    }

    /// The setting that names the transport in place of the order.
    private enum Chooser: String {
        case key = "transport"
        case variable = "DRAINQ_TRANSPORT"

        var quoted: String { self == .key ? "'transport'" : rawValue }
        var remedy: String { self == .key ? "set it to 'auto'" : "unset it" }

        func assignment(of transport: Transport) -> String {
            self == .key ? "'transport: \"\(transport.rawValue)\"'" : "'\(rawValue)=\(transport.rawValue)'"
        }
    }

    /// Returns the transport that a destination's key or the environment names, if it is installed and can carry the
    /// request.
    private static func forced(
        _ transport: Transport, by chooser: Chooser, _ need: LibcurlNeed?, _ available: [Transport]
    ) throws(RequestError) -> TransportChoice {
        switch transport {
        case .libcurl:
            guard available.contains(.libcurl) else {
                throw .noTransport(
                    reason: "\(chooser.quoted) is 'libcurl', which is not installed here: install libcurl, "
                        + "or \(chooser.remedy)")
            }
        case .urlsession:
            if let need {
                throw .noTransport(
                    reason: "\(need) cannot be done by \(chooser.assignment(of: transport)): \(chooser.remedy), "
                        + "or \(need.remedy)")
            }
            guard available.contains(.urlsession) else {
                throw .noTransport(
                    reason: "\(chooser.quoted) is 'urlsession', whose program cannot run here: "
                        + "put drainq-urlsession beside drainq, mount /proc, or \(chooser.remedy)")
            }
        }
        return TransportChoice(transport, reason: "\(chooser.rawValue) is '\(transport.rawValue)'")
    }
}

extension Transport {
    /// Why `auto` takes this transport if it is first in the order.
    fileprivate var reasonToBeFirst: String {
        switch self {
        case .libcurl:
            "auto takes it first on Linux: it keeps connections, takes less processor time and has all features"
        case .urlsession: "auto takes it first on this platform"
        }
    }

    /// Why `auto` takes this transport although another transport is first in the order.
    fileprivate var reasonToBeNext: String {
        switch self {
        case .libcurl: "drainq-urlsession cannot run here"
        case .urlsession: "libcurl cannot be used here"
        }
    }
}

/// A feature that URLSession on Linux lacks.
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

    /// Returns the first such feature that a request needs; `nil` if none. Timeouts in milliseconds are none:
    /// URLSession's transport has its own timer. It sees a connection only by the first byte of a body: without a body
    /// a connect timeout needs libcurl, unless it is the default, or not below `timeouts.request`.
    static func first(of request: OutgoingRequest) -> LibcurlNeed? {
        let connection = request.connection
        let hasBody = request.body?.isEmpty == false || request.bodyFile != nil || request.bodyPart != nil
        switch connection.proxy {
        case .environment: break
        case .direct: return .direct
        case .url: return .proxy
        }
        if connection.caFile != nil { return .caFile }
        if connection.clientCertificate != nil { return .clientCertificate }
        if connection.unixSocket != nil { return .unixSocket }
        if request.url.hasBracketedHost { return .ipv6Host }
        // Reads from the checked descriptor, and never opens the file a second time by its path.
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

    var remedy: String {
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
    /// Whether the host of the url is an IPv6 literal.
    fileprivate var hasBracketedHost: Bool {
        utf8.drop { $0 != UInt8(ascii: ":") }.starts(with: "://[".utf8)
    }
}

extension Route {
    /// The transport for an ordinary operation of this route, without a url, method or file of its own.
    package func transportChoice(
        settings: DestinationSettings, available: [Transport]
    ) throws(RequestError) -> TransportChoice {
        // A route with a body template of its own sends a body by any method.
        let isRead = body.map(\.isEmpty) ?? ["GET", "HEAD", "DELETE", "OPTIONS"].contains(method)
        let request = OutgoingRequest(
            method: method, url: url ?? "", body: isRead ? nil : [0], timeouts: timeouts,
            connection: settings.connection)
        return try TransportChoice.choose(for: request, settings: settings, available: available)
    }
}
