/// A named place that requests go to, as a run tells one from another.
package struct Destination: Hashable, Sendable {
    /// The digest of the name: of an origin's text, so that a file name's `o=` and a route's url agree, or of the name
    /// in the configuration.
    package var digest: Digest
    /// The origin, or the name that the configuration gives it; where only its digest is known, or where there is no
    /// url, what stands for it.
    package var name: String

    package init(digest: Digest, name: String) {
        self.digest = digest
        self.name = name
    }

    package init(named name: String) {
        self.init(digest: Digest(of: name), name: name)
    }
}

extension Destination {
    /// Whether it is on this machine: the state of the network is no reason not to ask it.
    package func isLocal(_ settings: DestinationSettings) -> Bool {
        settings.connection.unixSocket != nil || Origin(url: name)?.isLoopback ?? false
    }

    /// Whether a connection to it stays on this machine, as one to a proxy on loopback does: an error is no sign of a network
    /// that is away.
    package func isReachedLocally(_ settings: DestinationSettings) -> Bool {
        if settings.connection.unixSocket == nil, case .url(let proxy) = settings.connection.proxy {
            // `socks5h://user:password@127.0.0.1:1080`
            let authority = proxy.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2).first ?? ""
            let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
            return Origin(url: "http://\(host)")?.isLoopback ?? false
        }
        return isLocal(settings)
    }
}

extension Origin {
    fileprivate var isLoopback: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host.hasPrefix("127.") || host == "[::1]"
    }
}
