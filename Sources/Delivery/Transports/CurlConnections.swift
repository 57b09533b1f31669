import CCurl
import Policy

/// A connection cache of libcurl's for one transfer at a time: at most one connection of HTTP/1.1 rests in it.
///
/// libcurl chooses among the connections of a cache by itself, so each connection has a cache of its own.
final class ConnectionCache {
    let pointer: OpaquePointer
    fileprivate init?() {
        guard let pointer = ccurl_share_init() else { return nil }
        self.pointer = pointer
    }

    deinit { ccurl_share_cleanup(pointer) }
}

/// The connections of an agent that rest between two requests, and which transfer takes which.
///
/// A connection whose server has sent one answer too many is a request behind: the answer to a request arrives shortly after
/// the stray one that was taken for it. Used again at once, the connection shows nothing unread, and every verdict after it
/// is the one before. So a cache is used again only where more of its origin rest than are in use: there are
/// about twice as many as transfers, which take turns, and while a connection rests, what is on its way arrives and is seen.
struct CurlConnections {
    private struct Resting {
        var origin: String
        var cache: ConnectionCache
    }

    /// Those that have rested the longest first.
    private var resting: [Resting] = []
    /// How many caches of each origin are in use; an origin without one in use is not in it.
    private var busy: [String: Int] = [:]
    /// Upper bound on the caches that rest. More are closed, the longest rested first.
    private let limit: Int
    /// The origins by TLS whose last answer was of HTTP/1.1.
    private var plain: Set<String> = []
    /// The origins by TLS whose last answer was of HTTP/2.
    private var multiplexed: Set<String> = []

    init(concurrency: Int) {
        limit = 2 * max(1, concurrency) + 8
    }

    /// Returns the cache for a request; `nil` where libcurl is to choose: over HTTP/2, whose answers name their requests,
    /// before the version is known, and for a unix socket.
    mutating func take(for request: OutgoingRequest) -> ConnectionCache? {
        guard request.connection.unixSocket == nil, !request.freshConnection else { return nil }
        let origin = request.url.origin
        guard origin.isPlain || plain.contains(origin) else { return nil }
        let places = resting.indices.filter { resting[$0].origin == origin }
        let isRested = places.count > busy[origin, default: 0] + 1
        guard let cache = isRested ? resting.remove(at: places[0]).cache : ConnectionCache() else { return nil }
        busy[origin, default: 0] += 1
        return cache
    }

    /// Takes a cache back when the transfer of a request has left it.
    mutating func giveBack(_ cache: ConnectionCache, of request: OutgoingRequest) {
        let origin = request.url.origin
        resting.append(Resting(origin: origin, cache: cache))
        if resting.count > limit { resting.removeFirst() }
        busy[origin] = busy[origin].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    /// Whether a request may go over a connection that other requests use at the same time: by TLS, where the server is not
    /// known to speak HTTP/1.1.
    func mayShare(_ request: OutgoingRequest) -> Bool {
        guard request.connection.unixSocket == nil, !request.freshConnection else { return false }
        let origin = request.url.origin
        return !origin.isPlain && !plain.contains(origin)
    }

    /// Whether a request goes to a server whose last answer was of HTTP/2.
    func isMultiplexed(_ request: OutgoingRequest) -> Bool { multiplexed.contains(request.url.origin) }

    /// Notes which version of HTTP a server's answer was of; 0 where there was none.
    mutating func note(version: Int, of request: OutgoingRequest) {
        let origin = request.url.origin
        if origin.isPlain { return }
        if version == 1 {
            plain.insert(origin)
            multiplexed.remove(origin)
        } else if version >= 2 {
            plain.remove(origin)
            multiplexed.insert(origin)
        }
    }
}

extension String {
    /// A URL's scheme, host and port, as they are written.
    var origin: String {
        let slash = UInt8(ascii: "/")
        var slashes = 0
        let end = utf8.firstIndex { byte in
            if byte == slash { slashes += 1 }
            return slashes == 3
        }
        return String(self[..<(end ?? endIndex)])
    }

    /// Whether it goes out without TLS, so over HTTP/1.1.
    fileprivate var isPlain: Bool { !utf8.starts(with: "https".utf8) }
}
