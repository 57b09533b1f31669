import Policy

extension ConfigurationKeys {
    /// What an object of `destinations` may have.
    static let destination: [ConfigurationKey<DestinationSettings>] = [
        ConfigurationKey(
            "concurrency", optional: .count(1...1_000), example: "5", "attempts at once",
            "How many attempts are under way at once in one run, besides the run's own --concurrency. No bound unless set.",
            into: \.concurrency),
        ConfigurationKey(
            "rate", optional: .rate, example: #""20/s""#, "attempts in so much time",
            """
            How many attempts begin in so much time in one run, evenly spaced and without a burst after a quiet time: \
            \"20/s\", \"90/m\", \"1000/h\". As fast as it goes unless set.
            """,
            into: \.rate),
        ConfigurationKey(
            "proxy", .proxy, default: #""environment""#,
            example: #""http://user:${secret:proxy}@proxy.example.com:3128""#,
            "environment, direct, or a URL",
            """
            The proxy: environment, what http_proxy, https_proxy, all_proxy and no_proxy say; direct, none; or a URL with \
            http, https, socks5 or socks5h, a host and a port. Its user information may be ${secret:NAME}. A failure of the \
            proxy itself is not charged to the destination.
            """,
            into: \.connection.proxy),
        ConfigurationKey(
            "caFile", optional: .path, example: #""ca.pem""#, "instead of the system's",
            "The certificate authorities to trust, as PEM, instead of the system's.",
            into: \.connection.caFile),
        ConfigurationKey(
            "clientCertificate", optional: .clientCertificate,
            example: #"{ certificate: "client.pem", key: "client.key" }"#, "who we are, for TLS",
            "The certificate that we show to the server.",
            into: \.connection.clientCertificate),
        ConfigurationKey(
            "unixSocket", optional: .path, example: #""/run/collector.sock""#, "connect to this socket",
            "The socket to connect to, whatever the host of the url is.",
            into: \.connection.unixSocket),
        ConfigurationKey(
            "transport", .word, default: #""auto""#, example: #""libcurl""#, "auto, urlsession or libcurl",
            """
            What makes the attempts: urlsession; libcurl, which the machine must have; or auto, which takes what the \
            variable DRAINQ_TRANSPORT names, or else libcurl first on Linux and urlsession first on macOS, see TRANSPORTS.
            """,
            into: \.transport),
        ConfigurationKey(
            "holdProbe", optional: .positiveDuration, default: #""1h""#, example: #""1h""#, "null: none",
            """
            How often a held destination is tried with one operation, and an operation that is parked asked again. With null only drainq release ends a hold, or a \
            change of the credentials or the configuration that it was blamed on. What a person holds is never tried.
            """,
            into: \.holdProbe),
        ConfigurationKey(
            "circuitBreaker", .count(0...1_000), default: "5", "0: never",
            """
            After so many attempts in a row that met nobody the circuit breaker opens: nothing is sent to the destination for \
            a cool-down, by later runs either. These attempts are those without a usable answer, with 502, 503 or 504, or \
            with an answer that seems to be somebody else's. Nothing is charged to the operations that wait. 0 is never.
            """,
            into: \.circuitBreaker),
        ConfigurationKey(
            "coolDown", .positiveDuration, default: #""1m""#, "how far the cool-down doubles at first",
            """
            A cool-down begins at one second and lasts twice as long after each further failure, up to coolDown: 1 s, 2 s, \
            4 s and so on. From there it doubles up to coolDownMax. It ends with one attempt, and where that is delivered \
            more follow at once: two, four, and so on.
            """,
            into: \.coolDown),
        ConfigurationKey(
            "coolDownMax", .positiveDuration, default: #""30m""#, "the longest cool-down",
            "How long a cool-down lasts at most.",
            into: \.coolDownMax),
        ConfigurationKey(
            "retryAfterMax", .positiveDuration.atMost(RetryAfter.longest), default: #""1d""#,
            "the most of one Retry-After",
            "How much time one Retry-After gets at most, whatever the server asks for. Not more than 1d.",
            into: \.retryAfterMax),
        ConfigurationKey(
            "stormGuard", .count(0...1_000), default: "5", "0: never",
            """
            The most operations that one incident costs. Where so many answers in a row, in one run or in several, are the \
            same permanent status and nothing is delivered between them, a few operations from elsewhere in the queue are \
            tried before any more is given up; where these meet the same end, or more have failed than that and there are \
            none, the destination is held and all are put back. 0 is never.
            """,
            into: \.stormGuard),
    ]

    /// What the object of `clientCertificate` may have.
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

    /// What an object of `secrets` may have.
    static let secret: [ConfigurationKey<SecretDraft>] = [
        ConfigurationKey(
            "file", .path, example: #""/etc/drainq/api.token""#, "the content of a file",
            """
            A file that has the secret as its content, with mode 0600 or 0640; the line break at its end does not count. It \
            is read for each attempt. See SECRETS.
            """,
            set: { $0.add("file", .file($1)) }),
        ConfigurationKey(
            "env", .variable, example: #""API_TOKEN""#, "a variable of the environment",
            "A variable of the environment that drainq run has.",
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
            involved. It is run again where a request is answered with 401.
            """,
            set: { $0.add("command", .command($1, ttl: SecretDraft.defaultTTL)) }),
        ConfigurationKey(
            "ttl", .duration, default: #""5m""#, example: #""50m""#, "how long it is kept",
            "How long a run keeps what the command wrote before it runs it again. Only with command.",
            set: { $0.ttl = $1 }),
    ]
}
