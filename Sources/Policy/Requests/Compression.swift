/// How the bodies of a route's requests are compressed.
package enum Compression: String, Hashable, Sendable, CaseIterable {
    /// They go out as they are.
    case none
    /// RFC 1952, with `Content-Encoding: gzip` (RFC 9110 §8.4.1.3).
    case gzip
}

extension OutgoingRequest {
    /// Compresses the body, and says so in a header field. What depends on the bytes that go out, such as a signature, is
    /// made after it.
    ///
    /// Changes nothing where there is nothing to compress (no body, an empty one), where the body is a file, which goes out as
    /// it stands on the disk, and where a `Content-Encoding` of the operation says that the body is encoded already.
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
