/// An access token of OAuth 2: settings, the request for a token, and its answers.
///
/// The grant is a refresh token (RFC 6749 §6), else an assertion (RFC 7523 §2.1), else the client's credentials (§4.4).
package struct OAuth2: Hashable, Sendable {
    /// The way in which the client proves its identity (RFC 6749 §2.3.1).
    package enum ClientAuthentication: String, Hashable, Sendable, CaseIterable {
        /// Basic authentication: the form has no secret.
        case basic
        /// `client_id` and `client_secret` in the form.
        case post
    }

    package var tokenURL: String
    /// A template of secrets, like `clientSecret`; `nil` if the client names itself only in an assertion.
    package var clientID: String?
    /// `nil` for a client without a secret.
    package var clientSecret: String?
    package var clientAuthentication = ClientAuthentication.basic
    package var scope: String?
    package var audience: String?
    /// RFC 8707.
    package var resource: String?
    /// The template of the refresh token, one secret.
    package var refreshToken: String?
    package var assertion: JWTAssertion?

    package init(tokenURL: String, clientID: String? = nil, clientSecret: String? = nil, scope: String? = nil) {
        self.tokenURL = tokenURL
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.scope = scope
    }

    /// The name of the secret that is the refresh token; `nil` if there is none.
    package var refreshSecret: String? {
        refreshToken.flatMap { try? Template($0, for: .setting) }?.secretNames.first
    }

    /// Returns the names of the secrets that a request for a token needs.
    package func secretNames(settings: DestinationSettings = DestinationSettings()) -> Set<String> {
        let own = [clientID, clientSecret, refreshToken].compactMap { text in
            text.flatMap { try? Template($0, for: .setting) }
        }.flatMap(\.secretNames)
        return Set(own + settings.connection.secretNames)
    }

    /// Returns the paths of the files that are credentials of a request for a token, besides its secrets.
    package func credentialFiles(settings: DestinationSettings = DestinationSettings()) -> [String] {
        let client = settings.connection.clientCertificate
        return [assertion?.keyFile, client?.certificateFile, client?.keyFile].compactMap(\.self)
    }

    /// Returns the client's id with its secrets filled in; empty without an id.
    package func expandedClientID(_ secrets: SecretValues) throws(RequestError) -> String {
        try Self.expanded(clientID, "clientId", secrets) ?? ""
    }

    private static func expanded(
        _ text: String?, _ key: String, _ secrets: SecretValues
    ) throws(RequestError) -> String? {
        try text.map { text throws(RequestError) in
            try Template(text, for: .setting, of: "oauth2.\(key)").text(TemplateValues(nil, secrets: secrets))
        }
    }

    /// Returns the request for a token. `settings` belong to the endpoint's origin; `assertion` is the signed one.
    package func request(
        settings: DestinationSettings, secrets: SecretValues, assertion: String? = nil, version: String,
        available: [Transport] = Transport.allCases
    ) throws(RequestError) -> OutgoingRequest {
        guard let parts = URLParts(tokenURL) else { throw .badURL(tokenURL, ownedBy: .route) }
        let id = try Self.expanded(clientID, "clientId", secrets)
        let secret = try Self.expanded(clientSecret, "clientSecret", secrets)
        var form: [(String, String?)]
        if let refreshToken = try Self.expanded(refreshToken, "refreshToken", secrets) {
            form = [("grant_type", "refresh_token"), ("refresh_token", refreshToken)]
        } else if let assertion {
            form = [("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"), ("assertion", assertion)]
        } else {
            form = [("grant_type", "client_credentials")]
        }
        form += [("scope", scope), ("audience", audience), ("resource", resource)]
        var headers = [
            HeaderField(name: "Content-Type", value: "application/x-www-form-urlencoded"),
            HeaderField(name: "Accept", value: "application/json"),
            HeaderField(name: "User-Agent", value: "drainq/\(version)"),
        ]
        if let id, let secret, clientAuthentication == .basic {
            let client = Base64.encode(Array("\(id.percentEncoded):\(secret.percentEncoded)".utf8))
            headers.insert(HeaderField(name: "Authorization", value: "Basic \(client)"), at: 0)
        } else {
            form += [("client_id", id), ("client_secret", secret)]
        }
        let body = form.compactMap { name, value in value.map { "\(name)=\($0.percentEncoded)" } }.joined(
            separator: "&")
        var request = OutgoingRequest(
            method: "POST", url: try parts.encoded(as: tokenURL, ownedBy: .route), headers: headers,
            body: Array(body.utf8),
            timeouts: Timeouts(connect: .seconds(5), request: .seconds(10), total: .seconds(10)),
            connection: try settings.connection.expanded(with: secrets), destination: parts.origin.description)
        request.transport =
            try TransportChoice.choose(for: request, settings: settings, available: available).transport
        return request
    }

    // MARK: - Answers

    package struct Token: Hashable, Sendable {
        package var value: String
        /// The time for which the token is used: what the endpoint says, at most a year, less a tenth of it or a
        /// minute, whichever is less. `nil` if the endpoint says no time, or a time not above 0.
        package var lifetime: Duration?
        /// The refresh token that replaces the used token; `nil` if the used token stays valid.
        package var refreshToken: String?

        package init(value: String, lifetime: Duration?, refreshToken: String? = nil) {
            self.value = value
            self.lifetime = lifetime
            self.refreshToken = refreshToken
        }
    }

    /// The result of a request for a token. A reason is a predicate of the endpoint, and quotes at most a word of §5.2.
    package enum Answer: Hashable, Sendable {
        case token(Token)
        /// An operator must fix the cause.
        case refused(reason: String)
        /// A later request may succeed, at the earliest after this time.
        case unavailable(reason: String, for: Duration)
    }

    private static let errorWords: Set<String> = [
        "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
        "invalid_scope",
    ]

    package static func answer(in report: AttemptReport, at now: Timestamp) -> Answer {
        switch report.result {
        case .failure(.tls, _): return .refused(reason: "cannot be trusted (tls)")
        case .failure(let error, _): return .unavailable(reason: "does not answer (\(error.rawValue))", for: .zero)
        case .answer(let answer) where answer.status == 200:
            guard let document = try? JSONDocument(answer: answer.body), let value = token("access_token", document)
            else { return .refused(reason: "answered without an access_token") }
            let seconds = document.scalar(at: JSONPointer(tokens: ["expires_in"])).flatMap { Double($0) }
            // A token has not expired when it is issued: an `expires_in` not above 0, or NaN, says nothing.
            let lifetime = seconds.flatMap { $0 > 0 ? Duration.seconds(min($0, 31_536_000)) : nil }
            return .token(
                Token(
                    value: value, lifetime: lifetime.map { $0 - min($0 / 10, .seconds(60)) },
                    refreshToken: token("refresh_token", document)))
        case .answer(let answer):
            let verdict = Classification.verdict(on: SealedReport(report, .none), route: Route(), now: now)
            if verdict.outcome == .deferred || answer.status >= 500 {
                return .unavailable(reason: "answered \(answer.status)", for: verdict.retryAfter ?? .zero)
            }
            let document = try? JSONDocument(answer: answer.body)
            guard case .string(let word)? = document?.value(at: JSONPointer(tokens: ["error"])),
                errorWords.contains(word)
            else { return .refused(reason: "answered \(answer.status)") }
            return .refused(reason: "answered \(answer.status): \(word)")
        }
    }
    private static func token(_ name: String, _ document: JSONDocument) -> String? {
        guard case .string(let value)? = document.value(at: JSONPointer(tokens: [name])), !value.isEmpty,
            value.utf8.count <= 32_768, value.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return value
    }
}
