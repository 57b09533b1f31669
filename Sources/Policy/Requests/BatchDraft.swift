/// Operations of one route that may share a request, collected one by one.
package struct BatchDraft: Sendable {
    package private(set) var members: [Operation]
    private let form: RequestForm
    private let batch: Batch
    private let shared: RequestDraft
    private var bytes: Int

    /// `nil` if the route has no batch, or if no request can be made of the operation, as `RequestForm.request` then says.
    package init?(_ first: Operation, form: RequestForm) {
        guard let batch = form.route.batch, let draft = try? form.draft(of: first) else { return nil }
        self.form = form
        self.batch = batch
        members = [first]
        bytes = draft.content.bytes?.count ?? 0
        shared = draft.withoutContent
    }

    package var isFull: Bool { members.count >= max(batch.max, 1) }

    /// Takes one more, behind the others. False if it asks for another url, method or header, or does not fit: then the
    /// next draft begins with it.
    package mutating func admit(_ operation: Operation) -> Bool {
        guard !isFull, let draft = try? form.draft(of: operation), draft.withoutContent == shared else {
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
    /// What one operation is in a batch.
    func batchItem(of operation: Operation) throws(RequestError) -> [UInt8] {
        if let file = operation.header.bodyFile {
            throw .badBodyFile(path: file.path, reason: "cannot be part of a batch")
        }
        // The batch's key is made of it; and alone, it is the key.
        _ = try operation.idempotencyKey.quotedKey
        return try json(of: operation)
    }
}

extension Batch {
    func joined(_ items: [[UInt8]]) -> [UInt8] {
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
