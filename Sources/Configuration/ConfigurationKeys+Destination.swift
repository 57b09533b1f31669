import Policy

extension ConfigurationKeys {
    /// The keys of an object of `destinations`.
    static let destination: [ConfigurationKey<DestinationSettings>] = [
        ConfigurationKey(
            "concurrency", optional: .count(1...1_000), example: "5", "attempts at once",
            """
            The most attempts in flight at once, over all runs and all \"drainq send\" of the queue, besides the run's own \
            --concurrency. A run that gets no slot for ten seconds leaves the destination to the others. No limit unless set.
            """,
            into: \.concurrency),
        ConfigurationKey(
            "rate", optional: .rate, example: #""20/s""#, "attempts in so much time",
            """
            The most attempts that begin in a time, over all runs and all \"drainq send\" of the queue, evenly spaced and \
            without a burst after a quiet time: \"20/s\", \"90/m\", \"1000/h\". No limit unless set.
            """,
            into: \.rate),
        ConfigurationKey(
            "proxy", .proxy, default: #""environment""#,
            example: #""http://user:${secret:proxy}@proxy.example.com:3128""#,
            "environment, direct, or a URL",
            """
            The proxy: environment, what http_proxy, https_proxy, all_proxy and no_proxy say; direct, none; or a URL \
            with http, https, socks5 or socks5h, a host and a port. Its user information may be ${secret:NAME}. A \
            failure of the proxy itself does not count against the destination.
            """,
            into: \.connection.proxy),
        ConfigurationKey(
            "caFile", optional: .path, example: #""ca.pem""#, "replaces the system's",
            "The certificate authorities to trust, as PEM, instead of the system's.",
            into: \.connection.caFile),
        ConfigurationKey(
            "clientCertificate", optional: .clientCertificate,
            example: #"{ certificate: "client.pem", key: "client.key" }"#, "the client's certificate for TLS",
            "The certificate that drainq shows to the server.",
            into: \.connection.clientCertificate),
        ConfigurationKey(
            "unixSocket", optional: .path, example: #""/run/collector.sock""#, "connect to this socket",
            "The socket to connect to, whatever the host of the url is.",
            into: \.connection.unixSocket),
        ConfigurationKey(
            "transport", .word, default: #""auto""#, example: #""libcurl""#, "auto, urlsession or libcurl",
            """
            The transport of the attempts: urlsession; libcurl, which the machine must have; or auto, which takes the \
            one that the variable DRAINQ_TRANSPORT names, or else libcurl first on Linux and urlsession first on \
            macOS, see TRANSPORTS.
            """,
            into: \.transport),
        ConfigurationKey(
            "holdProbe", optional: .positiveDuration, default: #""1h""#, example: #""1h""#, "null: none",
            """
            How often a run tries a held destination with one operation, and a parked operation again. With null only \
            drainq release ends a hold, or a change of the credentials or the configuration that it was blamed on. A \
            run never tries a destination that a person holds.
            """,
            into: \.holdProbe),
        ConfigurationKey(
            "circuitBreaker", .count(0...1_000), default: "5", "0: never",
            """
            After so many failures in a row the circuit breaker opens: this run and later ones send nothing to the \
            destination for a cool-down. A failure is an attempt without a usable answer, with 502, 503 or 504, or \
            with an answer that another server seems to have sent. No attempt is counted for the operations that wait. \
            With 0 it never opens.
            """,
            into: \.circuitBreaker),
        ConfigurationKey(
            "coolDown", .positiveDuration, default: #""30m""#, "the longest cool-down",
            """
            The longest cool-down. The first lasts one second, and each further failure doubles it: 1 s, 2 s, 4 s and \
            so on. It ends with one attempt; if that is delivered, two follow at once, then four, and so on.
            """,
            into: \.coolDown),
        ConfigurationKey(
            "stormGuard", .count(0...1_000), default: "5", "0: never",
            """
            The most operations that one incident costs. If so many answers in a row, in one run or in several, are \
            the same permanent status and nothing is delivered between them, a run tries a few operations from \
            elsewhere in the queue before any more fail. If these meet the same status, or more have failed than that \
            and there are no others, the destination is held and all are put back. With 0 there is no such guard.
            """,
            into: \.stormGuard),
    ]

