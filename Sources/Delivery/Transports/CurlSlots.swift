import CCurl
import Policy

/// Where one kept connection of HTTP/1.1 rests between two requests.
///
/// libcurl chooses among the connections of a cache by itself. A slot is a cache of its own, for one transfer at a time.
final class CurlSlot {
    let cache: OpaquePointer
    fileprivate init?() {
        guard let cache = ccurl_share_init() else { return nil }
        self.cache = cache
    }

    deinit { ccurl_share_cleanup(cache) }
}

/// The slots of an agent, and which transfer takes which.
///
/// A connection whose server has sent one answer too many is a request behind: the answer to a request arrives shortly after
/// the stray one that was taken for it. Used again at once, the connection shows nothing unread, and every verdict after it
/// is the one before. So an origin has twice as many slots as transfers under way, and they take turns: while a connection
/// rests, what is on its way arrives and is seen.
struct CurlSlots {
    private struct Resting {
        var origin: String
        var slot: CurlSlot
    }

    /// Those that have rested the longest first.
    private var resting: [Resting] = []
    /// How many slots of each origin are in use; none is not noted.
    private var busy: [String: Int] = [:]
    /// Upper bound on the slots that rest. More are closed, the longest rested first.
    private let limit: Int
    /// The origins whose answers are of HTTP/1.1, as far as they are known.
    private var plain: Set<String> = []

    init(concurrency: Int) {
        limit = 2 * max(1, concurrency) + 8
    }

    /// Returns the slot for a request; `nil` where libcurl is to choose: over HTTP/2, whose answers name their requests,
    /// before the version is known, and for a unix socket.
    mutating func take(for request: OutgoingRequest) -> CurlSlot? {
        guard request.connection.unixSocket == nil, !request.freshConnection else { return nil }
        let origin = request.url.origin
        guard origin.isPlain || plain.contains(origin) else { return nil }
        let places = resting.indices.filter { resting[$0].origin == origin }
        let isRested = places.count > busy[origin, default: 0] + 1
        guard let slot = isRested ? resting.remove(at: places[0]).slot : CurlSlot() else { return nil }
        busy[origin, default: 0] += 1
        return slot
    }

    /// Takes a slot back when the transfer of a request has left it.
    mutating func giveBack(_ slot: CurlSlot, of request: OutgoingRequest) {
        let origin = request.url.origin
        resting.append(Resting(origin: origin, slot: slot))
        if resting.count > limit { resting.removeFirst() }
        busy[origin] = busy[origin].flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    /// Notes which version of HTTP a server's answer was of; 0 where there was none.
    mutating func note(version: Int, of request: OutgoingRequest) {
        let origin = request.url.origin
        if origin.isPlain { return }
        if version == 1 { plain.insert(origin) } else if version >= 2 { plain.remove(origin) }
    }
}

extension String {
    /// A URL's scheme, host and port, as they are written.
    fileprivate var origin: String {
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
