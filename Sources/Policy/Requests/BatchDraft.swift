/// Operations of one route that may share a request, collected one by one.
package struct BatchDraft: Sendable {
    package private(set) var members: [Operation]
    private let route: Route
    private let batch: Batch
    private let shared: RequestDraft
    private var bytes: Int

    /// `nil` if the route has no batch, or if no request can be made of the operation, as `Route.request` then says.
    package init?(_ first: Operation, route: Route) {
        guard let batch = route.batch, let draft = try? route.batchDraft(of: first) else { return nil }
        self.route = route
        self.batch = batch
        members = [first]
        bytes = draft.content.bytes?.count ?? 0
        shared = draft.withoutContent
    }

    package var isFull: Bool { members.count >= max(batch.max, 1) }

    /// Takes one more, behind the others. False if it asks for another url, method or header, or does not fit: then the
    /// next draft begins with it.
    package mutating func admit(_ operation: Operation) -> Bool {
        guard !isFull, let draft = try? route.batchDraft(of: operation), draft.withoutContent == shared else {
            return false
        }
        // What a batch of one has around its payload stands for the comma or the line break.
        let more = draft.content.bytes?.count ?? 0
        guard bytes + more <= batch.maxBytes else { return false }
        bytes += more
        members.append(operation)
        return true
    }
}

extension RequestDraft {
    fileprivate var withoutContent: RequestDraft {
        var draft = self
        draft.content.bytes = nil
        return draft
    }
}

extension Route {
    /// One request for several operations: as a draft admitted them, or a part of those in the same order.
    ///
    /// `attempt` is the highest of theirs. The key is made of the members' keys and their order, so the same batch has
    /// the same one at each attempt, and another batch another; that of a batch of one is its member's own.
    package func batchRequest(
        for members: [Operation], attempt: Int, version: String,
        settings: DestinationSettings = DestinationSettings(), secrets: SecretValues = .none, hasLibcurl: Bool = false
    ) throws(RequestError) -> OutgoingRequest {
        precondition(batch != nil && !members.isEmpty, "a batch of a route that has some")
        var draft = try batchDraft(of: members[0])
        var items: [[UInt8]] = []
        for member in members {
            items.append(try batchItem(of: member))
        }
        draft.content.bytes = batch?.joined(items)
        let keys = members.map(\.idempotencyKey)
        let key = keys.count == 1 ? keys[0] : "batch-\(Digest(of: keys.joined(separator: "\n")))"
        return try request(
            draft, for: members[0], key: key, attempt: attempt, version: version, settings: settings,
            secrets: secrets, hasLibcurl: hasLibcurl)
    }

    /// The request of a batch of one.
    func batchDraft(of operation: Operation) throws(RequestError) -> RequestDraft {
        try draft(of: operation) { (_) throws(RequestError) in
            let item = try batchItem(of: operation)
            return RequestDraft.Content(bytes: batch?.joined([item]), type: batch?.format.contentType)
        }
    }

    private func batchItem(of operation: Operation) throws(RequestError) -> [UInt8] {
        if let file = operation.header.bodyFile {
            throw .badBodyFile(path: file.path, reason: "cannot be part of a batch")
        }
        // The batch's key is made of it; and alone, it is the key.
        _ = try quotedKey(operation.idempotencyKey)
        return try json(of: operation)
    }
}

extension Batch {
    fileprivate func joined(_ items: [[UInt8]]) -> [UInt8] {
        switch format {
        case .json: [UInt8(ascii: "[")] + items.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "]")]
        case .ndjson: items.flatMap { $0.map { [0x0A, 0x0D].contains($0) ? 0x20 : $0 } + [0x0A] }
        }
    }
}

extension Batch.Format {
    package var contentType: String {
        switch self {
        case .json: "application/json"
        case .ndjson: "application/x-ndjson"
        }
    }
}
