/// Operations of one route that may share a request, collected one by one.
package struct BatchDraft: Sendable {
    package private(set) var members: [Operation]
    private let form: RequestForm
    private let batch: Batch
    private let shared: RequestDraft
    private var bytes: Int

    /// `nil` if the route has no batch, or if no request can be made of the operation, as `RequestForm.request` then says.
    package init?(_ first: Operation, form: RequestForm) {
        guard let batch = form.route.batch, var draft = try? form.draft(of: first) else { return nil }
        self.form = form
        self.batch = batch
        members = [first]
        bytes = draft.content.bytes?.count ?? 0
        draft.content = RequestDraft.Content()
        shared = draft
    }

    package var isFull: Bool { room == 0 }

    /// How many more it may have.
    package var room: Int { max(0, max(batch.max, 1) - members.count) }

    /// Takes one more, behind the others. False if it asks for another url, method or header, or does not fit: then the
    /// next draft begins with it.
    package mutating func admit(_ operation: Operation) -> Bool {
        let values = TemplateValues(operation)
        guard !isFull, let head = try? form.head(values), head == shared,
            let item = try? form.batchItem(of: operation, values)
        else { return false }
        // A comma or a line break more.
        guard bytes + item.count < batch.maxBytes else { return false }
        bytes += item.count + 1
        members.append(operation)
        return true
    }
}

extension RequestForm {
    /// Returns the bytes of one operation in a batch. In a batch of lines only the route's `body` adds line breaks.
    func batchItem(of operation: Operation, _ values: TemplateValues) throws(RequestError) -> [UInt8] {
        if let file = operation.header.bodyFile {
            throw .badBodyFile(path: file.path, reason: "cannot be part of a batch")
        }
        // The batch's key is made of it; and alone, it is the key.
        _ = try idempotencyKey(of: operation).quotedKey
        var values = values
        values.isLined = route.batch?.format == .ndjson
        return try (body ?? .payload).bytes(values)
    }

    /// The content of a request for these members.
    func joined(_ items: [[UInt8]], _ values: TemplateValues) throws(RequestError) -> [UInt8] {
        let format = route.batch?.format ?? .json
        var values = values
        values.items = format.joined(items)
        return try (batchBody ?? format.envelope).bytes(values)
    }
}

extension Template {
    /// The payload as it is.
    fileprivate static let payload = constant("{payload}", for: .body(.json))
    fileprivate static let array = constant("[{items}]", for: .batch)
    fileprivate static let items = constant("{items}", for: .batch)

    private static func constant(_ text: String, for use: TemplateUse) -> Template {
        guard let template = try? Template(text, for: use) else { preconditionFailure("\(text) is a template") }
        return template
    }
}

extension Batch.Format {
    fileprivate var envelope: Template {
        switch self {
        case .json: .array
        case .ndjson: .items
        }
    }

    fileprivate func joined(_ items: [[UInt8]]) -> [UInt8] {
        switch self {
        case .json: Array(items.joined(separator: [UInt8(ascii: ",")]))
        case .ndjson: items.flatMap { $0.last == 0x0A ? $0 : $0 + [0x0A] }
        }
    }

    package var contentType: String {
        switch self {
        case .json: "application/json"
        case .ndjson: "application/x-ndjson"
        }
    }
}
