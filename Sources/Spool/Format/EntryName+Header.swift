package import Policy

extension EntryName {
    /// Creates the name under which an operation is accepted.
    package init(naming header: OperationHeader) {
        self = Self.exact(header).asWritten
    }

    /// Returns the name of a new operation with its times as the header has them.
    private static func exact(_ header: OperationHeader) -> EntryName {
        EntryName(
            createdAt: header.createdAt, id: header.id, type: header.type,
            keyDigest: header.key.map { Digest(of: $0) },
            // A url that cannot be requested is a destination of its own, with its own holds and limits.
            originDigest: header.url.map { Origin(url: $0)?.digest ?? Digest(of: $0) },
            gate: header.notBefore.map { .notBefore($0) } ?? .open)
    }

    /// Returns a difference between this name and a header; `nil` if both can be of the same operation.
    ///
    /// Only the name says what happened since the operation was accepted: attempts, interruptions, holds and the time
    /// it waits for. A digest left out of the name is no difference.
    func contradiction(to header: OperationHeader) -> String? {
        let expected = Self.exact(header)
        func differs(_ what: String, _ found: String, _ expected: String?) -> String {
            "\(what) in conflict: '\(found)' in the name, \(expected.map { "'\($0)'" } ?? "none") in the header"
        }
        if id != expected.id { return differs("ids", id.description, expected.id.description) }
        if createdAt != expected.createdAt {
            return differs("times of creation", createdAt.rfc3339, expected.createdAt.rfc3339)
        }
        if type != expected.type { return differs("types", type.description, expected.type.description) }
        if let keyDigest, keyDigest != expected.keyDigest {
            return differs("digests of the key", keyDigest.description, expected.keyDigest?.description)
        }
        if let originDigest, originDigest != expected.originDigest {
            return differs("digests of the origin", originDigest.description, expected.originDigest?.description)
        }
        return nil
    }

    /// This name as a listing returns it: times cut to the precision of names.
    var asWritten: EntryName {
        // Every description is canonical; otherwise the name would stay unchanged.
        EntryName(description, mayBeInput: isInput) ?? self
    }
}
