import Testing

@testable import Policy

struct TransportChoiceTests {
    static let body: [UInt8] = [0x31]
    static func request(
        _ connection: ConnectionOptions = ConnectionOptions(), method: String = "POST", url: String = "https://a/",
        body: [UInt8]? = body, bodyFile: BodyFile? = nil, connect: Duration = Timeouts().connect
    ) -> OutgoingRequest {
        OutgoingRequest(
            method: method, url: url, body: body, bodyFile: bodyFile, timeouts: Timeouts(connect: connect),
            connection: connection)
    }

    static let needs: [(OutgoingRequest, String, String)] = [
        (request(ConnectionOptions(proxy: .url("http://p"))), "proxy is configured", "'proxy'"),
        (request(ConnectionOptions(proxy: .direct)), "proxy is 'direct'", "'proxy: \"direct\"'"),
        (request(ConnectionOptions(caFile: "/c")), "caFile is configured", "'caFile'"),
        (
            request(ConnectionOptions(clientCertificate: .init(certificateFile: "/c"))),
            "clientCertificate is configured",
            "'clientCertificate'"
        ),
        (request(ConnectionOptions(unixSocket: "/s")), "unixSocket is configured", "'unixSocket'"),
        (request(url: "http://[::1]:80/"), "the host is an IPv6 address", "a host that is an IPv6 address"),
        (
            request(body: nil, bodyFile: BodyFile(path: "/f", length: 0, modified: 0, inode: 0)),
            "the body is streamed from a file", "a 'bodyFile'"
        ),
        (request(method: "GET"), "a GET has a body", "a GET with a body"),
        (
            request(method: "GET", body: nil, connect: .seconds(2)),
            "timeouts.connect is configured, and the request has no body",
            "'timeouts.connect' of a request without a body"
        ),
        (
            request(body: [], connect: .seconds(2)),
            "timeouts.connect is configured, and the request has no body",
            "'timeouts.connect' of a request without a body"
        ),
    ]

    static let orders: [[Transport]] = [[.libcurl, .urlsession], [.urlsession, .libcurl]]

    static func choose(
        _ request: OutgoingRequest = request(), _ preference: TransportPreference = .auto,
        variable: Transport? = nil, available: [Transport] = Transport.allCases,
        order: [Transport] = TransportChoice.order
    ) throws -> String {
        var settings = DestinationSettings(transport: preference)
        settings.transportOfEnvironment = variable
        do {
            return try TransportChoice.choose(
                for: request, settings: settings, available: available, order: order
            ).description
        } catch {
            #expect(error.outcome == .held)
            return "\(error)"
        }
    }

    @Test(arguments: needs.indices, orders)
    func `a request beyond URLSession takes libcurl in each order, or is refused with a way out`(
        index: Int, order: [Transport]
    ) throws {
        let (request, reason, name) = Self.needs[index]
        #expect(try Self.choose(request, order: order) == "libcurl: \(reason)")
        for (said, beginning) in [
            (
                try Self.choose(request, available: [.urlsession], order: order),
                "\(name) needs libcurl, which is not installed here: install it, or "
            ),
            (
                try Self.choose(request, .urlsession, order: order),
                "\(name) cannot be done by 'transport: \"urlsession\"': set it to 'auto', or "
            ),
            (
                try Self.choose(request, variable: .urlsession, order: order),
                "\(name) cannot be done by 'DRAINQ_TRANSPORT=urlsession': unset it, or "
            ),
        ] {
            #expect(said.hasPrefix(beginning) && said.count > beginning.count, "\(said)")
        }
    }

