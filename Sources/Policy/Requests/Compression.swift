/// The compression of the bodies of a route's requests.
package enum Compression: String, Hashable, Sendable, CaseIterable {
    /// Bodies are sent unchanged.
    case none
    /// RFC 1952, with `Content-Encoding: gzip` (RFC 9110 §8.4.1.3).
    case gzip
}

extension OutgoingRequest {
    /// Compresses the body, and adds `Content-Encoding`. Call this before anything that depends on the sent bytes is
    /// made, such as a signature.
    ///
    /// Changes nothing if there is no body or an empty one, if the body is a file, which is sent as it is on the disk,
    /// or if the request has a `Content-Encoding` already.
    package mutating func compress(
        by compression: Compression, _ gzip: (_ body: [UInt8]) throws(RequestError) -> [UInt8]
    ) throws(RequestError) {
        guard compression == .gzip, let body, !body.isEmpty, bodyFile == nil,
            !headers.contains(where: { $0.name.lowercased() == "content-encoding" })
        else { return }
        self.body = try gzip(body)
        headers.append(HeaderField(name: "Content-Encoding", value: "gzip"))
    }
}
