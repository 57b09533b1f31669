/// A header field of a request, with name and value as they are sent.
package struct HeaderField: Hashable, Sendable, Codable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Compares bytes: two values in different normal forms are two values on the wire.
    package static func == (left: HeaderField, right: HeaderField) -> Bool {
        left.name.hasBytes(of: right.name) && left.value.hasBytes(of: right.value)
    }

    package func hash(into hasher: inout Hasher) {
        name.hashBytes(into: &hasher)
        value.hashBytes(into: &hasher)
    }
}

/// The header line of an operation file: what the operation asks for, without its body.
package struct OperationHeader: Hashable, Sendable {
    /// The version of the file format that this program writes, the value of the field `drainq`.
    package static let formatVersion = 1

    package var id: OperationID
    package var type: TypeName
    package var createdAt: Timestamp
    /// The media type of the body; `nil` when there is no body.
    @Bytewise package var contentType: String?
    /// Groups operations for coalescing and ordering; any text of up to 1,024 bytes.
    @Bytewise package var key: String?
    @Bytewise package var method: String?
    @Bytewise package var url: String?
    package var headers: [HeaderField]
    package var notBefore: Timestamp?
    package var expiresAt: Timestamp?
    /// The operation's own `Idempotency-Key`; `nil` for the key of its route, which is the id by default.
    @Bytewise package var idempotencyKey: String?
    /// What had happened to the operation when it was edited; `nil` if its request has always been the same.
    package var edited: Edit?
    /// The file that is the body; `Operation.body` is then empty.
    package var bodyFile: BodyFile?
    /// Fields unknown to this version, as raw JSON text. Every copy of the file keeps them.
    package var unknown: [UnknownField]

    package struct UnknownField: Hashable, Sendable {
        package var name: String
        /// The value's JSON text, byte for byte.
        package var json: String

        package init(name: String, json: String) {
            self.name = name
            self.json = json
        }
    }

    package init(
        id: OperationID, type: TypeName = .default, createdAt: Timestamp, contentType: String? = nil,
        key: String? = nil, method: String? = nil, url: String? = nil, headers: [HeaderField] = [],
        notBefore: Timestamp? = nil, expiresAt: Timestamp? = nil, idempotencyKey: String? = nil,
        bodyFile: BodyFile? = nil, unknown: [UnknownField] = []
    ) {
        self.id = id
        self.type = type
        self.createdAt = createdAt
        self.contentType = contentType
        self.key = key
        self.method = method
        self.url = url
        self.headers = headers
        self.notBefore = notBefore
        self.expiresAt = expiresAt
        self.idempotencyKey = idempotencyKey
        self.bodyFile = bodyFile
        self.unknown = unknown
    }
}

/// One file of the queue: header, body as given, and the attempts made so far.
package struct Operation: Hashable, Sendable {
    @usableFromInline var content: Shared<Content>

    @usableFromInline struct Content: Hashable, Sendable {
        @usableFromInline var header: OperationHeader
        /// The body; empty if left in its file.
        var bytes: [UInt8]
        var bodyPart: FilePart?
        @usableFromInline var attempts: [AttemptRecord]
        var kept: [String: KeptValue]?
    }

    package init(header: OperationHeader, body: [UInt8], attempts: [AttemptRecord] = []) {
        content = Shared(Content(header: header, bytes: body, attempts: attempts))
    }

    /// Creates an operation whose body is left in its file.
    package init(header: OperationHeader, bodyPart: FilePart, attempts: [AttemptRecord]) {
        content = Shared(Content(header: header, bytes: [], bodyPart: bodyPart, attempts: attempts))
    }

    @inlinable
    package var header: OperationHeader {
        _read { yield content.value.header }
        _modify { yield &content.value.header }
    }

    @inlinable
    package var attempts: [AttemptRecord] {
        _read { yield content.value.attempts }
        _modify { yield &content.value.attempts }
    }

    /// The values kept for the operation's key; `nil` until a run has looked them up. Not part of the file.
    package var kept: [String: KeptValue]? {
        get { content.value.kept }
        set { content.value.kept = newValue }
    }

    /// The body as given. A body left in its file is read each time.
    package var body: [UInt8] {
        get { bodyPart?.bytes ?? content.value.bytes }
        set { (content.value.bytes, content.value.bodyPart) = (newValue, nil) }
    }

    /// The place of the body, if left in the file of a claimed operation.
    package var bodyPart: FilePart? { content.value.bodyPart }

    package var bodyLength: Int { bodyPart?.length ?? content.value.bytes.count }

    // Another module would copy the whole header for one of its fields.

    /// The file that is the body; `nil` for a body as given.
    package var bodyFile: BodyFile? { header.bodyFile }

    /// Whether the operation has header fields or a url of its own, which may be credentials.
    package var mayHaveOwnCredentials: Bool { !header.headers.isEmpty || header.url != nil }
}