    /// The keys of an object of `clientCertificate`.
    static let clientCertificate: [ConfigurationKey<ConnectionOptions.ClientCertificate>] = [
        ConfigurationKey(
            "certificate", .path, example: #""client.pem""#, "as PEM",
            "The certificate, as PEM. It has to be there.",
            set: { $0.certificateFile = $1 }),
        ConfigurationKey(
            "key", optional: .path, example: #""client.key""#, "as PEM",
            "The key, as PEM, where it is not in the file of the certificate.",
            into: \.keyFile),
        ConfigurationKey(
            "passphrase", optional: .template(.setting), example: #""${secret:passphrase}""#, "of the key",
            "The passphrase of the key, ${secret:NAME} as a rule.",
            into: \.passphrase),
    ]

    /// The keys of an object of `secrets`.
    static let secret: [ConfigurationKey<SecretDraft>] = [
        ConfigurationKey(
            "file", .path, example: #""/etc/drainq/api.token""#, "the content of a file",
            """
            A file whose content is the secret, with mode 0600 or 0640; the line break at its end does not count. A \
            run reads it for each attempt. See SECRETS.
            """,
            set: { $0.add("file", .file($1)) }),
        ConfigurationKey(
            "env", .variable, example: #""API_TOKEN""#, "a variable of the environment",
            "A variable in the environment of drainq run.",
            set: { $0.add("env", .environment($1)) }),
        ConfigurationKey(
            "credential", .credential, example: #""api.token""#, "a credential of systemd",
            """
            A credential of systemd: a file in the directory that CREDENTIALS_DIRECTORY names, see LoadCredential in \
            systemd.exec(5).
            """,
            set: { $0.add("credential", .credential($1)) }),
        ConfigurationKey(
            "command", .command, example: #"["/usr/local/bin/token", "api"]"#, "what a command writes",
            """
            A command, as a list of its name and arguments, that writes the secret to standard output. No shell is \
            involved. A run runs it again after an answer with 401.
            """,
            set: { $0.add("command", .command($1, ttl: SecretDraft.defaultTTL)) }),
        ConfigurationKey(
            "ttl", .duration, default: #""5m""#, example: #""50m""#, "how long it is kept",
            "How long a run keeps what the command wrote before it runs it again. Only with command.",
            set: { $0.ttl = $1 }),
        ConfigurationKey(
            "oauth2", .oauth2,
            example:
                #"{ tokenUrl: "https://id.example.com/token", clientId: "drainq", clientSecret: "${secret:client}" }"#,
            "an access token",
            """
            An access token for client credentials (RFC 6749, section 4.4). Runs share it until shortly before it \
            expires. See SECRETS.
            """,
            set: { $0.add("oauth2", .oauth2($1)) }),
    ]

    /// The keys of an object of `oauth2`.
    static let oauth2: [ConfigurationKey<OAuth2>] = [
        ConfigurationKey(
            "tokenUrl", .endpoint, example: #""https://id.example.com/token""#, "where tokens come from",
            "The url of the endpoint. It has to be there.",
            set: { $0.tokenURL = $1 }),
        ConfigurationKey(
            "clientId", .keyTemplate, example: #""drainq""#, "the client's id",
            "The client's id, as it is or ${secret:NAME}. It has to be there.",
            set: { $0.clientID = $1 }),
        ConfigurationKey(
            "clientSecret", .keyTemplate, example: #""${secret:client}""#, "the client's secret",
            """
            The client's secret, ${secret:NAME} as a rule: another secret, which is no token itself. It has to be \
            there.
            """,
            set: { $0.clientSecret = $1 }),
        ConfigurationKey(
            "scope", optional: .plainText, example: #""orders.write""#, "what the token is for",
            "The scope of the token: words with blanks between them.",
            into: \.scope),
    ]
}
