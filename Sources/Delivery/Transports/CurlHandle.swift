import CCurl
import Policy

/// A handle of libcurl's for one transfer at a time, with the options of a kind of request set.
///
/// libcurl keeps the options of a handle, and what it knows of TLS sessions, from one transfer to the next.
final class CurlHandle {
    /// What requests have in common whose transfers may use the same handle.
    struct Kind: Equatable {
        enum Content { case none, memory, streamed }

        let method: String
        let content: Content
        let connect: Duration
        let connection: ConnectionOptions
        let isFresh: Bool

        init(_ request: OutgoingRequest) {
            method = request.method
            let isStreamed = request.bodyFile != nil || request.bodyPart != nil
            content = isStreamed ? .streamed : request.body != nil ? .memory : .none
            connect = request.timeouts.connect
            connection = request.connection
            isFresh = request.freshConnection
        }
    }

    let kind: Kind
    let pointer: OpaquePointer
    /// Where libcurl says what went wrong: `CURL_ERROR_SIZE` bytes.
    let words: UnsafeMutablePointer<CChar>

    /// Makes one for a kind of request. Throws why libcurl does not.
    init(_ kind: Kind) throws(CurlRefusal) {
        guard let pointer = ccurl_easy_init() else {
            throw CurlRefusal(result: .failure(.other, detail: "libcurl has no memory for a transfer"))
        }
        self.kind = kind
        self.pointer = pointer
        words = .allocate(capacity: Int(CURL_ERROR_SIZE))
        words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        ccurl_set_pointer(pointer, CURLOPT_ERRORBUFFER, words)
        try CurlOptions(pointer).set(kind)
    }

    deinit {
        ccurl_easy_cleanup(pointer)
        words.deallocate()
    }
}

/// The handles that rest between two transfers.
///
/// Only a handle whose transfer came to its end in the usual way rests: one that was told anything else in the course of its
/// transfer, or failed, is given up.
struct CurlHandles {
    private var resting: [CurlHandle] = []
    /// Upper bound on the handles that rest.
    private let limit: Int

    init(concurrency: Int) { limit = min(max(1, concurrency), 64) }

    /// Returns a handle for a request. Throws why libcurl makes none.
    mutating func take(for request: OutgoingRequest) throws(CurlRefusal) -> CurlHandle {
        let kind = CurlHandle.Kind(request)
        guard let place = resting.lastIndex(where: { $0.kind == kind }) else { return try CurlHandle(kind) }
        return resting.remove(at: place)
    }

    mutating func giveBack(_ handle: CurlHandle) {
        if resting.count >= limit { resting.removeFirst() }
        resting.append(handle)
    }
}
