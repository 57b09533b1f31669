import Policy

extension ConfigurationKeys {
    static let route: [ConfigurationKey<Route>] = [
        ConfigurationKey(
            "url", optional: .urlTemplate, example: #""https://api.example.com/v1/{type}""#, "where requests go",
            """
            Where requests go: an absolute URL, http or https. Its path and query are a template, see TEMPLATES; values are \
            percent-encoded. A secret is safer in a header, because servers and proxies log what is in a URL. An \
            operation's own url comes first.
            """,
            into: \.url),
        ConfigurationKey(
            "destination", optional: .destination, example: #""reports""#, "a name for where requests go",
            """
            The name of the destination that the requests of this route belong to, for holds, pauses, rates and \
            connections. Unless set it is the origin of the url, and routes to one origin share it. A name is 1 to 64 \
            letters, digits, '_', '-' and '.', or an origin.
            """,
            into: \.destination),
        ConfigurationKey(
            "method", .method, default: #""POST""#, example: #""PATCH""#, "the request's method",
            "The method of the request, in capitals. With GET, HEAD, DELETE and OPTIONS no body is sent where there is none.",
            into: \.method),
        ConfigurationKey(
            "headers", .headers, default: "{}",
            example: #"{ Accept: "application/json", Authorization: "Bearer ${secret:api}" }"#,
            "as in { Accept: \"application/json\" }",
            """
            Header fields of the request, by name. Inherited fields are kept unless a route names them again; null takes \
            one back. Host, Content-Length, Transfer-Encoding, Connection, Expect, Accept-Encoding, TE, Trailer, Upgrade, \
            Keep-Alive, Proxy-Connection, Idempotency-Key and Drainq-Attempt are refused: they are drainq's to write. \
            A value is a template, see TEMPLATES.
            """,
            set: { HeaderChange.apply($1, to: &$0.headers) }),
        ConfigurationKey(
            "headersCommand", optional: .command, example: #"["/usr/local/bin/sign"]"#, "writes header fields",
            """
            A command, as a list of its name and arguments, that is run before each attempt, for signatures. It gets the \
            request on standard input and writes header fields, which replace those of the same name: see HEADERS \
            COMMAND. Where it fails the destination is held.
            """,
            into: \.headersCommand),
        ConfigurationKey(
            "sign.aws", optional: .awsSigning,
            example:
                #"{ service: "sqs", region: "eu-central-1", accessKey: "AKIDEXAMPLE", secretKey: "${secret:api}" }"#,
            "signed for AWS",
            """
            Each attempt is signed for a service of AWS: Signature Version 4. See SIGNED REQUESTS. A route that has one \
            replaces an inherited one as a whole.
            """,
            into: \.awsSigning),
        ConfigurationKey(
            "overrides", .overrides, default: #"["method", "url", "headers"]"#, example: #"["headers"]"#,
            "what operations may bring",
            """
            What an operation may bring itself instead of the route's: any of method, url and headers. An operation that \
            brings something else is refused by drainq add, and fails unsent where it came another way. With [] it brings \
            none of them.
            """,
            into: \.overrides),
        ConfigurationKey(
            "protocol", .word, default: #""plain""#, example: #""callable""#, "plain or callable",
            """
            What payloads and answers look like: plain, the body as it is, and the status decides; or callable, the \
            convention of Firebase callable functions: {\"data\": payload} goes out, and result or the name in \
            error.status comes back and decides, see CALLABLE FUNCTIONS.
            """,
            into: \.protocol),
        ConfigurationKey(
            "body", optional: .template(.body(.json), hint: "a body is text: '{ \"event\": {payload} }'"),
            example: #"'{ "event": {payload}, "id": {id} }'"#, "what is sent",
            """
            The body of a request: a template, see TEMPLATES. It makes JSON, unless the header Content-Type says another \
            media type. With \"\" nothing is sent, and the payload is there for the url alone. Unless set the body is sent \
            as it was given.
            """,
            into: \.body),
        ConfigurationKey(
            "key", optional: .template(.key), example: #""{payload.user}""#, "the key of what has none",
            """
            The key of an operation that is added without one: a template, see TEMPLATES. What is in the queue keeps the key \
            that it has.
            """,
            into: \.key),
        ConfigurationKey(
            "idempotencyKey", optional: .template(.idempotencyKey), example: #""{type}-{payload.order}""#,
            "what the server knows an operation by",
            """
            The header Idempotency-Key: a template, see TEMPLATES, whose text is the same at each attempt. It is the \
            operation's id unless set. An operation's own idempotencyKey comes first.
            """,
            into: \.idempotencyKey),
        ConfigurationKey(
            "require", .conditions, default: "[]", example: #"{ pointer: "/content", notEmpty: true }"#,
            "what must be true of a payload",
            """
            What must be true of a payload before it is sent: a condition or a list of them, see CONDITIONS ON JSON. \
            drainq add refuses an operation of which it is not; one that came another way fails unsent.
            """,
            into: \.require),
        ConfigurationKey(
            "answers", .answers, default: "[]",
            example: #"[{ status: 409, json: { pointer: "/code", equals: "23505" }, is: "deliver" }]"#,
            "rules for answers, the first decides",
            """
            What answers mean, by their status, header fields and body, and what errors mean: a list of rules, see ANSWERS. \
            The first that matches decides, before classify and accept are asked. A route that has a list replaces an \
            inherited one as a whole.
            """,
            into: \.answers),
        ConfigurationKey(
            "accept", optional: .accept,
            example: #"{ json: { pointer: "/result/success", equals: true } }"#, "what an answer must look like",
            """
            What must be true of an answer with a 2xx status for it to be a delivery: of its content type, its JSON, or \
            both. It tells the page of a captive portal and {\"success\": false} from success, see ACCEPT RULES. A \
            route that has one replaces an inherited one as a whole.
            """,
            into: \.accept),
        ConfigurationKey(
            "retry", .schedule, default: #""standard""#, "a preset, or an object",
            "When a deferred operation is tried again and when it is given up: a preset or an object, see SCHEDULES.",
            into: \.retry),
        ConfigurationKey(
            "retryRateLimited", optional: .schedule, example: #""rate-limit""#, "the same for status 429",
            """
            The schedule after an answer with status 429, where the server names no time. As retry unless set. Without \
            a maxAge of its own that of retry bounds it.
            """,
            into: \.retryRateLimited),
        ConfigurationKey(
            "timeouts.connect", .positiveDuration, default: #""10s""#, "until the connection stands",
            "How long connecting may take.",
            into: \.timeouts.connect),
        ConfigurationKey(
            "timeouts.request", .positiveDuration, default: #""30s""#, "without a byte",
            "How long nothing may be sent or received.",
            into: \.timeouts.request),
        ConfigurationKey(
            "timeouts.total", .positiveDuration, default: #""2m""#, "for the whole attempt",
            "How long one attempt may take from beginning to end, whatever happens.",
            into: \.timeouts.total),
        ConfigurationKey(
            "classify", .classify, default: "{}",
            example: #"{ "404": "defer", "500-599": "defer", tls: "hold" }"#,
            "as in { \"404\": \"defer\", tls: \"hold\" }",
            """
            What an answer means where that is not what drainq(1) says. A key is a status such as "404", a range such \
            as "500-599" or the name of an error, see NAMES OF ERRORS; its value is deliver, defer, hold or fail. The narrowest \
            match decides. Inherited entries are kept unless a route has one for the same answers.
            """,
            set: { AnswerRule.apply($1, to: &$0.classify) }),
        ConfigurationKey(
            "expiresAfter", optional: .positiveDuration, example: #""7d""#, "older ones are not sent",
            "An operation that is older than this is moved to failed/ without another attempt. Never unless set.",
            into: \.expiresAfter),
        ConfigurationKey(
            "keyTTL", optional: .positiveDuration, example: #""24h""#, "how long the server knows a key",
            """
            How long the server remembers an idempotency key. Where an attempt had no answer and this time has passed, \
            nobody knows whether another one would be the second: the operation is held by itself until drainq release or \
            drainq retry sends it, or drainq drop removes it. For ever unless set.
            """,
            into: \.keyTTL),
        ConfigurationKey(
            "coalesce", .coalescing, default: "false", example: #""merge""#, "true, false or merge",
            """
            What becomes of older operations of a type and key that have not been delivered: true, the newest takes their \
            place, for a PUT where the last write wins; or \"merge\", the newest goes with what they change, for a PATCH \
            whose payload is a JSON Merge Patch. An operation without a key stands for itself. See COALESCING AND ORDERING.
            """,
            set: { ($0.coalesce, $0.mergesPayloads) = ($1 != .none, $1 == .merge) }),
        ConfigurationKey(
            "ordering", .word, default: #""any""#, example: #""key""#, "any, key or strict",
            """
            Which operations wait for each other: any, none do; key, those of one key are attempted strictly in order; \
            or strict, all are that go to the same destination by routes that say so. An operation that waits for its next \
            time then holds up the ones behind it. See COALESCING AND ORDERING.
            """,
            into: \.ordering),
        ConfigurationKey(
            "onFailure", .word, default: #""continue""#, example: #""hold""#, "continue or hold",
            """
            What becomes of the operations behind one that failed for good, with an ordering of key or strict: continue, \
            they are sent; or hold, they are held until drainq retry sends the failed one first or drainq drop removes it.
            """,
            into: \.onFailure),
        ConfigurationKey(
            "batch", optional: .batch, example: "{ max: 100 }", "several in one request",
            """
            Several operations of the route in one request. Where the answer does not speak of each by itself, it holds \
            for all of them; a batch that is refused for good is split to find the bad one. See BATCHES. A route that has \
            one replaces an inherited one as a whole.
            """,
            into: \.batch),
        ConfigurationKey(
            "redirects", .word, default: #""never""#, example: #""same-origin""#, "never or same-origin",
            """
            Whether a redirect is followed: never, it is an answer that holds the destination; or same-origin, up to five \
            of status 301, 302, 307 and 308 to the same scheme, host and port are followed with the same method, headers \
            and body. Credentials never go elsewhere.
            """,
            into: \.redirects),
        ConfigurationKey(
            "answerLimit", .size, default: #""65536B""#, example: #""1MB""#, "how much of an answer is read",
            """
            How many bytes of an answer's body are read. A longer answer is cut there; its status and its header decide as \
            ever, but no rule of answers, accept, callable or results matches its body.
            """,
            into: \.answerLimit),
    ]

