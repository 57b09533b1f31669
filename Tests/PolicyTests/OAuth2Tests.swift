import Testing

@testable import Policy

struct OAuth2Tests {
    private let oauth2 = OAuth2(
        tokenURL: "https://id.example:8443/token?x=1", clientID: "drain q", clientSecret: "${secret:client}",
        scope: "a b&c")

    private func answer(_ status: Int, _ body: String) -> OAuth2.Answer {
        OAuth2.answer(
            in: AttemptReport(result: .answer(.init(status: status, body: Array(body.utf8))), duration: .zero))
    }

    @Test func `a token is asked for by a form, and the client proves itself by Basic`() throws {
        let secrets = SecretValues(values: ["client": "s:/é"])
        let request = try oauth2.request(settings: DestinationSettings(), secrets: secrets, version: "1")
        #expect(request.method == "POST" && request.url == "https://id.example:8443/token?x=1")
        #expect(request.destination == "https://id.example:8443")
        #expect(String(decoding: request.body ?? [], as: UTF8.self) == "grant_type=client_credentials&scope=a%20b%26c")
        // drain%20q:s%3A%2F%C3%A9
        let basic = HeaderField(name: "Authorization", value: "Basic ZHJhaW4lMjBxOnMlM0ElMkYlQzMlQTk=")
        #expect(request.headers.contains(basic))
        #expect(oauth2.secretNames() == ["client"])
    }

    @Test func `without its own secret nothing is asked`() {
        #expect(throws: RequestError.missingSecret("client", reason: "is not configured")) {
            try oauth2.request(settings: DestinationSettings(), secrets: .none, version: "1")
        }
    }

    @Test(arguments: [
        (#"{"access_token":"t","token_type":"Bearer","expires_in":3600}"#, Duration.seconds(3540)),
        (#"{"access_token":"t","expires_in":"100"}"#, .seconds(90)), (#"{"access_token":"t"}"#, nil),
        (#"{"access_token":"t","expires_in":-5}"#, nil), (#"{"access_token":"t","expires_in":null}"#, nil),
        (#"{"access_token":"t","expires_in":0}"#, nil), (#"{"access_token":"t","expires_in":"nan"}"#, nil),
    ])
    func `a token is used until shortly before it expires`(body: String, lifetime: Duration?) {
        #expect(answer(200, body) == .token(OAuth2.Token(value: "t", lifetime: lifetime)))
    }

    @Test(arguments: [
        (400, #"{"error":"invalid_scope","error_description":"secret"}"#, "answered 400: invalid_scope"),
        (401, #"{"error":"invalid_client"}"#, "answered 401: invalid_client"),
        (403, #"{"error":"something secret"}"#, "answered 403"), (404, "<html>", "answered 404"),
        (200, "{}", "answered without an access_token"),
        (200, #"{"access_token":""}"#, "answered without an access_token"),
        (200, #"{"access_token":"a\r\nb"}"#, "answered without an access_token"),
        (200, "", "answered without an access_token"), (301, "", "answered 301"),
    ])
    func `a refusal is told by its status and one of the standard's words`(status: Int, body: String, reason: String) {
        #expect(answer(status, body) == .refused(reason: reason))
    }

    @Test(arguments: [408, 429, 500, 503])
    func `an endpoint that cannot answer now is nobody's fault`(status: Int) {
        #expect(answer(status, "") == .unavailable(.unreachable, reason: "answered \(status)"))
        let failure = AttemptReport(result: .failure(.timeout, detail: ""), duration: .zero)
        #expect(OAuth2.answer(in: failure) == .unavailable(.unreachable, reason: "does not answer (timeout)"))
        let offline = AttemptReport(result: .failure(.offline, detail: ""), duration: .zero)
        #expect(OAuth2.answer(in: offline) == .unavailable(.offline, reason: "does not answer (offline)"))
    }

    @Test func `an endpoint that cannot be trusted needs a person, as any other server does`() {
        let report = AttemptReport(result: .failure(.tls, detail: ""), duration: .zero)
        #expect(OAuth2.answer(in: report) == .refused(reason: "cannot be trusted (tls)"))
    }

    @Test func `a token that the network keeps away defers the operation`() throws {
        let secrets = SecretValues(failures: ["t": "comes late"], unavailable: ["t": .dns])
        let route = Route(url: "https://a", headers: [HeaderField(name: "Authorization", value: "Bearer ${secret:t}")])
        let header = OperationHeader(id: OperationID("1")!, createdAt: Timestamp(microseconds: 0))
        let error = #expect(throws: RequestError.self) {
            try RequestForm(route).request(
                for: Operation(header: header, body: []), attempt: 1, version: "1", secrets: secrets)
        }
        #expect(error == .unavailable(.dns, reason: "the secret 't' comes late"))
        #expect(error?.outcome == .deferred)
    }
}
