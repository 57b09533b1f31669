import Policy

/// The document of a request for several operations of one key, collected oldest first (`coalesce: "merge"`).
///
/// The idempotency key is made from the keys of all of them, so that the server does not take one document for a
/// repetition of another.
struct MergedDocument {
    private let newest: Operation
    private let maker: RequestMaker
    /// The most bytes of all payloads together.
    private let limit: Int
    private var patch: MergePatch?
    private var keys: [String] = []
    private var length: Int

    init(into newest: Operation, by maker: RequestMaker, atMost limit: Int) {
        self.newest = newest
        self.maker = maker
        self.limit = limit
        length = newest.bodyLength
    }

    /// Adds an older operation. Returns false if no document carries it with the others.
    mutating func add(_ operation: Operation) -> Bool {
        length += operation.bodyLength
        guard operation.goesTogether(with: newest), length <= limit,
            maker.form.sendsAlike(newest, withBodyOf: operation)
        else { return false }
        keys.append(operation.header.serverKey)
        if keys.count > 1 { return patch?.merge(operation.body) == true }
        patch = MergePatch(operation.body)
        return patch != nil
    }

    /// Returns the newest operation with the payload and the idempotency key of all; `nil` if no document carries it
    /// with the others.
    func merged() -> Operation? {
        guard var patch, patch.merge(newest.body) else { return nil }
        var merged = newest
        merged.body = patch.bytes
        let keys = keys + [newest.header.serverKey]
        merged.header.idempotencyKey = "merge-\(Digest(of: keys.joined(separator: "\n")))"
        return merged
    }
}

extension Operation {
    /// Whether one request can carry the changes of both operations.
    fileprivate func goesTogether(with newer: Operation) -> Bool {
        !wasRefusedTogether && !newer.wasRefusedTogether && header.bodyFile == nil && newer.header.bodyFile == nil
            && header.$url == newer.header.$url && header.$method == newer.header.$method
            && header.headers == newer.header.headers && header.$contentType == newer.header.$contentType
    }
}

extension OperationHeader {
    /// The key by which the server knows the operation.
    fileprivate var serverKey: String { idempotencyKey ?? id.description }
}
