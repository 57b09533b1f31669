/// The transport of a request, and the reason: `libcurl: proxy is configured`.
package struct TransportChoice: Hashable, Sendable, CustomStringConvertible {
    package var transport: Transport
    /// One line, without the transport's name.
    package var reason: String

    package var description: String { "\(transport.rawValue): \(reason)" }

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
        let hasBody = request.body?.isEmpty == false || request.bodyPart != nil
        return try choose(
            for: request.base.values, hasBody: hasBody, settings: settings, available: available, order: order)
    }

    /// Returns the transport for a request with this base. `hasBody`: the request has a body besides a file.
    static func choose(
        for request: RequestBase.Values, hasBody: Bool, settings: DestinationSettings, available: [Transport],
        order: [Transport] = TransportChoice.order
    ) throws(RequestError) -> TransportChoice {
        let need = LibcurlNeed(of: request, hasBody: hasBody || request.bodyFile != nil)
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
            return TransportChoice(transport: .libcurl, reason: need.reason)
        }
        guard let first = order.first(where: available.contains) else {
            throw .noTransport(reason: "neither drainq-urlsession nor libcurl is installed here: install one of them")
        }
        return TransportChoice(
            transport: first, reason: first == order.first ? first.reasonToBeFirst : first.reasonToBeNext)
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

    /// Returns the transport that a destination's key or the environment names, if it can carry the request.
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
        return TransportChoice(transport: transport, reason: "\(chooser.rawValue) is '\(transport.rawValue)'")
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
private struct LibcurlNeed: CustomStringConvertible {
    var description: String
    var reason: String
    var remedy: String

    private init(_ description: String, _ reason: String, remedy: String) {
        (self.description, self.reason, self.remedy) = (description, reason, remedy)
    }

    /// Makes the first such feature that a request needs; `nil` if it needs none.
    ///
    /// Timeouts in milliseconds are none of them: URLSession's transport has its own timer.
    init?(of request: RequestBase.Values, hasBody: Bool) {
        let connection = request.connection
        if connection.proxy == .direct {
            self.init("'proxy: \"direct\"'", "proxy is 'direct'", remedy: "name the host in the environment's no_proxy")
        } else if connection.proxy != .environment {
            self.init("'proxy'", "proxy is configured", remedy: "name the proxy in the environment")
        } else if connection.caFile != nil {
            self.init("'caFile'", "caFile is configured", remedy: "add the certificate to the system's")
        } else if connection.clientCertificate != nil {
            self.init("'clientCertificate'", "clientCertificate is configured", remedy: "remove it")
        } else if connection.unixSocket != nil {
            self.init("'unixSocket'", "unixSocket is configured", remedy: "remove it")
        } else if request.url.hasBracketedHost {
            self.init(
                "a host that is an IPv6 address", "the host is an IPv6 address", remedy: "give the address a name")
        } else if request.bodyFile != nil {
            // Reads from the checked descriptor, and never opens the file a second time by its path.
            self.init("a 'bodyFile'", "the body is streamed from a file", remedy: "give the body itself")
        } else if request.method == "GET", hasBody {
            self.init("a GET with a body", "a GET has a body", remedy: "use another method")
        } else if !hasBody, request.timeouts.connect != Timeouts().connect,
            request.timeouts.connect < request.timeouts.request
        {
            // URLSession's transport sees a connection only by the first byte of a body.
            self.init(
                "'timeouts.connect' of a request without a body",
                "timeouts.connect is configured, and the request has no body", remedy: "remove it")
        } else {
            return nil
        }
    }
}

extension String {
    /// Whether the host of the url, behind `http://` or `https://`, is an IPv6 literal.
    fileprivate var hasBracketedHost: Bool { utf8.prefix(9).contains(UInt8(ascii: "[")) }
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
