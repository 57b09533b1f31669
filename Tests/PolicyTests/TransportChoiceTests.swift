import Policy
import Testing

@Suite struct TransportChoiceTests {
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

    @Test(arguments: needs.indices)
    func `what URLSession cannot do is libcurl's, and without it is refused with a way out`(index: Int) throws {
        let (request, reason, name) = Self.needs[index]
        let choice = try TransportChoice.choose(for: request, preference: .auto, available: Transport.allCases)
        #expect(choice.description == "libcurl: \(reason)")
        for (preference, available, beginning) in [
            (
                TransportPreference.auto, [.urlsession],
                "\(name) needs libcurl, which is not installed here: install it, or "
            ),
            (
                .urlsession, Transport.allCases,
                "\(name) cannot be done by 'transport: \"urlsession\"': set it to 'auto', or "
            ),
        ] {
            #expect {
                try TransportChoice.choose(for: request, preference: preference, available: available)
            } throws: { error in
                guard case .noTransport(let reason) = error as? RequestError else { return false }
                return reason.hasPrefix(beginning) && reason.count > beginning.count
                    && (error as? RequestError)?.outcome == .held
            }
        }
    }

    @Test(arguments: [
        request(), request(body: nil), request(method: "GET", body: nil), request(method: "GET", body: []),
        request(connect: .milliseconds(1500)), request(method: "GET", body: nil, connect: .seconds(60)),
        request(url: "http://127.0.0.1/"),
    ])
    func `defaults ask for nothing`(request: OutgoingRequest) throws {
        let choice = try TransportChoice.choose(for: request, preference: .auto, available: Transport.allCases)
        #expect(choice == TransportChoice(.urlsession, reason: "nothing asks for libcurl"))
        #expect(try TransportChoice.choose(for: request, preference: .auto, available: [.urlsession]) == choice)
    }

    @Test func `without URLSession's program libcurl carries what nothing forces`() throws {
        let request = Self.request()
        let choice = try TransportChoice.choose(for: request, preference: .auto, available: [.libcurl])
        #expect(choice.description == "libcurl: drainq-urlsession is not installed here")
        for (preference, available, words) in [
            (TransportPreference.auto, [Transport](), "neither drainq-urlsession nor libcurl is installed here"),
            (.urlsession, [.libcurl], "put drainq-urlsession beside drainq"),
        ] {
            #expect {
                try TransportChoice.choose(for: request, preference: preference, available: available)
            } throws: {
                "\($0)".contains(words) && ($0 as? RequestError)?.outcome == .held
            }
        }
    }

    @Test func `either transport can be forced`() throws {
        let request = Self.request()
        let forced = try TransportChoice.choose(for: request, preference: .urlsession, available: Transport.allCases)
        #expect(forced.description == "urlsession: transport is 'urlsession'")
        let curl = try TransportChoice.choose(for: request, preference: .libcurl, available: Transport.allCases)
        #expect(curl.description == "libcurl: transport is 'libcurl'")
        #expect {
            try TransportChoice.choose(for: request, preference: .libcurl, available: [.urlsession])
        } throws: {
            "\($0)"
                == "'transport' is 'libcurl', which is not installed here: install libcurl, or set it to 'auto'"
        }
    }

    @Test func `a route can say beforehand which transport it takes`() throws {
        let settings = DestinationSettings(connection: ConnectionOptions(caFile: "/c"))
        let route = Route(url: "https://a/{id}?k=${secret:x}")
        #expect(try route.transportChoice(settings: settings, available: Transport.allCases).transport == .libcurl)
        #expect(
            try route.transportChoice(settings: DestinationSettings(), available: Transport.allCases).transport
                == .urlsession)
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
