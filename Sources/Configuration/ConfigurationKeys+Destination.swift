import Policy

extension ConfigurationKeys {
    static let destination: [ConfigurationKey<DestinationSettings>] = [
        ConfigurationKey(
            "concurrency", optional: .count(1...1_000), example: "5", "attempts at once",
            """
            The most attempts in flight at once, over all runs and all "drainq send" of the queue, besides the run's \
            own --concurrency. A run that gets no slot for ten seconds leaves the destination to the other runs.
            """,
            into: \.concurrency),
        ConfigurationKey(
            "rate", optional: .rate, example: #""20/s""#, "attempts per second, minute or hour",
            """
            The most attempts that begin per second, minute, hour or day, over all runs and all "drainq send" of the \
            queue, evenly spaced and without a burst after a quiet time. A run without --wait leaves a destination to \
            the next run if another process has the next turn, or if the turn is more than ten seconds away.
            """,
            into: \.rate),
        ConfigurationKey(
            "proxy", .proxy, default: #""environment""#,
            example: #""http://user:${secret:proxy}@proxy.example.com:3128""#,
            "environment, direct, or a URL",
            """
            The proxy: environment, the one that http_proxy, https_proxy, all_proxy and no_proxy name; direct, no \
            proxy; or a URL with http, https, socks5 or socks5h, a host and a port. Its user information may be \
            ${secret:NAME}. A failure of the proxy itself does not count against the destination.
            """,
            into: \.connection.proxy),
        ConfigurationKey(
            "caFile", optional: .path, example: #""ca.pem""#, "replaces the system's authorities",
            "The certificate authorities to trust, as PEM, instead of the system's.",
            into: \.connection.caFile),
        ConfigurationKey(
            "clientCertificate", optional: .clientCertificate,
            example: #"{ certificate: "client.pem", key: "client.key" }"#, "the client's certificate for TLS",
            "The certificate that drainq shows to the server. A changed file counts from the next request on.",
            into: \.connection.clientCertificate),
        ConfigurationKey(
            "unixSocket", optional: .path, example: #""/run/collector.sock""#, "connect to this socket",
            "The socket to connect to, whatever the host of the url is.",
            into: \.connection.unixSocket),
        ConfigurationKey(
            "transport", .word, default: #""auto""#, example: #""libcurl""#, "auto, urlsession or libcurl",
            "The transport of the attempts: urlsession, libcurl or auto, see TRANSPORTS.",
            into: \.transport),
        ConfigurationKey(
            "holdProbe", optional: .positiveDuration, default: #""1h""#, example: #""1h""#, "null: no probes",
            """
            The interval at which a run probes a held destination with one operation, and attempts a parked operation \
            again. With null a hold ends only by drainq release, or by a change of the credentials or the \
            configuration that caused it. A run never probes a destination that an operator holds.
            """,
            into: \.holdProbe),
        ConfigurationKey(
            "circuitBreaker", .count(0...1_000), default: "5", "failures in a row, 0: never opens",
            """
            The failures in a row that open the circuit breaker: this run and later ones then send nothing to the \
            destination until the breaker is half-open. A failure is an attempt without a usable answer, with 502, 503 \
            or 504, or with an answer that another server seems to have sent. Waiting operations keep their attempt \
            counts. With 0 it never opens.
            """,
            into: \.circuitBreaker),
        ConfigurationKey(
            "coolDown", .positiveDuration, default: #""30m""#, "the longest time that it stays open",
            """
            The longest time that the circuit breaker stays open. The first time is one second, and each further \
            failure doubles it: 1 s, 2 s, 4 s and so on. It ends with one attempt; if that attempt delivers, two \
            follow at once, then four, and so on.
            """,
            into: \.coolDown),
        ConfigurationKey(
            "stormGuard", .count(0...1_000), default: "5", "operations per incident, 0: no guard",
            """
            The most operations that one incident may cost. If this many answers in a row, in one run or in several, \
            have the same permanent status, with no delivery between them, the storm guard samples operations from \
            elsewhere in the queue before any more fail. If the samples get the same status, the run holds the \
            destination and puts all operations back. Without a sample the run does so at the next failure. With 0 \
            there is no storm guard.
            """,
            into: \.stormGuard),
    ]

    static let clientCertificate: [ConfigurationKey<ConnectionOptions.ClientCertificate>] = [
        ConfigurationKey(
            "certificate", .path, example: #""client.pem""#, "as PEM",
            "The certificate, as PEM.",
            isRequired: true, set: { $0.certificateFile = $1 }),
        ConfigurationKey(
            "key", optional: .path, example: #""client.key""#, "as PEM",
            "The key, as PEM, if the file of the certificate does not contain it.",
            into: \.keyFile),
        ConfigurationKey(
            "passphrase", optional: .template(.setting), example: #""${secret:passphrase}""#, "the key's passphrase",
            "The passphrase of the key, usually ${secret:NAME}.",
            into: \.passphrase),
    ]

