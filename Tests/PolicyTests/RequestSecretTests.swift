import Testing

@testable import Policy

struct RequestSecretTests {
    private let secrets = SecretValues(
        values: ["api": "s3cr/t é", "empty": "", "broken": "a\r\nX: y"],
        failures: ["gone": "cannot be read: no such file"])
    private let api = HeaderField(name: "X-A", value: "a ${secret:api} b")

    private func operation(change: (inout OperationHeader) -> Void = { _ in }) -> Operation {
        var header = OperationHeader(
            id: OperationID("id-1")!, createdAt: Timestamp(microseconds: 0), contentType: "application/json")
        change(&header)
        return Operation(header: header, body: Array("1".utf8))
    }

    private func request(
        _ route: Route, _ operation: Operation, _ settings: DestinationSettings = DestinationSettings()
    ) throws(RequestError) -> OutgoingRequest {
        try RequestForm(route).request(
            for: operation, attempt: 1, version: "1", settings: settings, secrets: secrets,
            available: Transport.allCases)
    }

    private func error(_ route: Route, _ operation: Operation) -> RequestError? {
        do {
            _ = try request(route, operation)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a secret is inserted in headers, the query, the proxy and the passphrase`() throws {
        let connection = ConnectionOptions(
            proxy: .url("http://u:${secret:api}@proxy:3128"),
            clientCertificate: .init(certificateFile: "/c", passphrase: "${secret:api}"))
        let settings = DestinationSettings(connection: connection)
        let route = Route(url: "https://a/{id}?k=${secret:api}&id={id}", headers: [api])
        #expect(route.secretNames(settings: settings) == ["api"])
        let made = try request(route, operation(), settings)
        #expect(made.headers.first == HeaderField(name: "X-A", value: "a s3cr/t é b"))
        #expect(made.url == "https://a/id-1?k=s3cr%2Ft%20%C3%A9&id=id-1")
        #expect(made.connection.proxy == .url("http://u:s3cr%2Ft%20%C3%A9@proxy:3128"))
        #expect(made.connection.clientCertificate?.passphrase == "s3cr/t é")
    }

    @Test func `the displayed address contains no secret`() throws {
        let url = try Route(url: "https://a/?k=${secret:api}").url(for: operation())
        #expect(url == "https://a/?k=$%7Bsecret:api%7D")
    }

    @Test(arguments: [
        ("gone", "the secret 'gone' cannot be read: no such file"), ("other", "the secret 'other' is not configured"),
        ("empty", "the secret 'empty' is empty"),
        ("broken", "the secret 'broken' has a line break or another control character in it"),
    ])
    func `a request without its secret is not made, and the outcome is held`(name: String, text: String) throws {
        for route in [
            Route(url: "https://a", headers: [HeaderField(name: "X", value: "${secret:\(name)}")]),
            Route(url: "https://a?k=${secret:\(name)}"),
        ] {
            let refusal = try #require(error(route, operation()))
            #expect(refusal.description == text)
            #expect(refusal.outcome == .held)
            #expect(route.defect(of: operation()) == nil)
        }
    }

    @Test func `a secret is escaped in a path and in a body`() throws {
        let route = Route(url: "https://a/${secret:api}/x", body: #"{"k": "${secret:api}", "l": ${secret:api}}"#)
        #expect(route.problems.isEmpty)
        let made = try request(route, operation())
        #expect(made.url == "https://a/s3cr%2Ft%20%C3%A9/x")
        #expect(made.body == Array(#"{"k": "s3cr/t é", "l": "s3cr/t é"}"#.utf8))
        #expect(route.secretNames(settings: DestinationSettings()) == ["api"])
    }

    @Test func `an operation's defect precedes a missing secret`() {
        let route = Route(url: "https://a/${secret:gone}", body: #"{"k": "{key}"}"#)
        #expect(error(route, operation()) == .missingValue(placeholder: "key"))
    }

    @Test func `a secret reference from an operation is sent literally`() throws {
        let own = operation {
            $0.url = "https://a/?k=${secret:api}"
            $0.headers = [HeaderField(name: "X-B", value: "${secret:api}")]
        }
        let made = try request(Route(url: "https://a/"), own)
        #expect(made.url == "https://a/?k=$%7Bsecret:api%7D")
        #expect(made.headers.first == HeaderField(name: "X-B", value: "${secret:api}"))
    }

    @Test func `a secret in a header replaced by the operation is not required`() throws {
        let own = operation { $0.headers = [HeaderField(name: "x", value: "mine")] }
        let route = Route(url: "https://a/", headers: [HeaderField(name: "X", value: "${secret:gone}")])
        #expect(try request(route, own).headers.first?.value == "mine")
    }

    @Test(arguments: [
        ("Authorization", "Basic eDp5", true), ("Proxy-Authorization", "x", true), ("Cookie", "a=b", true),
        ("X-Api-Key", "x", true), ("apikey", "x", true), ("X-Auth-Token", "x", true), ("PRIVATE-TOKEN", "x", true),
        ("X-AuthToken", "x", true), ("X-A", "${secret:api}", true), ("X-Author", "x", false), ("Accept", "x", false),
        ("X-Keyboard", "x", false),
    ])
    func `credentials go only to the origin of the route's url`(name: String, value: String, isCredential: Bool) {
        let route = Route(url: "https://a/x", headers: [HeaderField(name: name, value: value)])
        for url in ["https://b/", "http://a/", "https://a:444/"] {
            let refused = isCredential ? RequestError.credentialsElsewhere(origin: Origin(url: url)!.description) : nil
            #expect(error(route, operation { $0.url = url }) == refused)
            #expect(route.defect(of: operation { $0.url = url }) == refused)
        }
        #expect(error(route, operation { $0.url = "https://A:443/y" }) == nil)
        let replaced = operation {
            $0.url = "https://b/"
            $0.headers = [HeaderField(name: name.uppercased(), value: "own")]
        }
        #expect(error(route, replaced) == nil)
    }

    @Test func `a command's headers are credentials, and a route without a url has no origin for credentials`() {
        let elsewhere = operation { $0.url = "https://b/" }
        let refused = RequestError.credentialsElsewhere(origin: "https://b")
        #expect(error(Route(url: "https://a", headersCommand: ["sign"]), elsewhere) == refused)
        #expect(error(Route(headers: [api]), elsewhere) == refused)
        #expect(error(Route(), elsewhere) == nil)
        #expect(
            refused.description
                == "the route's credentials and kept values go to the origin of the route's url, not to 'https://b'")
    }

    /// The places of a request, each with a route that has the word there.
    private static let places: [(place: String, route: @Sendable (String) -> Route)] = [
        ("header", { Route(url: "https://a/x", headers: [HeaderField(name: "X", value: $0)]) }),
        ("body", { Route(url: "https://a/x", body: #"{"a":"\#($0)","d":{payload}}"#) }),
        ("JSON value", { Route(url: "https://a/x", body: #"{"a":\#($0)}"#) }),
        ("form", { Route(url: "https://a/x", headers: [form], body: "a=\($0)") }),
        ("text", { Route(url: "https://a/x", headers: [HeaderField(name: "Content-Type", value: "a/b")], body: $0) }),
        ("callable", { Route(url: "https://a/x", protocol: .callable, body: #"{"a":"\#($0)"}"#) }),
        ("item", { Route(url: "https://a/x", body: #"{"a":"\#($0)"}"#, batch: Batch(max: 2)) }),
        ("batch", { Route(url: "https://a/x", batch: Batch(max: 2, body: #"{"a":"\#($0)","i":[{items}]}"#)) }),
    ]
    private static let form = HeaderField(name: "Content-Type", value: "application/x-www-form-urlencoded")

    @Test(arguments: ["${secret:api}", "{kept.token}", "{id}"])
    func `no place of a request takes a secret or a kept value to another origin`(word: String) {
        for (place, route) in Self.places where place != "batch" || word == "${secret:api}" {
            for url in ["https://b/", "https://a:444/", "http://a/", "https://a/y"] {
                let own = operation {
                    $0.url = url
                    $0.key = "k"
                }
                let refused = RequestError.credentialsElsewhere(origin: Origin(url: url)!.description)
                let isRefused = word != "{id}" && url != "https://a/y"
                #expect(route(word).defect(of: own) == (isRefused ? refused : nil), "\(place) to \(url)")
                // A route without a url has no origin.
                var homeless = route(word)
                homeless.url = nil
                #expect(homeless.defect(of: own) == (word == "{id}" ? nil : refused), "\(place) to \(url)")
                #expect(
                    BatchDraft(own, form: RequestForm(homeless)) == nil || word == "{id}", "\(place) to \(url)")
            }
        }
    }

    @Test(arguments: [
        ("https://user:SECRETPW@b/x", "https://…@b/x"), ("https://user:SECRETPW@", "https://…@"),
        ("user:SECRETPW@b", "…@b"), ("https://user:SECRET/PW@b/", "https://…@b/"),
        ("https://us@er:SECRETPW@b", "https://…@b"), ("ftp://b/x", "ftp://b/x"),
    ])
    func `a refused url is reported without its password`(url: String, told: String) {
        let error = Route(url: "https://a").defect(of: operation { $0.url = url })
        #expect(error?.description == "the operation's url '\(told)' cannot be requested")
        let own = RequestForm(Route(url: url)).defect(of: operation())
        #expect(own == nil)
        #expect(RequestError.badURL(url, ownedBy: .route).description.contains("'\(told)'"))
        #expect(withoutUserInformation("https://b/@x") == "https://b/@x")
    }

    @Test func `a command's headers replace the route's headers, but no reserved header`() throws {
        var made = try request(Route(url: "https://a", headers: [api]), operation())
        let before = made.headers.count
        try made.setHeaders(fromCommand: [
            HeaderField(name: "x-a", value: "1"), HeaderField(name: "Signature", value: "2"),
            HeaderField(name: "Signature", value: "3"),
        ])
        #expect(made.headers.count == before + 2)
        #expect(made.headers.suffix(3).map(\.value) == ["1", "2", "3"])
        #expect(
            throws: RequestError.headersCommand(
                reason: "answered the header 'Host', which is one that drainq writes itself")
        ) {
            try made.setHeaders(fromCommand: [HeaderField(name: "Host", value: "x")])
        }
    }

    @Test(arguments: [
        ("${secret:}", "'' is not the name of a secret"), ("x ${secret:a b}", "'a b' is not the name of a secret"),
        ("${secrets:api}", "'${secrets:api}' is not a secret reference"),
        ("${secret:api", "'${secret:api' is not a secret reference"),
        ("$${API}", "'${API}' is not a secret reference"),
    ])
    func `a malformed secret reference is a configuration error`(text: String, reason: String) {
        let route = Route(url: "https://a", headers: [HeaderField(name: "X-A", value: text)])
        #expect(route.problems.map(\.key) == ["headers.X-A"])
        #expect(route.problems.map(\.reason) == [reason])
    }

    @Test(arguments: ["", "$", "$5 { x} ${secret:api}$", "Bearer ${secret:a.b-c_1}${secret:d}"])
    func `ordinary texts have no problem`(text: String) throws {
        let route = Route(url: "https://a", headers: [HeaderField(name: "X-A", value: text)])
        #expect(route.problems.isEmpty)
        let values = SecretValues(values: ["api": "1", "a.b-c_1": "2", "d": "3"])
        let expanded = text.replacing("${secret:api}", with: "1").replacing("${secret:a.b-c_1}${secret:d}", with: "23")
        let made = try RequestForm(route).request(for: operation(), attempt: 1, version: "1", secrets: values)
        #expect(made.headers.first?.value == expanded)
    }
}
