/// A destination of requests: an origin or a configured name, and its digest.
package struct Destination: Hashable, Sendable {
    /// The digest of the origin's text or of the configured name. A file name's `o=` and a route's url agree on it.
    package var digest: Digest
    /// The origin or the configured name; a substitute if there is no url, or if only the digest is known.
    package var name: String

}

extension Destination {
    package init(named name: String) { self.init(digest: Digest(of: name), name: name) }

    /// Returns whether the destination is on this machine, so that the state of the network is no reason to wait.
    package func isLocal(_ settings: DestinationSettings) -> Bool {
        settings.connection.unixSocket != nil || Origin(url: name)?.isLoopback ?? false
    }

    /// Returns whether a connection to the destination stays on this machine, as one to a proxy on loopback does. An
    /// error is then not a sign of a missing network.
    package func isReachedLocally(_ settings: DestinationSettings) -> Bool {
        if settings.connection.unixSocket == nil, case .url(let proxy) = settings.connection.proxy {
            // `socks5h://user:password@127.0.0.1:1080`
            let authority = proxy.pieces(at: "/").dropFirst(2).first ?? ""
            let host = authority.pieces(at: "@").last ?? ""
            return Origin(url: "http://\(host)")?.isLoopback ?? false
        }
        return isLocal(settings)
    }
}

extension Origin {
    fileprivate var isLoopback: Bool {
        host == "localhost" || host.ends(with: ".localhost") || host.begins(with: "127.") || host == "[::1]"
    }
}
