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
/// is the one before. So there are twice as many slots as transfers under way, and they take turns: while a connection rests,
/// what is on its way arrives and is seen.
struct CurlSlots {
    /// The one that has rested the longest first.
    private var idle: [CurlSlot] = []
    private var busy = 0
    /// The origins whose answers are of HTTP/1.1, as far as they are known.
    private var plain: Set<Substring> = []

    /// Returns the slot for a request; `nil` where libcurl is to choose: over HTTP/2, whose answers name their requests,
    /// before the version is known, and for a unix socket.
    mutating func take(for request: OutgoingRequest) -> CurlSlot? {
        guard request.connection.unixSocket == nil, !request.freshConnection else { return nil }
        guard request.url.prefix(5).lowercased() == "http:" || plain.contains(request.url.origin) else { return nil }
        guard let slot = idle.count > busy + 1 ? idle.removeFirst() : CurlSlot() else { return nil }
        busy += 1
        return slot
    }

    /// Takes a slot back when its transfer has left it.
    mutating func giveBack(_ slot: CurlSlot) {
        idle.append(slot)
        busy -= 1
    }

    /// Notes which version of HTTP a server's answer was of; 0 where there was none.
    mutating func note(version: Int, of request: OutgoingRequest) {
        guard request.url.prefix(5).lowercased() != "http:" else { return }
        if version == 1 { plain.insert(request.url.origin) } else if version >= 2 { plain.remove(request.url.origin) }
    }
}

extension String {
    /// A URL up to its path.
    fileprivate var origin: Substring {
        guard let start = firstRange(of: "://")?.upperBound else { return self[...] }
        return self[..<(self[start...].firstIndex(of: "/") ?? endIndex)]
    }
}