    static let secret: [ConfigurationKey<SecretDraft>] = [
        ConfigurationKey(
            "file", .secretFile, example: #""/etc/drainq/api.token""#, "the content of a file",
            """
            A file whose content is the secret, with mode 0600 or 0640. A run reads it for each attempt, so it uses a \
            renewed token at once. With {type}, {key} or {payload.NAME} in its path each operation has the secret of \
            its own file.
            """,
            set: { $0.sources.append(("file", $1)) }),
        ConfigurationKey(
            "env", .variable, example: #""API_TOKEN""#, "a variable of the environment",
            "A variable in the environment of drainq run.",
            set: { $0.sources.append(("env", .environment($1))) }),
        ConfigurationKey(
            "credential", .credential, example: #""api.token""#, "a credential of systemd",
            """
            A credential of systemd: a file in the directory that CREDENTIALS_DIRECTORY names, see LoadCredential in \
            systemd.exec(5).
            """,
            set: { $0.sources.append(("credential", .credential($1))) }),
        ConfigurationKey(
            "command", .command, example: #"["/usr/local/bin/token", "api"]"#, "the output of a command",
            """
            A command, as a list of its name and arguments, that writes the secret to standard output. A run runs it \
            again after an answer with 401.
            """,
            set: { $0.sources.append(("command", .command($1, ttl: nil))) }),
        ConfigurationKey(
            "ttl", .duration, example: #""50m""#, "lifetime of the output",
            """
            The time for which the output of the command is valid. Runs share it for this time, as they share tokens, \
            and then run the command again. A run with other values of HOME, XDG_CONFIG_HOME or the variables of \
            passEnvironment runs it again, too. Without a ttl each run keeps it in memory for five minutes.
            """,
            set: { $0.ttl = $1 }),
        ConfigurationKey(
            "oauth2", .oauth2,
            example:
                #"{ tokenUrl: "https://id.example.com/token", clientId: "drainq", clientSecret: "${secret:client}" }"#,
            "an access token",
            """
            An access token of OAuth 2 (RFC 6749): for a refreshToken (section 6), for an assertion (RFC 7523), or \
            else for the client's credentials (section 4.4). Runs share it until shortly before it expires.
            """,
            set: { $0.sources.append(("oauth2", .oauth2($1))) }),
    ]

    static let oauth2: [ConfigurationKey<OAuth2>] = [
        ConfigurationKey(
            "tokenUrl", .endpoint, example: #""https://id.example.com/token""#, "the token endpoint",
            "The URL of the token endpoint.",
            isRequired: true, set: { $0.tokenURL = $1 }),
        ConfigurationKey(
            "clientId", .keyTemplate, example: #""drainq""#, "the client's id",
            "The client's id, literal or ${secret:NAME}. An assertion needs none.",
            set: { $0.clientID = $1 }),
        ConfigurationKey(
            "clientSecret", .keyTemplate, example: #""${secret:client}""#, "the client's secret",
            """
            The client's secret, usually ${secret:NAME}: a secret that is not a token. A refresh token or an assertion \
            may need none.
            """,
            set: { $0.clientSecret = $1 }),
        ConfigurationKey(
            "clientAuthentication", .word, default: #""basic""#, example: #""post""#, "basic or post",
            """
            The way in which the client sends its secret: basic, in Authorization, or post, as client_id and \
            client_secret in the form.
            """,
            into: \.clientAuthentication),
        ConfigurationKey(
            "refreshToken", optional: .secretReference, example: #""${secret:refresh}""#, "the refresh token",
            """
            A refresh token: ${secret:NAME}. If the endpoint issues a new one, drainq writes it to the file of that \
            secret. The file must have mode 0600 and be writable: else the run holds the destination, and asks for no \
            token. If the secret is not a file, a new refresh token holds the destination.
            """,
            into: \.refreshToken),
        ConfigurationKey(
            "assertion.key", .path, example: #""key.pem""#, "the private key, as PEM",
            """
            The file of a private key, as PEM, with which openssl(1) signs an assertion (RFC 7523) for each token: an \
            RSA key signs with RS256, a P-256 key with ES256.
            """,
            set: { draft, path in draft.withAssertion { $0.keyFile = path } }),
        ConfigurationKey(
            "assertion.keyId", .plainText, example: #""2026-11""#, "the name of the key",
            "The name of the key (kid), for a service that knows several.",
            set: { draft, name in draft.withAssertion { $0.keyID = name } }),
        ConfigurationKey(
            "assertion.claims", .texts, example: #"{ iss: "drainq@example.com", scope: "orders" }"#, "its claims",
            """
            The claims of the assertion, texts by name, such as iss, sub and scope. drainq adds iat, an exp three \
            minutes later, and the token endpoint as aud unless it is here.
            """,
            set: { draft, claims in draft.withAssertion { $0.claims = claims } }),
        ConfigurationKey(
            "scope", optional: .plainText, example: #""orders.write""#, "the token's scope",
            "The scope of the token: words with blanks between them.",
            into: \.scope),
        ConfigurationKey(
            "audience", optional: .plainText, example: #""https://api.example.com""#, "the token's audience",
            "The audience of the token, for services that ask for one.",
            into: \.audience),
        ConfigurationKey(
            "resource", optional: .plainText, example: #""https://api.example.com/""#, "the token's resource",
            "The resource that the token is for (RFC 8707).",
            into: \.resource),
    ]
}

extension OAuth2 {
    fileprivate mutating func withAssertion(_ change: (inout JWTAssertion) -> Void) {
        var assertion = assertion ?? JWTAssertion()
        change(&assertion)
        self.assertion = assertion
    }
}
