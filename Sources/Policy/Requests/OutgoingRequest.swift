/// One complete HTTP request: a transport sends it without looking anything up.
package struct OutgoingRequest: Hashable, Sendable {
    package var method: String
    /// Absolute, `http` or `https`, percent-encoded.
    package var url: String
    package var headers: [HeaderField] = []
    /// `nil` sends no body at all; an empty body is sent with a Content-Length of 0.
    package var body: [UInt8]?
    /// Streamed instead of `body`.
    package var bodyFile: BodyFile?
    /// Streamed instead of `body`.
    package var bodyPart: FilePart?
    package var timeouts = Timeouts()
    /// The number of bytes kept of the answer's body. A longer answer is cut there, and the transfer ends.
    package var answerLimit = 65_536
    package var transport: Transport = .urlsession
    package var connection = ConnectionOptions()
    package var redirects: Redirects = .never
    /// The name of the destination. Attempts for one destination share a delivery agent.
    package var destination = ""
    /// Whether the request needs a new connection: on a kept connection the last attempt's answer may have been about
    /// another request.
    package var freshConnection = false
    /// Whether the request leaves over HTTP/1.1, although its server may speak HTTP/2.
    package var needsHTTP1 = false

    /// The number of body bytes that are sent; `nil` without a body.
    package var bodyLength: Int? { bodyFile?.length ?? bodyPart?.length ?? body?.count }
}

extension OutgoingRequest {
    /// Creates a request without fields and body, with default limits.
    package init(method: String, url: String) {
        self.init(method: method, url: url, headers: [])
    }
}

/// The body file of an operation, as it was when the operation was added. Sent only with the same content.
package struct BodyFile: Hashable, Sendable {
    /// Absolute.
    package var path: String
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

/// Shows no header values and no query, which may contain secrets, also in a dump and in a debugger.
extension OutgoingRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String {
        let names = headers.map(\.name).joined(separator: ", ")
        return "\(method) \(url.upTo("?")) (\(names); \(bodyLength ?? 0) bytes)"
    }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
