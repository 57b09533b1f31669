import CCurl
import Policy

/// A libcurl connection cache for one transfer at a time: at most one HTTP/1.1 connection rests in it.
///
/// libcurl chooses freely among the connections of a cache, so each connection has a cache of its own.
final class ConnectionCache {
    let pointer: OpaquePointer
    fileprivate init?() {
        guard let pointer = ccurl_share_init() else { return nil }
        self.pointer = pointer
    }

    deinit { ccurl_share_cleanup(pointer) }
}

/// The resting connections of an agent, and the choice of a connection for each transfer.
///
/// A connection whose server has sent one answer too many is a request behind: the true answer to a request arrives
/// just after the stray answer taken for it. If the next request followed at once, no byte would be unread yet, and the
/// request would get the late answer. So a cache is used again only if more caches of its origin rest than are in use.
/// There are about twice as many caches as transfers: while a connection rests, late bytes arrive and are seen. Then
/// the server gets a fresh connection for each further request.
struct CurlConnections {
    /// Scheme, host and port of a request's URL, as written, the unix socket that leads there, and the files of TLS;
    /// and what this agent knows of the server.
    final class Origin {
        /// Whether the origin is without TLS, and so speaks HTTP/1.1.
        let isPlain: Bool
        /// The number of caches in use, and of caches that rest.
        fileprivate var (busy, resting) = (0, 0)
        /// The version of HTTP that the server has chosen last over TLS; `nil` if unknown.
        fileprivate var version: Int?
        fileprivate var lacksHTTP1 = false
        /// The sum of the bodies on their way on shared connections, in bytes.
        fileprivate var sharedBytes = 0
        /// Whether its HTTP/1.1 connections are not kept: it has sent an answer to no request, or has closed a kept
        /// connection without TLS under a request.
        fileprivate var isStraying = false
        /// The pass of libcurl in which its resting connections were looked at last. The requests of a pass begin
        /// together, and each looks at its own connection again before leaving.
        fileprivate var lookedAt = -1

        fileprivate init(isPlain: Bool) { self.isPlain = isPlain }
    }

    private struct Resting {
        var origin: Origin
        var cache: ConnectionCache
        /// The socket of the last transfer, if known, and whether TLS carries it.
        var socket: CurlSocket?
        var usesTLS: Bool
    }

    private var origins: [String: Origin] = [:]
    /// The base of the last request, with its origin.
    private var last: (base: RequestBase, origin: Origin)?
    /// The resting connections, the longest rested first.
    private var resting: [Resting] = []
    /// Upper bound on the resting caches. Beyond the bound the longest rested is closed.
    private let limit: Int
    private let sockets: CurlSockets

    init(concurrency: Int, sockets: CurlSockets) {
        self.sockets = sockets
        limit = 2 * max(1, concurrency) + 8
    }

    mutating func origin(of request: OutgoingRequest) -> Origin {
        if let last, last.base === request.base { return last.origin }
        let connection = request.connection
        var text = request.url.origin + (connection.unixSocket ?? "")
        if let file = connection.caFile { text += " authorities \(file)" }
        if let client = connection.clientCertificate {
            text += " client \(client.certificateFile) \(client.keyFile ?? "")"
        }
        let origin = origins[text] ?? Origin(isPlain: !text.utf8.starts(with: "https".utf8))
        origins[text] = origin
        last = (request.base, origin)
        return origin
    }

    /// Looks for answers of a server to no request, now on a resting connection. Returns whether it sends them, or did.
    mutating func lookForStray(of origin: Origin) -> Bool {
        if origin.isStraying { return true }
        if origin.lookedAt == sockets.performCount { return false }
        origin.lookedAt = sockets.performCount
        // Every pass with requests asks, and hardly ever is there an answer. Access by index copies no element.
        let mayHaveStray = sockets.haveInput(resting.count) { number in
            resting[number].origin === origin ? resting[number].socket : nil
        }
        guard mayHaveStray else { return false }
        let isFound = resting.contains { rest in
            rest.origin === origin && rest.socket.map { sockets.hasStray($0, usesTLS: rest.usesTLS) } ?? false
        }
        if isFound { noteStray(of: origin) }
        return isFound
    }

