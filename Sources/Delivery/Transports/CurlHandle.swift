import CCurl
import CSystem
import Policy

/// A libcurl easy handle for one transfer at a time, with the options of a kind of request set.
///
/// libcurl keeps a handle's options and TLS sessions from one transfer to the next.
final class CurlHandle {
    /// The properties that requests must share to use the same handle.
    struct Kind: Equatable {
        enum Content { case none, memory, streamed }

        private let base: RequestBase
        let content: Content
        let isFresh: Bool
        let needsHTTP1: Bool

        var method: String { base.values.method }
        var connect: Duration { base.values.timeouts.connect }
        var connection: ConnectionOptions { base.values.connection }

        init(_ request: OutgoingRequest) {
            base = request.base
            content = request.streamsBody ? .streamed : request.body != nil ? .memory : .none
            isFresh = request.freshConnection
            needsHTTP1 = request.needsHTTP1
        }

        static func == (left: Kind, right: Kind) -> Bool {
            guard left.content == right.content, left.isFresh == right.isFresh, left.needsHTTP1 == right.needsHTTP1
            else { return false }
            return left.base === right.base
                || left.method == right.method && left.connect == right.connect && left.connection == right.connection
        }
    }

    let kind: Kind
    let pointer: OpaquePointer
    /// libcurl's error message: a buffer of `CURL_ERROR_SIZE` bytes.
    let errorMessage: UnsafeMutablePointer<CChar>
    /// The `errno` of the last socket(2) that failed; 0 if none did.
    let socketError: UnsafeMutablePointer<Int32>
    /// The number of the TLS connection that the handle opened last (`ccurl_note_tls`); 0 if it opened none.
    let tls: UnsafeMutablePointer<Int>
    /// The base of the last request, whose URL and proxy are set on the handle; `nil` before the first request.
    private var target: RequestBase?
    /// The header lines of the last request, which libcurl reads in place; `nil` before the first request.
    private var fields: UnsafeMutablePointer<ccurl_list>?
    /// Whether TLS carries the requests of its base.
    private(set) var usesTLS = false

    /// Makes a handle for a kind of request. Throws libcurl's refusal.
    init(_ kind: Kind) throws(CurlRefusal) {
        guard let pointer = ccurl_easy_init() else { throw .shortage }
        self.kind = kind
        self.pointer = pointer
        errorMessage = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorMessage.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        socketError = .allocate(capacity: 1)
        socketError.initialize(to: 0)
        tls = .allocate(capacity: 1)
        tls.initialize(to: 0)
        ccurl_set_pointer(pointer, CURLOPT_ERRORBUFFER, errorMessage)
        ccurl_note_socket_errors(pointer, socketError)
        ccurl_note_tls(pointer, tls)
        CurlTransfer.setFunctions(of: pointer)
        try CurlOptions(pointer).set(kind)
    }

    /// Sets the options of a request. Leaves the URL and the proxy if the last request had the same base.
    func set(_ request: OutgoingRequest) throws(CurlRefusal) {
        let options = CurlOptions(pointer)
        if target !== request.base {
            target = nil
            try options.setTarget(request.url, proxy: request.proxy ?? "")
            (target, usesTLS) = (request.base, request.usesTLS)
        }
        try options.setBody(of: request)
        let former = fields
        fields = try request.curlFields()
        ccurl_set_pointer(pointer, CURLOPT_HTTPHEADER, fields)
        free(former)
    }

    deinit {
        ccurl_easy_cleanup(pointer)
        free(fields)
        errorMessage.deallocate()
        socketError.deallocate()
        tls.deallocate()
    }
}

/// The idle handles of an agent process (`AgentSink`).
///
/// A handle is reused only if its transfer ended without an error and left the options of its kind unchanged.
struct CurlHandles {
    private var idle: [CurlHandle] = []
    /// Upper bound on the idle handles.
    private let limit: Int

    init(concurrency: Int) { limit = min(max(1, concurrency), 64) }

    /// Removes and returns an idle handle for a request, or makes one. Throws libcurl's refusal to make one.
    mutating func take(for request: OutgoingRequest) throws(CurlRefusal) -> CurlHandle {
        let kind = CurlHandle.Kind(request)
        guard let index = idle.lastIndex(where: { $0.kind == kind }) else { return try CurlHandle(kind) }
        return idle.remove(at: index)
    }

    mutating func giveBack(_ handle: CurlHandle) {
        if idle.count >= limit { idle.removeFirst() }
        idle.append(handle)
    }
}