    /// What the object of `batch` may have.
    static let batch: [ConfigurationKey<Batch>] = [
        ConfigurationKey(
            "max", .count(1...10_000), example: "100", "operations in one request",
            "How many operations one request carries at most. It has to be there.",
            set: { $0.max = $1 }),
        ConfigurationKey(
            "maxBytes", .positiveSize, default: #""1MB""#, "bytes of one request",
            "How many bytes the body of one request has at most, with what stands around the operations. A single one that is larger goes alone.",
            into: \.maxBytes),
        ConfigurationKey(
            "format", .word, default: #""json""#, example: #""ndjson""#, "json or ndjson",
            """
            How payloads stand together: json, one array of them; or ndjson, one on each line, as application/x-ndjson, \
            line breaks within a payload becoming blanks.
            """,
            into: \.format),
        ConfigurationKey(
            "body", optional: .template(.batch), example: #"'{ "records": [{items}] }'"#, "what stands around them",
            """
            What stands around the operations of a batch: a template with {items} once, see TEMPLATES. The route's body makes \
            each of them. Unless set it is what the format has.
            """,
            into: \.body),
        ConfigurationKey(
            "results", optional: .results, example: #"{ pointer: "/items", status: "/status" }"#,
            "where each one's answer is",
            """
            How an answer that is a delivery speaks of each operation by itself. Unless set it is one for all of them; where \
            it does not fit them, all are deferred.
            """,
            into: \.results),
    ]

