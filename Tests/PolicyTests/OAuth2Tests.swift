import Testing

@testable import Policy

struct OAuth2Tests {
    private let now = Timestamp(microseconds: 0)
    private let oauth2 = OAuth2(
        tokenURL: "https://id.example:8443/token?x=1", clientID: "drain q", clientSecret: "${secret:client}",
        scope: "a b&c")

    private func answer(_ status: Int, _ body: String) -> OAuth2.Answer {
        OAuth2.answer(
            in: AttemptReport(result: .answer(.init(status: status, body: Array(body.utf8))), duration: .zero),
            at: Timestamp(microseconds: 0))
    }

    @Test func `a token request is a form, and the client authenticates by Basic`() throws {
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

    @Test func `a client may send its secret in the form, and name an audience and a resource`() throws {
        var oauth2 = oauth2
        oauth2.clientAuthentication = .post
        (oauth2.scope, oauth2.audience, oauth2.resource) = (nil, "https://a/", "urn:r")
        let secrets = SecretValues(values: ["client": "s&"])
        let request = try oauth2.request(settings: DestinationSettings(), secrets: secrets, version: "1")
        #expect(
            String(decoding: request.body ?? [], as: UTF8.self)
                == "grant_type=client_credentials&audience=https%3A%2F%2Fa%2F&resource=urn%3Ar&client_id=drain%20q&client_secret=s%26"
        )
        #expect(!request.headers.contains { $0.name == "Authorization" })
    }

    @Test func `a refresh token and an assertion are separate grants and need no client secret`() throws {
        var refresh = OAuth2(tokenURL: "https://id/token", clientID: "me")
        refresh.refreshToken = "${secret:refresh}"
        #expect(refresh.refreshSecret == "refresh" && refresh.secretNames() == ["refresh"])
        let secrets = SecretValues(values: ["refresh": "r/1"])
        let refreshing = try refresh.request(settings: DestinationSettings(), secrets: secrets, version: "1")
        #expect(refreshing.body == Array("grant_type=refresh_token&refresh_token=r%2F1&client_id=me".utf8))
        let asserting = try OAuth2(tokenURL: "https://id/token").request(
            settings: DestinationSettings(), secrets: .none, assertion: "a.b.c", version: "1")
        #expect(
            asserting.body
                == Array("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c".utf8))
    }

    @Test func `the claims of an assertion are signed with its times and its audience`() throws {
        let assertion = JWTAssertion(keyFile: "k", keyID: "1", claims: ["iss": "a\"b", "sub": "é"])
        let now = Timestamp(microseconds: 1_700_000_000_900_000)
        let parts = assertion.signingInput(.es256, audience: "https://id/token", at: now).split(separator: ".")
        let texts = parts.map { String(decoding: Base64.decodeLeniently($0.utf8) ?? [], as: UTF8.self) }
        #expect(texts[0] == #"{"alg":"ES256","typ":"JWT","kid":"1"}"#)
        #expect(texts[1] == #"{"aud":"https://id/token","iss":"a\"b","sub":"é","iat":1700000000,"exp":1700000180}"#)
        // RFC 7518 §3.4: two numbers of 32 bytes, whatever their length in DER.
        let der: [UInt8] = [0x30, 0x07, 0x02, 0x02, 0x00, 0x81, 0x02, 0x01, 0x05]
        let signed = try #require(JWTAssertion.signed("x", .es256, der))
        let numbers = try #require(Base64.decodeLeniently(signed.dropFirst(2).utf8))
        #expect(numbers.count == 64 && numbers[31] == 0x81 && numbers[63] == 5)
        #expect(JWTAssertion.signed("x", .es256, [0x30, 0x01]) == nil && JWTAssertion.signed("x", .rs256, []) == nil)
    }

    @Test func `a token request without its secret throws an error`() {
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
    func `a token is used until shortly before its expiry`(body: String, lifetime: Duration?) {
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
    func `a refusal is reported by its status and a standard error code`(status: Int, body: String, reason: String) {
        #expect(answer(status, body) == .refused(reason: reason))
    }

    @Test func `an answer may have a new refresh token`() {
        #expect(
            answer(200, #"{"access_token":"t","refresh_token":"r2"}"#)
                == .token(OAuth2.Token(value: "t", lifetime: nil, refreshToken: "r2")))
    }

    @Test(arguments: [408, 429, 500, 503])
    func `an endpoint without a proper answer is unavailable`(status: Int) {
        #expect(answer(status, "") == .unavailable(reason: "answered \(status)", for: .zero))
        let failure = AttemptReport(result: .failure(.timeout, detail: ""), duration: .zero)
        #expect(OAuth2.answer(in: failure, at: now) == .unavailable(reason: "does not answer (timeout)", for: .zero))
        let busy = AttemptReport.Answer(status: status, headers: [HeaderField(name: "Retry-After", value: "3600")])
        #expect(
            OAuth2.answer(in: AttemptReport(result: .answer(busy), duration: .zero), at: now)
                == .unavailable(reason: "answered \(status)", for: .seconds(3600)))
    }

    @Test func `an untrusted endpoint counts as a refusal`() {
        let report = AttemptReport(result: .failure(.tls, detail: ""), duration: .zero)
        #expect(OAuth2.answer(in: report, at: now) == .refused(reason: "cannot be trusted (tls)"))
    }

    @Test func `a token that is unavailable for now defers the operation`() throws {
        let secrets = SecretValues(failures: ["t": "comes late"], unavailable: ["t": .seconds(7)])
        let route = Route(url: "https://a", headers: [HeaderField(name: "Authorization", value: "Bearer ${secret:t}")])
        let header = OperationHeader(id: OperationID("1")!, createdAt: Timestamp(microseconds: 0))
        let error = #expect(throws: RequestError.self) {
            try RequestForm(route).request(
                for: Operation(header: header, body: []), attempt: 1, version: "1", secrets: secrets)
        }
        #expect(error == .noCredentials(reason: "the secret 't' comes late", for: .seconds(7)))
        #expect(error?.outcome == .deferred)
    }
}
