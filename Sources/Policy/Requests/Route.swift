/// How a type becomes a request, and what its answers mean.
package struct Route: Hashable, Sendable {
    /// A template in path and query; `nil` when only the operation's own url is used.
    package var url: String?
    /// The name of the destination; `nil` is the url's origin.
    package var destination: String?
    package var method: String
    /// Values are templates.
    package var headers: [HeaderField]
    package var `protocol`: WireProtocol
    /// The body's template; `nil` sends the body as it was given, an empty one no body.
    package var body: String?
    /// How bodies are compressed, whole batches as well; a body that is a file is not.
    package var compress: Compression
    /// The template of the key of an operation that is added without one; `nil` gives none.
    package var key: String?
    /// The template of what the server knows an operation by; `nil` is its id.
    package var idempotencyKey: String?
    /// The conditions on the payload before it is sent. An operation that does not meet them fails unsent.
    package var require: [JSONCondition]
    /// The rules for answers. The first that matches decides, before `classify` and `accept`.
    package var answers: [AnswerRule]
    /// The rule for a 2xx answer that is no delivery.
    package var accept: AnswerRule?
    /// The parts of an answer that are remembered for the operation's key, by name.
    package var keep: [String: AnswerPlace]
    /// Whether the whole answer is kept with the delivered operation.
    package var keepsAnswer: Bool
    package var retry: BackoffSchedule
    /// For 429; `nil` means `retry`.
    package var retryRateLimited: BackoffSchedule?
    package var timeouts: Timeouts
    /// In the order of the configuration; the narrowest decides, and of equals the last.
    package var classify: [AnswerRule]
    /// From `createdAt`; an operation older than this is failed unsent.
    package var expiresAfter: Duration?
    /// How long the server remembers an idempotency key; `nil` is for ever.
    package var keyTTL: Duration?
    /// A newer operation of the same key replaces older ones that have not been delivered. Implies that operations of
    /// one key are never in flight together.
    package var coalesce: Bool
    /// The newer operation does not replace the older ones but goes with what they change: their payloads are merge patches
    /// (RFC 7396), and one request carries them all. Only with `coalesce`.
    package var mergesPayloads: Bool
    package var ordering: Ordering
    /// What becomes of the operations behind one of their sequence that failed for good.
    package var onFailure: OnFailure
    package var batch: Batch?
    package var redirects: Redirects
    /// Run by argument vector before each attempt: gets the request on standard input, answers header lines.
    package var headersCommand: [String]?
    /// Signs each attempt for a service of AWS, after `headersCommand`.
    package var awsSigning: AWSSigning?
    /// The fields of the route that an operation may replace.
    package var overrides: Set<OverridableField>
    /// How many bytes of an answer are read.
    package var answerLimit: Int

    package init(
        url: String? = nil, destination: String? = nil, method: String = "POST", headers: [HeaderField] = [],
        protocol: WireProtocol = .plain, body: String? = nil, compress: Compression = .none, key: String? = nil,
        idempotencyKey: String? = nil, require: [JSONCondition] = [], answers: [AnswerRule] = [],
        accept: AnswerRule? = nil,
        keep: [String: AnswerPlace] = [:], keepsAnswer: Bool = false,
        retry: BackoffSchedule = .standard, retryRateLimited: BackoffSchedule? = nil,
        timeouts: Timeouts = Timeouts(), classify: [AnswerRule] = [], expiresAfter: Duration? = nil,
        keyTTL: Duration? = nil, coalesce: Bool = false, mergesPayloads: Bool = false, ordering: Ordering = .any,
        onFailure: OnFailure = .goOn, batch: Batch? = nil,
        redirects: Redirects = .never, headersCommand: [String]? = nil,
        awsSigning: AWSSigning? = nil, overrides: Set<OverridableField> = Set(OverridableField.allCases),
        answerLimit: Int = 65_536
    ) {
        self.url = url
        self.destination = destination
        self.method = method
        self.headers = headers
        self.protocol = `protocol`
        self.body = body
        self.compress = compress
        self.key = key
        self.idempotencyKey = idempotencyKey
        self.require = require
        self.answers = answers
        self.accept = accept
        self.keep = keep
        self.keepsAnswer = keepsAnswer
        self.retry = retry
        self.retryRateLimited = retryRateLimited
        self.timeouts = timeouts
        self.classify = classify
        self.expiresAfter = expiresAfter
        self.keyTTL = keyTTL
        self.coalesce = coalesce
        self.mergesPayloads = mergesPayloads
        self.ordering = ordering
        self.onFailure = onFailure
        self.batch = batch
        self.redirects = redirects
        self.headersCommand = headersCommand
        self.awsSigning = awsSigning
        self.overrides = overrides
        self.answerLimit = answerLimit
    }

    /// Whether operations of one key, or of the whole destination, wait for each other.
    package var isSequential: Bool { coalesce || ordering.isStrict }

    /// Whether a newer operation takes the place of older ones, which go unsent.
    package var replacesOlder: Bool { coalesce && !mergesPayloads }

    /// Whether one that failed for good holds those behind it in its sequence.
    package var holdsBehindFailed: Bool { onFailure == .hold && ordering.isStrict }
}

