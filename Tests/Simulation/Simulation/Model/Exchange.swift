import Policy

/// A request and its outcome. All places are indices of events.
struct Exchange {
    let request: Request
    let process: ProcessID
    /// When the process handed the request over to its agent; as late as the server had it if no event tells.
    let submitted: Int
    /// When the server had the whole request.
    let received: Int
    /// When the server decided and the effects happened.
    var replied: Int?
    var reply: Reply?
    /// When the sender had the answer, or knew that no answer comes.
    var learned: Int?
    /// When the process took the answer in.
    var takenIn: Int?
    /// Whether the agent ended before the sender had an answer.
    var isLost = false
    /// When the sender could no longer learn an answer: the sender had the answer, knew that no answer comes, or was
    /// over.
    var ended: Int?
    /// The text of each body.
    let texts: [[UInt8]]
    /// The document of each body; `nil` if the body is not JSON.
    var documents: [Document?] = []

    init(_ request: Request, by process: ProcessID, submitted: Int? = nil, at index: Int) {
        self.request = request
        self.process = process
        self.submitted = submitted ?? index
        received = index
        texts = Self.texts(of: request)
        documents = texts.map { Document($0) }
    }

    /// Returns the elements of an array, the lines of a batch, or the single text.
    private static func texts(of request: Request) -> [[UInt8]] {
        let bytes = Array(request.text.utf8)
        var reader = DocumentReader(bytes)
        if bytes.first == UInt8(ascii: "["), let elements = reader.elements() { return elements }
        if request.bodies.count == 1 { return [bytes] }
        return bytes.split(separator: UInt8(ascii: "\n")).map(Array.init)
    }

    /// The id of the default idempotency key: a text in quotes (RFC 9651).
    var operationID: OperationID? {
        request.idempotencyKey.flatMap { OperationID($0.filter { $0 != "\"" }) }
    }

    var labels: [Label] { request.bodies.flatMap(\.self) }

    /// Returns the server's status for a body; `nil` without a status.
    func status(ofBody body: Int) -> Int? {
        guard let reply, case .status(let status) = reply.kind else { return nil }
        if let results = reply.results, (200..<300).contains(status) {
            return results.indices.contains(body) ? results[body] : nil
        }
        return status
    }

    /// Returns when the process learned that the server took the body; `nil` if the process never did.
    func delivered(body: Int) -> Int? {
        guard let learned, let status = status(ofBody: body), (200..<300).contains(status) else { return nil }
        return learned
    }

    /// Whether the process learned that the server took one of the bodies.
    var hasDelivered: Bool { request.bodies.indices.contains { delivered(body: $0) != nil } }

    /// The body that carries the label visibly.
    func body(of label: Label) -> Int? { request.bodies.firstIndex { $0.contains(label) } }
}

/// An effect of an operation.
struct Effect {
    /// The moment of the effect.
    var at: Int
    /// The place of the exchange in the record.
    var exchange: Int
    var body: Int
}