    /// What the object of `batch.results` may have.
    static let results: [ConfigurationKey<ResultsDraft>] = [
        ConfigurationKey(
            "pointer", .pointer, example: #""/items""#, "the list of results",
            """
            The place (RFC 6901) of an array in the answer, as long as the batch and in its order; with match in any order. \
            This or failed has to be there.
            """,
            set: { $0.pointer = $1 }),
        ConfigurationKey(
            "failed", optional: .pointer, example: #""/Failed""#, "the list of failures",
            """
            The place of an array that has those operations only that failed. One that is not in it is delivered. Where no \
            array is there, all are. It needs match.
            """,
            into: \.failed),
        ConfigurationKey(
            "match", optional: .pointer, example: #""/Id""#, "an element's operation",
            """
            The place, within an element, of the operation's id as a string, or of its place in the batch, from 0, as a \
            number.
            """,
            into: \.match),
        ConfigurationKey(
            "status", optional: .pointer, example: #""/status""#, "an element's status",
            """
            The place, within an element, of a number that is classified like an HTTP status. In a list of all, this or \
            error has to be there.
            """,
            into: \.status),
        ConfigurationKey(
            "error", optional: .pointer, example: #""/error""#, "an element's error",
            "The place, within an element, of what is neither null nor false where this operation failed.",
            into: \.error),
    ]
}