/// What becomes of the operations behind one of their sequence that failed for good.
package enum OnFailure: String, Hashable, Sendable, CaseIterable {
    /// They go on.
    case goOn = "continue"
    /// They are held until that one is retried or dropped.
    case hold
}

/// The form of payloads and answers on the wire.
package enum WireProtocol: String, Hashable, Sendable, CaseIterable {
    /// The body as it is; the status decides.
    case plain
    /// Firebase callable functions: `{"data": …}` out, `result` or `error.status` back, whatever the HTTP status says.
    case callable
}

/// In which order operations of one route are attempted.
package enum Ordering: String, Hashable, Sendable, CaseIterable {
    /// Oldest first, several at once, a deferred one does not stop a newer one.
    case any
    /// The same, newest first.
    case newest
    /// Operations of one key strictly in order: a newer one waits while an older one is deferred or in flight.
    case key
    /// All operations of the routes to one destination that say so, strictly in order.
    case strict

    /// Whether operations wait for each other.
    var isStrict: Bool { self == .key || self == .strict }

    /// Returns the rank of an operation among the due ones: by its age, or, on a route that sends the newest first,
    /// behind all that go by age.
    package func rank(of createdAt: Timestamp) -> Timestamp {
        self == .newest ? Timestamp(microseconds: Int64.max -| max(0, createdAt.microseconds)) : createdAt
    }
}

/// Whether a redirect is followed.
package enum Redirects: String, Hashable, Sendable, CaseIterable {
    /// A redirect is an answer, and holds its destination.
    case never
    /// Up to five redirects (301, 302, 307, 308) to the same scheme, host and port are followed with the same method,
    /// headers and body; any other one is an answer.
    case sameOrigin = "same-origin"
}

/// A field of the route that an operation may replace.
package enum OverridableField: String, Hashable, Sendable, CaseIterable {
    case method
    case url
    case headers
}

/// Several operations of a route in one request.
package struct Batch: Hashable, Sendable {
    package enum Format: String, Hashable, Sendable, CaseIterable {
        /// One JSON array.
        case json
        /// One payload a line (application/x-ndjson); line breaks between a payload's tokens become blanks.
        case ndjson
    }

    /// How an answer speaks of each operation by itself: an array at `pointer`.
    package struct Results: Hashable, Sendable {
        package var pointer: JSONPointer
        /// Whether the array has those only that have failed.
        package var listsFailures: Bool
        /// Within an element: the id of its operation as a string, or its place in the batch, from 0, as a number. `nil`:
        /// the array is as long as the batch and in its order.
        package var match: JSONPointer?
        /// Within an element: a status number, classified like an HTTP status.
        package var status: JSONPointer?
        /// Within an element: something other than null or false means that this operation failed.
        package var error: JSONPointer?

        package init(
            pointer: JSONPointer, listsFailures: Bool = false, match: JSONPointer? = nil, status: JSONPointer? = nil,
            error: JSONPointer? = nil
        ) {
            self.pointer = pointer
            self.listsFailures = listsFailures
            self.match = match
            self.status = status
            self.error = error
        }
    }

    /// Operations in one request at most.
    package var max: Int
    /// Bytes of one request at most, with what stands around the members; a single one that is larger goes alone.
    package var maxBytes: Int
    package var format: Format
    /// The template of what stands around the members; `nil` is what the format has.
    package var body: String?
    package var results: Results?

    package init(
        max: Int, maxBytes: Int = 1_000_000, format: Format = .json, body: String? = nil, results: Results? = nil
    ) {
        self.max = max
        self.maxBytes = maxBytes
        self.format = format
        self.body = body
        self.results = results
    }
}

/// How long an attempt may take.
package struct Timeouts: Hashable, Sendable {
    /// Until the connection stands.
    package var connect: Duration
    /// Without a byte in either direction.
    package var request: Duration
    /// From start to end, whatever happens.
    package var total: Duration

    package init(connect: Duration = .seconds(10), request: Duration = .seconds(30), total: Duration = .seconds(120)) {
        self.connect = connect
        self.request = request
        self.total = total
    }
}
