/// The client credentials for an access token (RFC 6749 §4.4): settings, the request for a token, and its answers.
package struct OAuth2: Hashable, Sendable {
    package var tokenURL: String
    /// A template of secrets, like `clientSecret`.
    package var clientID: String
    package var clientSecret: String
    package var scope: String?

    package init(tokenURL: String, clientID: String, clientSecret: String, scope: String? = nil) {
        self.tokenURL = tokenURL
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.scope = scope
    }

    /// Returns the names of the secrets that a request for a token needs.
    package func secretNames(settings: DestinationSettings = DestinationSettings()) -> Set<String> {
        let own = [clientID, clientSecret].compactMap { try? Template($0, for: .setting) }.flatMap(\.secretNames)
        return Set(own + settings.connection.secretNames)
    }

    /// Returns the client's id with its secrets filled in.
    package func expandedClientID(_ secrets: SecretValues) throws(RequestError) -> String {
        try Template(clientID, for: .setting, of: "oauth2.clientId").text(TemplateValues(nil, secrets: secrets))
    }

    /// Returns the request for a token. The client authenticates by Basic authentication (§2.3.1), so the form has no
    /// secret. `settings` are those of the endpoint's origin.
    package func request(
        settings: DestinationSettings, secrets: SecretValues, version: String,
        available: [Transport] = Transport.allCases
    ) throws(RequestError) -> OutgoingRequest {
        guard let parts = URLParts(tokenURL) else { throw .badURL(tokenURL, ownedBy: .route) }
        let id = try expandedClientID(secrets)
        let secret = try Template(clientSecret, for: .setting, of: "oauth2.clientSecret")
            .text(TemplateValues(nil, secrets: secrets))
        let client = Base64.encode(Array("\(id.percentEncoded):\(secret.percentEncoded)".utf8))
        let form = "grant_type=client_credentials" + (scope.map { "&scope=\($0.percentEncoded)" } ?? "")
        var request = OutgoingRequest(
            method: "POST", url: try parts.encoded(as: tokenURL, ownedBy: .route),
            headers: [
                HeaderField(name: "Authorization", value: "Basic \(client)"),
                HeaderField(name: "Content-Type", value: "application/x-www-form-urlencoded"),
                HeaderField(name: "Accept", value: "application/json"),
                HeaderField(name: "User-Agent", value: "drainq/\(version)"),
            ], body: Array(form.utf8),
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
        /// minute, whichever is less. `nil` if the endpoint says no time, or one that is not above 0.
        package var lifetime: Duration?
    }

    /// The result of a request for a token. A reason is a predicate of the endpoint; it contains no text of the answer
    /// except a word of §5.2.
    package enum Answer: Hashable, Sendable {
        case token(Token)
        /// An operator must fix it.
        case refused(reason: String)
        /// A later request may succeed.
        case unavailable(NetworkError, reason: String)
    }

    private static let errorWords: Set<String> = [
        "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
        "invalid_scope",
    ]

    package static func answer(in report: AttemptReport) -> Answer {
        switch report.result {
        case .failure(.tls, _):
            return .refused(reason: "cannot be trusted (tls)")
        case .failure(let error, _):
            return .unavailable(
                error.provesNotSent ? error : .unreachable, reason: "does not answer (\(error.rawValue))")
        case .answer(let answer) where answer.status == 200:
            guard let document = try? JSONDocument(answer: answer.body),
                case .string(let value)? = document.value(at: JSONPointer(tokens: ["access_token"])), !value.isEmpty,
                value.utf8.count <= 32_768, value.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { return .refused(reason: "answered without an access_token") }
            let seconds: Double? =
                switch document.value(at: JSONPointer(tokens: ["expires_in"])) {
                case .number(let text), .string(let text): Double(text)
                default: nil
                }
            // A token has not expired when it is issued: an `expires_in` not above 0, or NaN, says nothing.
            let lifetime = seconds.flatMap { $0 > 0 ? Duration.seconds(min($0, 31_536_000)) : nil }
            return .token(Token(value: value, lifetime: lifetime.map { $0 - min($0 / 10, .seconds(60)) }))
        case .answer(let answer):
            if [408, 429].contains(answer.status) || answer.status >= 500 {
                return .unavailable(.unreachable, reason: "answered \(answer.status)")
            }
            let document = try? JSONDocument(answer: answer.body)
            guard case .string(let word)? = document?.value(at: JSONPointer(tokens: ["error"])),
                errorWords.contains(word)
            else { return .refused(reason: "answered \(answer.status)") }
            return .refused(reason: "answered \(answer.status): \(word)")
        }
    }
}
