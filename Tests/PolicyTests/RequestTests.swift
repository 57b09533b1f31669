import Testing

@testable import Policy

struct RequestTests {
    private func operation(
        _ body: String = #"{"n":1}"#, change: (inout OperationHeader) -> Void = { _ in }
    ) -> Operation {
        var header = OperationHeader(
            id: OperationID("id-1")!, type: TypeName("crm.x")!, createdAt: Timestamp(microseconds: 0),
            contentType: body.isEmpty ? nil : "application/json")
        change(&header)
        return Operation(header: header, body: Array(body.utf8))
    }

    private func url(_ template: String, _ operation: Operation) throws(RequestError) -> String {
        try Route(url: template).url(for: operation)
    }

    private func error(_ route: Route, _ operation: Operation) -> RequestError? {
        do {
            _ = try RequestForm(route).request(for: operation, attempt: 1, version: "1")
            return nil
        } catch {
            return error
        }
    }

    @Test func `a request follows the route and carries the operation's body byte for byte`() throws {
        let route = Route(
            url: "https://api.example.com/v1/{type}", headers: [HeaderField(name: "X-A", value: "1")],
            timeouts: Timeouts(total: .seconds(7)), answerLimit: 99)
        let request = try RequestForm(route).request(for: operation("[1.10]"), attempt: 3, version: "1.2")
        #expect(
            request
                == OutgoingRequest(
                    method: "POST", url: "https://api.example.com/v1/crm.x",
                    headers: [
                        HeaderField(name: "X-A", value: "1"),
                        HeaderField(name: "Content-Type", value: "application/json"),
                        HeaderField(name: "Idempotency-Key", value: "\"id-1\""),
                        HeaderField(name: "Drainq-Attempt", value: "3"),
                        HeaderField(name: "User-Agent", value: "drainq/1.2"),
                    ], body: Array("[1.10]".utf8), timeouts: Timeouts(total: .seconds(7)), answerLimit: 99,
                    transport: TransportChoice.order[0]))
    }

    @Test func `the operation's url, method and headers precede the route's`() throws {
        let route = Route(
            url: "https://a/{id}", method: "POST",
            headers: [
                HeaderField(name: "X-A", value: "route"), HeaderField(name: "x-b", value: "route"),
                HeaderField(name: "content-type", value: "application/merge-patch+json"),
                HeaderField(name: "user-agent", value: "mine"),
            ])
        let own = operation {
            $0.url = "HTTP://Other:80?q={id}"
            $0.method = "PUT"
            $0.headers = [HeaderField(name: "x-a", value: "own")]
            $0.idempotencyKey = #"a"b\c"#
        }
        let request = try RequestForm(route).request(for: own, attempt: 1, version: "1")
        #expect(request.method == "PUT")
        #expect(request.url == "http://other/?q=%7Bid%7D")
        #expect(
            request.headers.map { "\($0.name): \($0.value)" } == [
                "x-b: route", "content-type: application/merge-patch+json", "user-agent: mine", "x-a: own",
                #"Idempotency-Key: "a\"b\\c""#, "Drainq-Attempt: 1",
            ])
    }

    @Test(arguments: [
        ("https://a", "https://a/"), ("https://a?q={id}", "https://a/?q=id-1"),
        ("https://a/{id}/{type}", "https://a/id-1/crm.x"),
        ("https://a/{key}?k={key}#{frag", ""), ("https://a/{key}", "https://a/k%2F%3F%23%20%C3%A9%25"),
        ("https://a/{payload.s}", "https://a/x%0Ay"), ("https://a/{payload.f}", "https://a/1.10"),
        ("https://a/{payload.big}", "https://a/12345678901234567890"), ("https://a/{payload.b}", "https://a/true"),
        ("https://a/{payload.o.p}", "https://a/deep"), ("https://a/?e={payload.e}", "https://a/?e="),
        ("https://a/{payload.twice}", "https://a/2"), ("https://a/b c%20%zz%4", "https://a/b%20c%20%25zz%254"),
        ("https://a/é/x:@!$&'()*+,;=~", "https://a/%C3%A9/x:@!$&'()*+,;=~"), ("https://a/x#fragment", "https://a/x"),
        ("https://a/v..{payload.dots}", "https://a/v...."), ("https://a/?p={payload.dots}", "https://a/?p=.."),
    ])
    func `placeholders are filled in and encoded`(template: String, expected: String) throws {
        let body =
            #"{"s":"x\ny","f":1.10,"big":12345678901234567890,"b":true,"o":{"p":"deep"},"e":"","twice":1,"twice":2,"dots":".."}"#
        let operation = operation(body) { $0.key = "k/?# é%" }
        if expected.isEmpty {
            #expect(
                throws: RequestError.badTemplate(
                    key: "url", reason: "'{frag' is no placeholder: it has no '}'")
            ) { try url(template, operation) }
        } else {
            #expect(try url(template, operation) == expected)
        }
    }

    @Test(
        arguments: [
            ("https://a/{nope}", .badTemplate(key: "url", reason: "'{nope}' is an unknown placeholder")),
            ("https://a/{key}", .missingValue(placeholder: "key")),
            ("https://a/{payload.x}", .missingValue(placeholder: "payload.x")),
            ("https://a/{payload.n.x}", .missingValue(placeholder: "payload.n.x")),
            ("https://a/{payload.}", .badTemplate(key: "url", reason: "'{payload.}' is an unknown placeholder")),
            (
                "https://a/{payload.o}",
                .unusableValue(placeholder: "payload.o", reason: "is neither text nor a number nor true or false")
            ),
            (
                "https://a/{payload.z}", .unusableValue(placeholder: "payload.z", reason: "is null")
            ),
            ("https://a/{payload.e}", .unusableValue(placeholder: "payload.e", reason: "is empty, in the path")),
            (
                "https://a/x/{payload.dots}/y",
                .unusableValue(placeholder: "payload.dots", reason: "makes a '.' or '..' of a path segment")
            ),
            ("https://{id}.a/", .badURL("https://{id}.a/", ownedBy: .route)),
            ("ftp://a/", .badURL("ftp://a/", ownedBy: .route)),
            ("https://a/\nb", .badURL("https://a/\nb", ownedBy: .route)),
        ] as [(String, RequestError)])
    func `an invalid url or a missing value yields its error`(template: String, expected: RequestError) {
        let operation = operation(#"{"n":1,"o":[],"z":null,"e":"","dots":".."}"#)
        #expect(error(Route(url: template), operation) == expected)
    }

    @Test func `a body without a JSON object has no fields`() {
        let empty = operation("")
        #expect(error(Route(url: "http://a/{payload.x}"), empty) == .missingValue(placeholder: "payload.x"))
        let text = operation("hello")
        #expect(
            error(Route(url: "http://a/{payload.x}"), text)
                == .unusableValue(placeholder: "payload.x", reason: "cannot be read: expected a value at byte 0"))
        let array = operation("[1]")
        #expect(error(Route(url: "http://a/{payload.x}"), array) == .missingValue(placeholder: "payload.x"))
    }

    @Test(arguments: [
        "Host", "content-length", "Transfer-Encoding", "CONNECTION", "Expect", "Accept-Encoding", "TE", "Trailer",
        "Upgrade", "Idempotency-Key", "Drainq-Attempt",
    ])
    func `reserved header fields are refused`(name: String) {
        let field = HeaderField(name: name, value: "x")
        #expect(field.defect == .reserved)
        #expect(
            error(Route(url: "http://a", headers: [field]), operation())
                == .badHeader(name: name, reason: .reserved, ownedBy: .route))
        #expect(
            error(Route(url: "http://a"), operation { $0.headers = [field] })
                == .badHeader(name: name, reason: .reserved, ownedBy: .operation))
    }

    @Test(
        arguments: [
            ("", "x", .name), ("X A", "x", .name), ("X:", "x", .name), ("X\r\nY", "x", .name), ("é", "x", .name),
            ("X", "a\r\nY: b", .value), ("X", "a\n", .value), ("X", "\u{0}", .value), ("X", "\u{7F}", .value),
        ] as [(String, String, HeaderField.Defect)])
    func `an invalid field name or value is refused`(name: String, value: String, defect: HeaderField.Defect) {
        #expect(HeaderField(name: name, value: value).defect == defect)
    }

    @Test func `ordinary header fields have no defect`() {
        #expect(HeaderField(name: "X-!#$%&'*+.^_`|~1", value: "a\tb é \"").defect == nil)
        #expect(HeaderField(name: "X", value: "").defect == nil)
        #expect(
            error(Route(url: "http://a"), operation { $0.contentType = "a\r\nb" })
                == .badHeader(name: "Content-Type", reason: .value, ownedBy: .operation))
    }

    @Test func `an invalid method is refused`() {
        for method in ["", "GE T", "CONNECT", "trace", "A\r\nB", String(repeating: "A", count: 33)] {
            #expect(error(Route(url: "http://a", method: method), operation()) == .badMethod(method, ownedBy: .route))
            #expect(
                error(Route(url: "http://a"), operation { $0.method = method })
                    == .badMethod(method, ownedBy: .operation))
        }
    }

    @Test(
        arguments: [
            ("GET", "", nil), ("HEAD", "", nil), ("DELETE", "", nil), ("POST", "", ""), ("PUT", "", ""),
            ("GET", "1", "1"),
        ] as [(String, String, String?)])
    func `a reading method sends a body only if given`(method: String, body: String, sent: String?) throws {
        let route = Route(url: "http://a", method: method)
        let request = try RequestForm(route).request(
            for: operation(body), attempt: 1, version: "1", available: Transport.allCases)
        #expect(request.body == sent.map { Array($0.utf8) })
    }

    @Test func `a body without a declared type is sent as octets`() throws {
        let untyped = operation("x") { $0.contentType = nil }
        let request = try RequestForm(Route(url: "http://a")).request(for: untyped, attempt: 1, version: "1")
        #expect(request.headers.first == HeaderField(name: "Content-Type", value: "application/octet-stream"))
        #expect(error(Route(url: "http://a"), operation { $0.idempotencyKey = "" }) == .badIdempotencyKey)
    }

    @Test func `an error of the route holds, and an error of the operation fails`() {
        let table: [(RequestError, Outcome, String)] = [
            (.noURL(.default), .held, "no url is configured for type 'default'"),
            (.badURL("x\n", ownedBy: .route), .held, "the route's url 'x\\n' cannot be requested"),
            (.badURL("x", ownedBy: .operation), .failed, "the operation's url 'x' cannot be requested"),
            (.badTemplate(key: "url", reason: "why"), .held, "the route's 'url' cannot be filled in: why"),
            (
                .missingValue(placeholder: "key"), .failed,
                "the operation has no value for '{key}': add it with --key, or write a default into the template: '{key|\"none\"}'"
            ),
            (
                .missingValue(placeholder: "payload.x"), .failed,
                "the operation has no value for '{payload.x}': add it, or write a default into the template: '{payload.x|\"none\"}'"
            ),
            (
                .unusableValue(placeholder: "key", reason: "is empty"), .failed,
                "the value for '{key}' is empty"
            ),
            (.badMethod("x y", ownedBy: .route), .held, "the route's method 'x y' cannot be used"),
            (
                .badHeader(name: "Host", reason: .reserved, ownedBy: .operation), .failed,
                "the operation's header 'Host' is one that drainq writes itself"
            ),
            (
                .badHeader(name: "X", reason: .value, ownedBy: .route), .held,
                "the route's header 'X' has a value with control characters"
            ),
            (
                .badHeader(name: "X Y", reason: .name, ownedBy: .route), .held,
                "the route's header 'X Y' has a name that is not a token"
            ),
            (.missingSecret("x", reason: "is empty"), .held, "the secret 'x' is empty"),
            (.notJSON(reason: "is empty"), .failed, "the payload is empty"),
            (.notOverridable(.url), .failed, "the route lets no operation bring its own url"),
            (.badBodyFile(path: "/x\n", reason: "has changed"), .failed, "the body file '/x\\n' has changed"),
            (.headersCommand(reason: "exited with 1"), .held, "the route's headersCommand exited with 1"),
            (.noTransport(reason: "no transport"), .held, "no transport"),
            (.cannotCompress(reason: "no zlib"), .held, "no zlib"),
            (
                .badIdempotencyKey, .failed, "the idempotency key is empty or has characters other than printable ASCII"
            ),
        ]
        for (error, outcome, text) in table {
            #expect(error.outcome == outcome)
            #expect(error.description == text)
        }
        #expect(error(Route(), operation()) == .noURL(TypeName("crm.x")!))
        #expect(error(Route(), operation { $0.url = "x" }) == .badURL("x", ownedBy: .operation))
        #expect(
            error(Route(url: "http://a"), operation { $0.idempotencyKey = "é" }) == .badIdempotencyKey)
    }
}

extension Route {
    /// Returns the address alone, without its secrets.
    func url(for operation: Operation) throws(RequestError) -> String {
        try RequestForm(self).address(TemplateValues(operation))
    }
}