/// The record of one attempt: its result and the decision on it. One line of an operation file, after the body.
package struct AttemptRecord: Hashable, Sendable {
    package var at: Timestamp
    /// The time from the first byte handed to the transport to the last byte of the answer.
    package var duration: Duration
    package var outcome: Outcome
    package var status: Int?
    /// The name of the network error, if there was no usable answer; or a callable function's code, `NOT_FOUND`.
    package var error: String?
    private var decision: Decision
    /// The wait that the server asked for, by Retry-After or at the rule's `until`, in seconds.
    package var retryAfter: Int?
    /// A cleaned excerpt of the answer or of the error's detail: no control characters, at most 200 characters.
    package var excerpt: String?
    /// Who is to blame. `nil` for a delivery, and for an operation settled before a request was made of it.
    package var accused: Accused?
    /// Whether the name of the operation counts the attempt.
    package var counted = false
    /// The number of runs that died with the operation in flight since the attempt before.
    package var interruptions = 0
    /// The whole answer to a delivery, if the route keeps it.
    package var answer: KeptAnswer?
    /// What a delivery leaves for its chain.
    package var kept: ChainValues?
}

extension AttemptRecord {
    package init(
        at: Timestamp, duration: Duration, outcome: Outcome, status: Int? = nil, error: String? = nil, rule: String,
        ruleCode: Rule.Code? = nil, retryAfter: Int? = nil, excerpt: String? = nil, accused: Accused? = nil,
        counted: Bool = false, interruptions: Int = 0, answer: KeptAnswer? = nil
    ) {
        self.init(
            at: at, duration: duration, outcome: outcome, status: status, error: error,
            decision: .read(words: rule, ruleCode),
            retryAfter: retryAfter, excerpt: excerpt, accused: accused, counted: counted,
            interruptions: interruptions, answer: answer)
    }

    /// Creates the record of an attempt by its rule, whose words are made when they are asked for: most records of
    /// deliveries are neither kept nor shown.
    init(
        at: Timestamp, duration: Duration, outcome: Outcome, status: Int? = nil, error: String? = nil, rule: Rule,
        retryAfter: Int? = nil, excerpt: String? = nil, accused: Accused? = nil, counted: Bool = false,
        interruptions: Int = 0
    ) {
        self.init(
            at: at, duration: duration, outcome: outcome, status: status, error: error, decision: .rule(rule),
            retryAfter: retryAfter, excerpt: excerpt, accused: accused, counted: counted,
            interruptions: interruptions, answer: nil)
    }

    /// The deciding rule, in the words of `Rule.description`. For people: a decision asks `ruleCode`.
    package var rule: String { decision.words }

    /// The kind of the deciding rule; `nil` for a rule about answers, and for a rule of a newer version.
    package var ruleCode: Rule.Code? { decision.code }

    /// Adds to the words of the rule, which stays of its kind.
    package mutating func addToRule(_ words: String) { decision = .read(words: rule + words, ruleCode) }

    /// What decided. Two decisions are equal if their words are.
    private enum Decision: Hashable {
        case read(words: String, Rule.Code?)
        case rule(Rule)

        var words: String {
            switch self {
            case .read(let words, _): words
            case .rule(let rule): rule.description
            }
        }

        var code: Rule.Code? {
            switch self {
            case .read(_, let code): code
            case .rule(let rule): rule.code
            }
        }

        static func == (left: Decision, right: Decision) -> Bool { left.words == right.words }

        func hash(into hasher: inout Hasher) { hasher.combine(words) }
    }
}

extension OperationHeader {
    /// The requests before the last edit (`import --replace`), which were those of another text.
    package struct Edit: Hashable, Sendable {
        /// The records of attempts in the file.
        package var attempts: Int
        /// The interruptions in its name: they are in the next record, or still in the name.
        package var interruptions: Int
        /// The unknown ends in its name.
        package var unknowns: Int

        package init(attempts: Int, interruptions: Int, unknowns: Int = 0) {
            (self.attempts, self.interruptions, self.unknowns) = (attempts, interruptions, unknowns)
        }
    }

    /// The beginning of the idempotency key of an operation that was edited in the queue.
    package static let keyOfEdit = "edit-"

    package var hasKeyOfEdit: Bool { idempotencyKey?.utf8.starts(with: Self.keyOfEdit.utf8) ?? false }
}
