import Policy

/// What a request's body is read from, at any place: on a connection that proves stale libcurl begins again.
enum BodySource {
    case bytes([UInt8])
    case file(OpenBodyFile)

    /// `nil` for a request without a body.
    init?(of request: OutgoingRequest) throws(BodyFileError) {
        if let file = request.bodyFile {
            self = .file(try OpenBodyFile(file))
        } else if let body = request.body {
            self = .bytes(body)
        } else {
            return nil
        }
    }

    var count: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .file(let opened): opened.file.length
        }
    }

    /// Reads from `offset` on, as much as there is space for; 0 at the end.
    func read(at offset: Int, into space: UnsafeMutableRawBufferPointer) throws(BodyFileError) -> Int {
        switch self {
        case .bytes(let bytes):
            let part = bytes[min(offset, bytes.count)...].prefix(space.count)
            space.copyBytes(from: part)
            return part.count
        case .file(let opened):
            return try opened.read(at: offset, into: space)
        }
    }
}
