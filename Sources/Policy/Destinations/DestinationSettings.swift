/// The settings of a destination, as the configuration has them under `destinations`.
package struct DestinationSettings: Hashable, Sendable {
    /// The number of attempts in flight at most, besides the run's own limit.
    package var concurrency: Int?
    package var rate: Rate?
    package var connection: ConnectionOptions
    package var transport: TransportPreference
    /// The transport that `DRAINQ_TRANSPORT` names. It replaces `auto`.
    package var transportOfEnvironment: Transport?
    /// The time between two probes of a held destination, of one operation each; `nil` is never.
    package var holdProbe: Duration?
    /// The number of connection-level failures in a row that opens the circuit breaker; 0 is never.
    package var circuitBreaker: Int
    /// The longest time that the circuit breaker stays open: 1 s at first, doubled each further time in a row.
    package var coolDown: Duration
    /// The number of first answers with one permanent status at which the storm guard begins to sample; 0 is never.
    package var stormGuard: Int

    package init(
        concurrency: Int? = nil, rate: Rate? = nil, connection: ConnectionOptions = ConnectionOptions(),
        transport: TransportPreference = .auto, holdProbe: Duration? = .seconds(3600), circuitBreaker: Int = 5,
        coolDown: Duration = .seconds(1800), stormGuard: Int = 5
    ) {
        self.concurrency = concurrency
        self.rate = rate
        self.connection = connection
        self.transport = transport
        self.holdProbe = holdProbe
        self.circuitBreaker = circuitBreaker
        self.coolDown = coolDown
        self.stormGuard = stormGuard
    }
}

/// A number of attempts per time, evenly spaced: `20/s`, `90/m`.
package struct Rate: Hashable, Sendable {
    package var count: Int
    package var per: Duration

    package init(count: Int, per: Duration) {
        self.count = count
        self.per = per
    }

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
    }

    package struct ClientCertificate: Hashable, Sendable {
        /// PEM.
        package var certificateFile: String
        /// PEM; `nil` if the key is in the certificate's file.
        package var keyFile: String?
        /// The key's passphrase, usually `${secret:NAME}`.
        package var passphrase: String?

        package init(certificateFile: String, keyFile: String? = nil, passphrase: String? = nil) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
            self.passphrase = passphrase
        }
    }

    package var proxy: Proxy
    /// The certificate authorities, PEM; `nil` for the system's.
    package var caFile: String?
    package var clientCertificate: ClientCertificate?
    /// The socket to connect to, whatever the url's host is.
    package var unixSocket: String?

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
