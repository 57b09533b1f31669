/// One complete HTTP request: a transport sends it without looking anything up.
package struct OutgoingRequest: Hashable, Sendable {
    /// A change makes another one.
    package private(set) var base: RequestBase
    package var headers: [HeaderField]
    /// `nil` sends no body at all; an empty body is sent with a Content-Length of 0.
    package var body: [UInt8]?
    /// Streamed instead of `body`.
    package var bodyPart: FilePart?
    /// The name of the destination. Attempts for one destination share a delivery agent.
    package var destination = ""
    /// Whether the request needs a new connection: on a kept one the last answer may have been about another request.
    package var freshConnection = false
    /// Whether the request leaves over HTTP/1.1, although its server may speak HTTP/2.
    package var needsHTTP1 = false

    package init(
        _ base: RequestBase, headers: [HeaderField] = [], body: [UInt8]? = nil, bodyPart: FilePart? = nil,
        freshConnection: Bool = false
    ) {
        self.base = base
        self.headers = headers
        self.body = body
        self.bodyPart = bodyPart
        self.freshConnection = freshConnection
    }

    /// Creates a request with a base of its own.
    package init(
        method: String, url: String, headers: [HeaderField] = [], body: [UInt8]? = nil, bodyFile: BodyFile? = nil,
        bodyPart: FilePart? = nil, timeouts: Timeouts = Timeouts(), answerLimit: Int = 65_536,
        transport: Transport = .urlsession, connection: ConnectionOptions = ConnectionOptions(),
        redirects: Redirects = .never, destination: String = "", freshConnection: Bool = false
    ) {
        var values = RequestBase.Values(method: method, url: url)
        (values.bodyFile, values.timeouts, values.answerLimit) = (bodyFile, timeouts, answerLimit)
        (values.transport, values.connection, values.redirects) = (transport, connection, redirects)
        self.init(
            RequestBase(values), headers: headers, body: body, bodyPart: bodyPart, freshConnection: freshConnection)
        self.destination = destination
    }

    /// Returns the request with another base.
    package func based(on base: RequestBase) -> OutgoingRequest {
        var request = self
        request.base = base
        return request
    }

    /// The number of body bytes that are sent; `nil` without a body.
    package var bodyLength: Int? { bodyFile?.length ?? bodyPart?.length ?? body?.count }
}

/// The values of the base.
extension OutgoingRequest {
    package var method: String {
        get { base.values.method }
        set { change { $0.method = newValue } }
    }
    package var url: String {
        get { base.values.url }
        set { change { $0.url = newValue } }
    }
    package var bodyFile: BodyFile? {
        get { base.values.bodyFile }
        set { change { $0.bodyFile = newValue } }
    }
    package var timeouts: Timeouts {
        get { base.values.timeouts }
        set { change { $0.timeouts = newValue } }
    }
    package var answerLimit: Int {
        get { base.values.answerLimit }
        set { change { $0.answerLimit = newValue } }
    }
    package var transport: Transport {
        get { base.values.transport }
        set { change { $0.transport = newValue } }
    }
    package var connection: ConnectionOptions {
        get { base.values.connection }
        set { change { $0.connection = newValue } }
    }
    package var redirects: Redirects {
        get { base.values.redirects }
        set { change { $0.redirects = newValue } }
    }

    private mutating func change(_ change: (inout RequestBase.Values) -> Void) {
        var values = base.values
        change(&values)
        base = RequestBase(values)
    }
}

/// The body file of an operation, as it was when the operation was added. Sent only with the same content.
package struct BodyFile: Hashable, Sendable {
    /// Absolute.
    @Bytewise package var path: String
    /// In bytes.
    package var length: Int
    /// The time of the last modification, in nanoseconds since 1970.
    package var modified: Int64
    package var inode: UInt64
    /// The time of the last change of the inode, in nanoseconds since 1970; `nil` if it is not known.
    package var changed: Int64?
    /// The SHA-256 of the content, in hexadecimal digits; `nil` if it is not known.
    package var sha256: String?

    package init(
        path: String, length: Int, modified: Int64, inode: UInt64, changed: Int64? = nil, sha256: String? = nil
    ) {
        self.path = path
        self.length = length
        self.modified = modified
        self.inode = inode
        self.changed = changed
        self.sha256 = sha256
    }

    /// Whether nobody has written to the file since it was as the other value says, as far as its status tells.
    package func isUntouched(since other: BodyFile) -> Bool {
        length == other.length && modified == other.modified && inode == other.inode
            && (other.sha256 == nil || changed == other.changed)
    }

    /// Whether the content is that of the other value.
    package func hasContent(of other: BodyFile) -> Bool {
        isUntouched(since: other) || sha256 != nil && sha256 == other.sha256
    }
}

/// Shows no header values and no query, which may contain secrets.
extension OutgoingRequest: Confidential {
    package var description: String {
        let names = headers.map(\.name).joined(separator: ", ")
        return "\(method) \(url.upTo("?")) (\(names); \(bodyLength ?? 0) bytes)"
    }
}