    @Test(arguments: [
        request(), request(body: nil), request(method: "GET", body: nil), request(method: "GET", body: []),
        request(connect: .milliseconds(1500)), request(method: "GET", body: nil, connect: .seconds(60)),
        request(url: "http://127.0.0.1/"),
    ])
    func `a request both transports support takes the first installed transport`(request: OutgoingRequest) throws {
        let (curl, session) = (Self.orders[0], Self.orders[1])
        #expect(
            try Self.choose(request, order: curl)
                == "libcurl: auto takes it first on Linux: it keeps connections, takes less processor time and has all features"
        )
        #expect(try Self.choose(request, order: session) == "urlsession: auto takes it first on this platform")
        #expect(
            try Self.choose(request, available: [.urlsession], order: curl) == "urlsession: libcurl cannot be used here"
        )
        #expect(
            try Self.choose(request, available: [.libcurl], order: session)
                == "libcurl: drainq-urlsession cannot run here")
        for order in Self.orders {
            #expect(
                try Self.choose(request, available: [], order: order)
                    .contains("neither drainq-urlsession nor libcurl is installed here"))
        }
    }

    @Test func `libcurl is the first transport on Linux, and URLSession elsewhere`() {
        #if os(Linux)
            #expect(TransportChoice.order == [.libcurl, .urlsession])
        #else
            #expect(TransportChoice.order == [.urlsession, .libcurl])
        #endif
    }

    @Test(arguments: orders)
    func `either transport can be named, and the destination precedes the environment`(order: [Transport]) throws {
        for (preference, transport) in [(TransportPreference.urlsession, Transport.urlsession), (.libcurl, .libcurl)] {
            for variable in [nil, Transport.urlsession, .libcurl] {
                #expect(
                    try Self.choose(Self.request(), preference, variable: variable, order: order)
                        == "\(transport.rawValue): transport is '\(transport.rawValue)'")
            }
            #expect(
                try Self.choose(variable: transport, order: order)
                    == "\(transport.rawValue): DRAINQ_TRANSPORT is '\(transport.rawValue)'")
        }
    }

    @Test func `a named but missing transport is refused with a way out`() throws {
        #expect(
            try Self.choose(Self.request(), .libcurl, available: [.urlsession])
                == "'transport' is 'libcurl', which is not installed here: install libcurl, or set it to 'auto'")
        #expect(
            try Self.choose(variable: .libcurl, available: [.urlsession])
                == "DRAINQ_TRANSPORT is 'libcurl', which is not installed here: install libcurl, or unset it")
        #expect(
            try Self.choose(Self.request(), .urlsession, available: [.libcurl])
                == "'transport' is 'urlsession', whose program cannot run here: put drainq-urlsession beside "
                + "drainq, mount /proc, or set it to 'auto'")
        #expect(
            try Self.choose(variable: .urlsession, available: [.libcurl])
                == "DRAINQ_TRANSPORT is 'urlsession', whose program cannot run here: put drainq-urlsession beside "
                + "drainq, mount /proc, or unset it")
    }

    @Test func `the variable reaches each destination's settings`() {
        var configuration = Configuration(defaultRoute: Route(url: "https://a/"), routes: [:])
        configuration.transportOfEnvironment = .urlsession
        configuration.destinations["https://a"] = DestinationSettings(transport: .libcurl)
        let table = DestinationTable(configuration)
        for type in ["default", "other"] {
            let destination = table.destination(
                of: EntryName(
                    createdAt: Timestamp(microseconds: 0), id: OperationID("0")!, type: TypeName(type)!))
            #expect(table.settings(of: destination).transportOfEnvironment == .urlsession)
        }
    }

    @Test func `a route's transport can be determined before a request`() throws {
        let settings = DestinationSettings(connection: ConnectionOptions(caFile: "/c"))
        let route = Route(url: "https://a/{id}?k=${secret:x}")
        #expect(try route.transportChoice(settings: settings, available: Transport.allCases).transport == .libcurl)
        #expect(
            try route.transportChoice(settings: DestinationSettings(), available: Transport.allCases).transport
                == TransportChoice.order.first)
        let get = Route(url: "https://a/", method: "GET", timeouts: Timeouts(connect: .seconds(1)))
        #expect(
            try get.transportChoice(settings: DestinationSettings(), available: Transport.allCases).transport
                == .libcurl)
        #expect(
            try Route(url: "http://[::1]/").transportChoice(settings: settings, available: Transport.allCases).transport
                == .libcurl)
    }

    @Test func `connection, redirects and transport are copied into the request`() throws {
        let operation = Operation(
            header: OperationHeader(id: OperationID("a")!, createdAt: Timestamp(microseconds: 0)), body: [])
        let connection = ConnectionOptions(proxy: .direct, caFile: "/c", unixSocket: "/s")
        let request = try RequestForm(Route(url: "https://a", redirects: .sameOrigin)).request(
            for: operation, attempt: 1, version: "1", settings: DestinationSettings(connection: connection),
            available: Transport.allCases)
        #expect(request.connection == connection)
        #expect(request.redirects == .sameOrigin)
        #expect(request.transport == .libcurl)
    }
}
