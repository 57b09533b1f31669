/// How a destination is to be treated; what the configuration says under `destinations`.
package struct DestinationSettings: Hashable, Sendable {
    /// Attempts at once, besides the run's own bound.
    package var concurrency: Int?
    package var rate: Rate?
    package var connection: ConnectionOptions
    package var transport: TransportPreference
    /// The transport that `DRAINQ_TRANSPORT` names. It stands in place of `auto`.
    package var transportOfEnvironment: Transport?
    /// How often a held destination is probed with one operation; `nil` is never.
    package var holdProbe: Duration?
    /// After so many connection-level failures in a row the circuit breaker opens; 0 is never.
    package var circuitBreaker: Int
    /// The longest cool-down. The first lasts 1 s, each further one in a row twice as long.
    package var coolDown: Duration
    /// So many first answers of one permanent status arouse suspicion; 0 is never.
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

/// So many in so much time, evenly: `20/s`, `90/m`.
package struct Rate: Hashable, Sendable {
    package var count: Int
    package var per: Duration

    package init(count: Int, per: Duration) {
        self.count = count
        self.per = per
    }

    /// From the start of one attempt to the start of the next.
    package var interval: Duration { per / max(count, 1) }
}

/// How a connection is made, where it is not made the usual way.
package struct ConnectionOptions: Hashable, Sendable {
    package enum Proxy: Hashable, Sendable {
        /// The proxy that `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` name.
        case environment
        /// None, whatever the environment says.
        case direct
        /// `http://host:port`, `https://…`, `socks5h://…`; user information may have `${secret:NAME}` in it.
        case url(String)
    }

    package struct ClientCertificate: Hashable, Sendable {
        /// PEM.
        package var certificateFile: String
        /// PEM; `nil` where it is in the certificate's file.
        package var keyFile: String?
        /// The key's passphrase, `${secret:NAME}` as a rule.
        package var passphrase: String?

        package init(certificateFile: String, keyFile: String? = nil, passphrase: String? = nil) {
            self.certificateFile = certificateFile
            self.keyFile = keyFile
            self.passphrase = passphrase
        }
    }

    package var proxy: Proxy
    /// PEM; instead of the system's.
    package var caFile: String?
    package var clientCertificate: ClientCertificate?
    /// Connect to this socket, whatever the url's host is.
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

/// Which transport makes attempts.
package enum Transport: String, Hashable, Sendable, CaseIterable {
    case urlsession
    case libcurl
}

/// Which transport the configuration asks for.
package enum TransportPreference: String, Hashable, Sendable, CaseIterable {
    /// The first of `TransportChoice.order` that is installed and can carry the request.
    case auto
    case urlsession
    case libcurl
}
