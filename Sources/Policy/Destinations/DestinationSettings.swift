/// The settings of a destination, as the configuration has them under `destinations`.
package struct DestinationSettings: Hashable, Sendable {
    /// The number of attempts in flight at most, besides the run's own limit.
    package var concurrency: Int?
    package var rate: Rate?
    package var connection = ConnectionOptions()
    package var transport: TransportPreference = .auto
    /// The transport that `DRAINQ_TRANSPORT` names. It replaces `auto`.
    package var transportOfEnvironment: Transport?
    /// The time between two probes of a held destination, of one operation each; `nil` is never.
    package var holdProbe: Duration? = .seconds(3600)
    /// The number of connection-level failures in a row that opens the circuit breaker; 0 is never.
    package var circuitBreaker = 5
    /// The longest time that the circuit breaker stays open: 1 s at first, doubled each further time in a row.
    package var coolDown = Duration.seconds(1800)
    /// The number of first answers with one permanent status at which the storm guard begins to sample; 0 is never.
    package var stormGuard = 5
}

extension DestinationSettings {
    /// Creates the default settings, with this change.
    package init(_ change: (inout DestinationSettings) -> Void = { _ in }) {
        self.init()
        change(&self)
    }
}

/// A number of attempts per time, evenly spaced: `20/s`, `90/m`.
package struct Rate: Hashable, Sendable {
    package var count: Int
    package var per: Duration

    /// The time from the start of one attempt to the start of the next.
    package var interval: Duration { per / max(count, 1) }
}

/// The options of connections to a destination.
package struct ConnectionOptions: Hashable, Sendable {
    package enum Proxy: Hashable, Sendable {
        /// The proxy that `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` name.
        case environment
        /// No proxy, whatever the environment says.
        case direct
        /// `http://host:port`, `https://…`, `socks5h://…`; the user information may contain `${secret:NAME}`.
        case url(String)

        /// Compares the bytes of urls, which may have passwords.
        package static func == (left: Proxy, right: Proxy) -> Bool {
            switch (left, right) {
            case (.environment, .environment), (.direct, .direct): true
            case (.url(let left), .url(let right)): left.hasBytes(of: right)
            case (.environment, _), (.direct, _), (.url, _): false
            }
        }
    }

    package struct ClientCertificate: Hashable, Sendable {
        /// PEM.
        @Bytewise package var certificateFile: String
        /// PEM; `nil` if the key is in the certificate's file.
        @Bytewise package var keyFile: String?
        /// The key's passphrase, usually `${secret:NAME}`.
        @Bytewise package var passphrase: String?

        package init(certificateFile: String, keyFile: String? = nil, passphrase: String? = nil) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
            self.passphrase = passphrase
        }
    }

    package var proxy: Proxy
    /// The certificate authorities, PEM; `nil` for the system's.
    @Bytewise package var caFile: String?
    package var clientCertificate: ClientCertificate?
    /// The socket to connect to, whatever the url's host is.
    @Bytewise package var unixSocket: String?

    package init(
        proxy: Proxy = .environment, caFile: String? = nil, clientCertificate: ClientCertificate? = nil,
        unixSocket: String? = nil
    ) {
        self.proxy = proxy
        self.caFile = caFile
        self.clientCertificate = clientCertificate
        self.unixSocket = unixSocket
    }
}

/// The transport that makes attempts.
package enum Transport: String, Hashable, Sendable, CaseIterable {
    case urlsession
    case libcurl
}

/// The transport that the configuration asks for.
package enum TransportPreference: String, Hashable, Sendable, CaseIterable {
    /// The first of `TransportChoice.order` that is installed and can carry the request.
    case auto
    case urlsession
    case libcurl
}