    /// Notes that a server has sent an answer to no request, and closes its resting connections.
    mutating func noteStray(of origin: Origin) {
        (origin.isStraying, origin.resting) = (true, 0)
        resting.removeAll { $0.origin === origin }
    }

    /// Returns the cache for a request, and the socket last used in it; `nil` if libcurl is to choose: over HTTP/2,
    /// whose answers name their requests, before the version is known, and for a fresh connection.
    mutating func take(
        for request: OutgoingRequest, to origin: Origin
    ) -> (cache: ConnectionCache, socket: CurlSocket?)? {
        guard !request.freshConnection, !mayShare(request, to: origin) else { return nil }
        var rested: Resting?
        if origin.resting > origin.busy + 1, let first = resting.firstIndex(where: { $0.origin === origin }) {
            rested = removeResting(at: first)
        }
        guard let cache = rested?.cache ?? ConnectionCache() else { return nil }
        origin.busy += 1
        return (cache, rested?.socket)
    }

    /// Takes back the cache of an ended transfer.
    mutating func giveBack(_ cache: ConnectionCache, of transfer: CurlTransfer) {
        let origin = transfer.origin
        if !origin.isStraying {
            origin.resting += 1
            resting.append(
                Resting(
                    origin: origin, cache: cache, socket: transfer.socket, usesTLS: transfer.owned.usesTLS))
        }
        if resting.count > limit { _ = removeResting(at: 0) }
        origin.busy -= 1
    }

    private mutating func removeResting(at index: Int) -> Resting {
        let rested = resting.remove(at: index)
        rested.origin.resting -= 1
        return rested
    }

    /// Returns whether other requests may use a request's connection at the same time: over TLS, unless the server is
    /// known to speak HTTP/1.1, and if the body fits.
    func mayShare(_ request: OutgoingRequest, to origin: Origin) -> Bool {
        guard !request.freshConnection, !request.needsHTTP1 else { return false }
        return mayBeMultiplexed(origin) && fits(request, to: origin)
    }

    /// Returns whether a server may speak HTTP/2: over TLS, unless it has chosen HTTP/1.1 last.
    func mayBeMultiplexed(_ origin: Origin) -> Bool { !origin.isPlain && origin.version != 1 }

    /// Returns whether a request is sent over HTTP/1.1: because its server has lost an answer over HTTP/2, or because
    /// the body does not fit. libcurl drops an early answer if it reads it together with the stream's end.
    func needsHTTP1(_ request: OutgoingRequest, to origin: Origin) -> Bool {
        (request.needsHTTP1 || !fits(request, to: origin)) && !origin.lacksHTTP1
    }

    /// Returns whether a body leaves at once on a shared connection, beside the bodies that are on their way. libcurl
    /// loses an answer that comes before the body has left if it reads the answer for another stream.
    private func fits(_ request: OutgoingRequest, to origin: Origin) -> Bool {
        let length = request.bodyLength ?? 0
        return length == 0 || length <= Self.window - origin.sharedBytes
    }

    /// The bytes that a server takes at once on a connection: half of the first window (RFC 9113 §6.9.2). Servers open
    /// the window again when it has read about as much.
    private static let window = 32_767

    /// Notes that a body of this length is on its way on a shared connection, or is not any more (a negative length).
    mutating func noteShared(_ length: Int, of origin: Origin) { origin.sharedBytes += length }

    /// Notes that a server speaks no HTTP/1.1.
    mutating func noteLackOfHTTP1(of origin: Origin) { origin.lacksHTTP1 = true }

    /// Returns whether a server has chosen HTTP/2 last.
    func isMultiplexed(_ origin: Origin) -> Bool { origin.version == 2 }

    /// Notes the HTTP version that a server has chosen for a transfer that has begun.
    mutating func noteVersion(of transfer: CurlTransfer) {
        let origin = transfer.origin
        if origin.isPlain || !transfer.hasBegun || transfer.request.needsHTTP1 { return }
        origin.version = transfer.version == 1 ? 1 : 2
    }
}

extension String {
    /// A URL's scheme, host and port, as written.
    fileprivate var origin: String {
        let slash = UInt8(ascii: "/")
        var slashes = 0
        let end = utf8.firstIndex { byte in
            if byte == slash { slashes += 1 }
            return slashes == 3
        }
        return String(self[..<(end ?? endIndex)])
    }
}
