/// Operations of one route that may share a request, collected one by one.
package struct BatchDraft: Sendable {
    package private(set) var members: [Operation]
    private let form: RequestForm
    private let batch: Batch
    private let shared: RequestDraft
    private var bytes: Int

    /// Begins a draft; `nil` if the route has no batch, the body is a file, or no request can be made of the operation.
    package init?(_ first: Operation, form: RequestForm) {
        guard let batch = form.route.batch, first.header.bodyFile == nil, var draft = try? form.draft(of: first) else {
            return nil
        }
        self.form = form
        self.batch = batch
        members = [first]
        bytes = draft.content.bytes?.count ?? 0
        draft.content = RequestDraft.Content()
        shared = draft
    }

    package var isFull: Bool { room == 0 }

    /// The number of operations that may still be added.
    package var room: Int { max(0, max(batch.max, 1) - members.count) }

    /// Adds an operation behind the others. Returns false if it has another url, method or header, or does not fit: the
    /// next draft then begins with it.
    package mutating func admit(_ operation: Operation) -> Bool {
        let values = TemplateValues(operation)
        guard !isFull, let head = try? form.head(values), head == shared,
            let item = try? form.batchItem(of: operation, values)
        else { return false }
        // One byte more, for a comma or a line break.
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
        // Checks the operation's key: the batch's key is made of it, and a batch of one has it as its own.
        _ = try idempotencyKey(of: operation).quotedKey
        var values = values
        values.isLined = route.isBodyLined
        return try (body ?? .payload).bytes(values)
    }

    /// Returns the content of a request for these members.
    func joined(_ items: [[UInt8]], _ values: TemplateValues) throws(RequestError) -> [UInt8] {
        let format = route.batch?.format ?? .json
        var values = values
        values.items = format.joined(items)
        return try (batchBody ?? (format == .json ? .array : .items)).bytes(values)
    }
}

extension Template {
    fileprivate static let payload = constant("{payload}", for: .body(.json))
    fileprivate static let array = constant("[{items}]", for: .batch)
    fileprivate static let items = constant("{items}", for: .batch)

    private static func constant(_ text: String, for use: TemplateUse) -> Template {
        guard let template = try? Template(text, for: use) else { preconditionFailure("\(text) is a template") }
        return template
    }
}

extension Batch.Format {
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
