/// The settings of a type: how its operations become requests, and what their answers mean.
package struct Route: Hashable, Sendable {
    /// A template in path and query; `nil` uses the operation's own url only.
    package var url: String?
    /// The name of the destination; `nil` uses the url's origin.
    package var destination: String?
    package var method = "POST"
    /// Values are templates.
    package var headers: [HeaderField] = []
    /// The user and the password of Basic authentication, templates of secrets; without a user there is none.
    package var basicUser: String?
    package var basicPassword: String?
    package var `protocol`: WireProtocol = .plain
    /// The body's template; `nil` sends the body as given, an empty template sends no body.
    package var body: String?
    /// The compression of bodies, and of whole batches; a body file is not compressed.
    package var compress: Compression = .none
    /// The template of the key for an operation added without a key; `nil` gives none.
    package var key: String?
    /// The template of the idempotency key; `nil` uses the operation's id.
    package var idempotencyKey: String?
    /// The conditions on the payload before it is sent. An operation that does not meet them fails unsent.
    package var require: [JSONCondition] = []
    /// The rules for answers. The first match decides, before `classify` and `accept`.
    package var answers: [AnswerRule] = []
    /// The rule for a 2xx answer that is no delivery.
    package var accept: AnswerRule?
    /// The parts of an answer to keep for the operation's chain, by name.
    package var keep: [String: AnswerPlace] = [:]
    /// The template of the chain, by which values are kept and found again; `nil` uses the operation's key.
    package var chain: String?
    /// Whether the whole answer is kept with the delivered operation.
    package var keepsAnswer = false
    package var retry: BackoffSchedule = .standard
    /// The schedule for 429; `nil` uses `retry`.
    package var retryRateLimited: BackoffSchedule?
    package var timeouts = Timeouts()
    /// In the order of the configuration. The narrowest rule decides, and of equally narrow ones the last.
    package var classify: [AnswerRule] = []
    /// The longest age, from `createdAt`. An older operation fails unsent.
    package var expiresAfter: Duration?
    /// The time for which the server remembers an idempotency key; `nil` is for ever.
    package var keyTTL: Duration?
    /// Whether a newer operation of a key replaces older undelivered ones. They are then never in flight together.
    package var coalesce = false
    /// Whether the newer operation carries the changes of the older ones instead of replacing them: payloads are merge
    /// patches (RFC 7396), and one request carries them all. Only with `coalesce`.
    package var mergesPayloads = false
    /// How long a value waits for a newer one of its key. Only with `coalesce`.
    package var debounce: Duration?
    package var ordering: Ordering = .any
    /// The treatment of operations behind a dead letter of their sequence.
    package var onFailure: OnFailure = .proceed
    package var batch: Batch?
    package var redirects: Redirects = .never
    /// The argument vector of a command before each attempt: gets the request on standard input, answers header lines.
    package var headersCommand: [String]?
    /// The signature of each attempt for a service of AWS, made after `headersCommand`.
    package var awsSigning: AWSSigning?
    /// The fields of the route that an operation may replace.
    package var overrides: Set<OverridableField> = Set(OverridableField.allCases)
    /// The number of bytes to read of an answer.
    package var answerLimit = 65_536
}

extension Route {
    /// Creates the route of an empty configuration, with this change.
    package init(_ change: (inout Route) -> Void = { _ in }) {
        self.init()
        change(&self)
    }
}

/// The treatment of operations behind a dead letter of their sequence.
package enum OnFailure: String, Hashable, Sendable, CaseIterable {
    /// They are sent.
    case proceed = "continue"
    /// They are held until the dead letter is retried or dropped.
    case hold
}

/// The form of payloads and answers on the wire.
package enum WireProtocol: String, Hashable, Sendable, CaseIterable {
    /// The body unchanged; the status decides.
    case plain
    /// Firebase callable functions: `{"data": …}` out, `result` or `error.status` back, whatever the HTTP status says.
    case callable
}

/// The order in which operations of one route are attempted.
package enum Ordering: String, Hashable, Sendable, CaseIterable {
    /// Oldest first, several at once; a deferred operation does not stop a newer one.
    case any
    /// Like `any`, but newest first.
    case newest
    /// Operations of one key strictly in order: a newer one waits while an older one is deferred or in flight.
    case key
    /// All operations of the strict routes to one destination, strictly in order.
    case strict

    /// Whether operations wait for each other.
    package var isStrict: Bool { self == .key || self == .strict }

    /// Returns the key by which the due operations are sorted, smallest first: the creation time, or on a route that
    /// sends the newest first a later key than any creation time.
    package func sortKey(of createdAt: Timestamp) -> Timestamp {
        self == .newest ? Timestamp(microseconds: Int64.max -| max(0, createdAt.microseconds)) : createdAt
    }
}

/// Whether a redirect is followed.
package enum Redirects: String, Hashable, Sendable, CaseIterable {
    /// A redirect is an answer, and holds its destination.
    case never
    /// Up to five redirects (301, 302, 307, 308) to the same scheme, host and port are followed with the same method,
    /// headers and body; any other redirect is an answer.
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

    /// The results in an answer for each operation: an array at `pointer`.
    package struct Results: Hashable, Sendable {
        package var pointer: JSONPointer
        /// Whether the array lists failed operations only.
        package var listsFailures: Bool
        /// Within an element: the id of its operation as a string, or its place in the batch, from 0, as a number.
        /// `nil`: the array has the length and the order of the batch.
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

    /// The upper bound of operations in one request.
    package var max: Int
    /// The upper bound of bytes in one request, with the text around the members. A larger single operation goes alone.
    package var maxBytes: Int
    package var format: Format
    /// The template of the text around the members; `nil` uses the format's template.
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

/// The time limits of an attempt.
package struct Timeouts: Hashable, Sendable {
    /// Until the connection is established.
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

    /// Returns the limit that ends an attempt with this error, key and value; `nil` if the error is not about time.
    package func limit(behind error: NetworkError) -> (key: String, value: Duration)? {
        switch error {
        case .connectTimeout: ("timeouts.connect", connect)
        case .timeout: ("timeouts.request", request)
        case .deadline: ("timeouts.total", total)
        default: nil
        }
    }
}
