import Policy

extension ConfigurationKeys {
    static let route: [ConfigurationKey<Route>] = [
        ConfigurationKey(
            "url", optional: .urlTemplate, example: #""https://api.example.com/v1/{type}""#, "the URL of requests",
            """
            The URL of requests: absolute, http or https. Its path and query are a template, see TEMPLATES; values are \
            percent-encoded. A secret is safer in a header, because servers and proxies log URLs. An operation's own \
            url takes precedence.
            """,
            into: \.url),
        ConfigurationKey(
            "method", .method, default: #""POST""#, example: #""PATCH""#, "the request's method",
            """
            The method of the request, in capitals. GET, HEAD, DELETE and OPTIONS send no body if the operation has \
            none.
            """,
            into: \.method),
        ConfigurationKey(
            "headers", .headers, default: "{}",
            example: #"{ Accept: "application/json", Authorization: "Bearer ${secret:api}" }"#,
            "as in { Accept: \"application/json\" }",
            """
            Header fields of the request, by name; a value is a template, see TEMPLATES. Content-Type is the type of \
            JSON payloads and of bodies that a template makes; an operation's body of another media type is sent as \
            that type. A route keeps inherited fields that it does not name; null removes a field. drainq writes Host, \
            Content-Length, Transfer-Encoding, Connection, Expect, Accept-Encoding, TE, Trailer, Upgrade, Keep-Alive, \
            Proxy-Connection, Idempotency-Key and Drainq-Attempt itself, and refuses them here.
            """,
            set: { HeaderChange.apply($1, to: &$0.headers) }),
        ConfigurationKey(
            "body", optional: .template(.body(nil), hint: "a body is text: '{ \"event\": {payload} }'"),
            example: #"'{ "event": {payload}, "id": {id} }'"#, "the body",
            """
            The body of a request: a template, see TEMPLATES. The result is JSON, unless the header Content-Type names \
            another media type. With "" no body is sent. If not set, the operation's body is sent unchanged.
            """,
            into: \.body),
        ConfigurationKey(
            "key", optional: .template(.key), example: #""{payload.user}""#, "the key of operations without one",
            """
            The key of an operation that is added without one: a template, see TEMPLATES. An operation in the queue \
            keeps its key.
            """,
            into: \.key),
        ConfigurationKey(
            "retry", .schedule, default: #""standard""#, "a preset, or an object",
            "The schedule of attempts: a preset or an object, see SCHEDULES.",
            into: \.retry),
        ConfigurationKey(
            "answers", .answers, default: "[]",
            example: #"[{ status: 403, header: { "x-ratelimit-remaining": "0" }, is: "defer" }]"#,
            "rules for answers, first match wins",
            """
            The meaning of answers and errors: a list of rules, see ANSWERS. The first that matches decides. A route's \
            own list replaces the inherited list as a whole.
            """,
            into: \.answers),
        ConfigurationKey(
            "accept", optional: .accept,
            example: #"{ json: { pointer: "/result/success", equals: true } }"#, "conditions on a 2xx answer",
            """
            The conditions that an answer with a 2xx status must meet to be a delivery, see ANSWERS. A route's own \
            conditions replace the inherited conditions as a whole.
            """,
            into: \.accept),
        ConfigurationKey(
            "expiresAfter", optional: .positiveDuration, example: #""7d""#, "the age at which operations fail",
            "The age at which an operation goes to failed/ without another attempt.",
            into: \.expiresAfter),
        ConfigurationKey(
            "ordering", .word, default: #""any""#, example: #""key""#, "any, newest, key or strict",
            """
            The order of operations. any: no operation waits for another. newest: the same, and the newest is \
            attempted first. key: operations of one key are attempted strictly in order. strict: so are all operations \
            to one destination by routes with this ordering. See COALESCING AND ORDERING.
            """,
            into: \.ordering),
        ConfigurationKey(
            "destination", optional: .destination, example: #""reports""#, "the destination's name",
            """
            The name of the destination that the requests of this route belong to, for holds, pauses, rates and \
            connections. If not set, it is the origin of the url, and routes to one origin share it. A name is 1 to 64 \
            letters, digits, '_', '-' and '.', or an origin.
            """,
            into: \.destination),
        ConfigurationKey(
            "auth.basic.user", optional: .keyTemplate, example: #""api""#, "the user of Basic authentication",
            """
            The user of Basic authentication (RFC 7617), literal or ${secret:NAME}. An operation's own header \
            Authorization replaces it.
            """,
            into: \.basicUser),
        ConfigurationKey(
            "auth.basic.password", optional: .template(.setting), example: #""${secret:api}""#, "the password",
            "The password of Basic authentication, usually ${secret:NAME}.",
            into: \.basicPassword),
        ConfigurationKey(
            "headersCommand", optional: .command, example: #"["/usr/local/bin/sign"]"#, "writes header fields",
            """
            A command, as a list of its name and arguments, that gets each request and writes header fields, for \
            signatures. See HEADERS COMMAND.
            """,
            into: \.headersCommand),
        ConfigurationKey(
            "sign.aws", optional: .awsSigning,
            example:
                #"{ service: "sqs", region: "eu-central-1", accessKey: "AKIDEXAMPLE", secretKey: "${secret:api}" }"#,
            "signed for AWS",
            """
            The signature of each attempt for a service of AWS, see SIGNED REQUESTS. A route's own signature replaces \
            the inherited one as a whole.
            """,
            into: \.awsSigning),
        ConfigurationKey(
            "timeouts.connect", .positiveDuration, default: #""10s""#, "until the connection is established",
            "The longest time to connect.",
            into: \.timeouts.connect),
        ConfigurationKey(
            "timeouts.request", .positiveDuration, default: #""30s""#, "the longest idle time",
            "The longest time of an attempt without a byte sent or received.",
            into: \.timeouts.request),
        ConfigurationKey(
            "timeouts.total", .positiveDuration, default: #""2m""#, "for the whole attempt",
            "The longest time of one attempt, from beginning to end.",
            into: \.timeouts.total),
        ConfigurationKey(
            "classify", .classify, default: "{}",
            example: #"{ "404": "defer", "500-599": "defer", tls: "hold" }"#,
            "as in { \"404\": \"defer\", tls: \"hold\" }",
            """
            Outcomes by status or error alone. A key is a status such as "404", a range such as "500-599", a class \
            such as "5xx", or a name of NAMES OF ERRORS; its value is deliver, defer, hold or fail. The narrowest \
            match decides. A route keeps inherited entries unless it has one for the same answers.
            """,
            set: { AnswerRule.apply($1, to: &$0.classify) }),
        ConfigurationKey(
            "retryRateLimited", optional: .schedule, example: #""rate-limit""#, "the schedule after status 429",
            """
            The schedule after an answer with status 429 that names no time. The default is the schedule of retry. \
            Without a maxAge of its own, the maxAge of retry applies.
            """,
            into: \.retryRateLimited),
        ConfigurationKey(
            "redirects", .word, default: #""never""#, example: #""same-origin""#, "never or same-origin",
            """
            Whether drainq follows a redirect. never: a redirect holds the destination. same-origin: drainq follows up \
            to five redirects with status 301, 302, 307 or 308 to the same scheme, host and port, with the same \
            method, headers and body. Credentials are never sent to another origin.
            """,
            into: \.redirects),
        ConfigurationKey(
            "answerLimit", .size, default: #""65536B""#, example: #""1MB""#, "bytes read of an answer",
            """
            The most bytes read of an answer's body, before and after decoding. A longer answer is cut there: its status and its header \
            still decide, but no rule of answers, accept, callable or results matches its body.
            """,
            into: \.answerLimit),
        ConfigurationKey(
            "keepAnswer", .truth, default: "false", example: "true", "the answer, in delivered/",
            """
            Whether a delivered operation stays in delivered/ with its answer, up to answerLimit: for drainq show and \
            drainq wait. It stays for the time of retention.delivered, or for a day if that is 0s. Secrets of the \
            request are replaced in the answer. drainq send prints the answer instead. In a batch each operation has \
            the answer to all.
            """,
            into: \.keepsAnswer),
        ConfigurationKey(
            "idempotencyKey", optional: .template(.idempotencyKey), example: #""{type}-{payload.order}""#,
            "the Idempotency-Key header",
            """
            The header Idempotency-Key: a template, see TEMPLATES, whose text is the same at each attempt. The default \
            is the operation's id. An operation's own idempotencyKey takes precedence.
            """,
            into: \.idempotencyKey),
        ConfigurationKey(
            "keyTTL", optional: .positiveDuration, example: #""24h""#, "lifetime of a key at the server",
            """
            The time for which the server remembers an idempotency key. If an attempt had no answer, its operation may \
            have arrived. When the server has forgotten the key, another attempt could deliver the operation twice: \
            the run holds the operation until drainq release or drainq retry sends it, or drainq drop removes it. If \
            not set, the server never forgets a key.
            """,
            into: \.keyTTL),
        ConfigurationKey(
            "coalesce", .coalescing, default: "false", example: #""merge""#, "true, false or merge",
            """
            The treatment of older undelivered operations of a type and key. false: they are sent. true: the newest \
            supersedes them, for a PUT where the last write wins. "merge": the newest carries their changes too, for a \
            PATCH whose payload is a JSON Merge Patch. An operation without a key is never superseded or merged. See \
            COALESCING AND ORDERING.
            """,
            set: { ($0.coalesce, $0.mergesPayloads) = ($1 != .none, $1 == .merge) }),
        ConfigurationKey(
            "debounce", optional: .positiveDuration, example: #""1s""#, "a wait for newer values",
            """
            The time for which an operation waits for a newer one of its type and key before it is sent, with \
            coalesce. Each newer one begins the wait anew, up to ten times this time after the oldest. drainq run \
            --now, drainq run ID and drainq send do not wait.
            """,
            into: \.debounce),
        ConfigurationKey(
            "onFailure", .word, default: #""continue""#, example: #""hold""#, "continue or hold",
            """
            The treatment of operations behind a dead letter, with an ordering of key or strict. continue: they are \
            sent. hold: they are held until drainq retry sends the dead letter first or drainq drop removes it.
            """,
            into: \.onFailure),
        ConfigurationKey(
            "batch", optional: .batch, example: "{ max: 100 }", "several in one request",
            """
            Several operations of the route in one request, see BATCHES. A route's own batch replaces the inherited \
            batch as a whole.
            """,
            into: \.batch),
        ConfigurationKey(
            "keep", .keep, default: "{}", example: #"{ noteId: "/id" }"#, "values for later operations of the key",
            """
            Values of an answer that the queue keeps for later operations of its key, by name: a place in the answer's \
            JSON (RFC 6901), or the name of a header field. {kept.NAME} sends them, see CHAINS. A route's own keep \
            replaces the inherited keep as a whole.
            """,
            into: \.keep),
        ConfigurationKey(
            "chain", optional: .template(.idempotencyKey), example: #""{payload.localId}""#,
            "the key of kept values",
            """
            The text that takes the place of the key for keep and {kept.NAME}: a template, see TEMPLATES. If not set, \
            it is the operation's key. See CHAINS.
            """,
            into: \.chain),
        ConfigurationKey(
            "require", .conditions, default: "[]", example: #"{ pointer: "/content", notEmpty: true }"#,
            "conditions on a payload",
            """
            The conditions that a payload must meet before it is sent: one or a list of them, see ANSWERS. drainq add \
            refuses an operation that does not meet them, and a run quarantines such a file of another program. An \
            operation that was accepted under an earlier configuration fails without an attempt.
            """,
            into: \.require),
        ConfigurationKey(
            "protocol", .word, default: #""plain""#, example: #""callable""#, "plain or callable",
            """
            The form of payloads and answers. plain: the body is sent unchanged, and the status decides. callable: the \
            convention of Firebase callable functions, see CALLABLE FUNCTIONS.
            """,
            into: \.protocol),
        ConfigurationKey(
            "compress", .word, default: #""none""#, example: #""gzip""#, "none or gzip",
            """
            The compression of a request's body: none; or gzip, with the header Content-Encoding. drainq compresses a \
            batch as a whole; its maxBytes counts uncompressed bytes. Signatures cover the compressed bytes. An empty \
            body, a file, and the body of an operation with its own header Content-Encoding are sent unchanged. If \
            zlib cannot be used, the destination is held.
            """,
            into: \.compress),
        ConfigurationKey(
            "overrides", .overrides, default: #"["method", "url", "headers"]"#, example: #"["headers"]"#,
            "fields that operations may replace",
            """
            The fields of an operation that may replace the route's: any of method, url and headers; with [] none. An \
            operation with another of these fields is treated as one that does not meet require.
            """,
            set: { $0.overrides = Set($1) }),
    ]

    static let batch: [ConfigurationKey<Batch>] = [
        ConfigurationKey(
            "max", .count(1...10_000), example: "100", "operations in one request",
            "The most operations in one request.",
            isRequired: true, set: { $0.max = $1 }),
        ConfigurationKey(
            "maxBytes", .positiveSize, default: #""1MB""#, "bytes of one request",
            """
            The most bytes in the body of one request, with the text around the operations. A larger operation is sent \
            alone.
            """,
            into: \.maxBytes),
        ConfigurationKey(
            "format", .word, default: #""json""#, example: #""ndjson""#, "json or ndjson",
            """
            The form of a batch. json: one array of the payloads. ndjson: one payload on each line, as \
            application/x-ndjson, with line breaks within a payload replaced by blanks.
            """,
            into: \.format),
        ConfigurationKey(
            "body", optional: .template(.batch), example: #"'{ "records": [{items}] }'"#,
            "the text around the operations",
            """
            The text around the operations of a batch: a template with {items} once, see TEMPLATES. The route's body \
            makes each operation's text. If not set, the format supplies the text.
            """,
            into: \.body),
        ConfigurationKey(
            "results", optional: .results, example: #"{ pointer: "/items", status: "/status" }"#,
            "the operations' results",
            """
            The place of each operation's result in an answer that delivers. If not set, the answer delivers all \
            operations. If the results do not fit the batch, all are deferred.
            """,
            into: \.results),
    ]

    /// The keys of an object of `batch.results`.
    static let results: [ConfigurationKey<ResultsDraft>] = [
        ConfigurationKey(
            "pointer", .pointer, example: #""/items""#, "the list of results",
            """
            The place (RFC 6901) of an array in the answer with one element for each operation: in the batch's order, \
            or in any order with match. pointer or failed is required.
            """,
            set: { $0.pointer = $1 }),
        ConfigurationKey(
            "failed", optional: .pointer, example: #""/Failed""#, "the list of failures",
            """
            The place of an array of the operations that failed. Operations outside the array are delivered; without \
            an array, or with null, all are. Requires match.
            """,
            into: \.failed),
        ConfigurationKey(
            "match", optional: .pointer, example: #""/Id""#, "an element's operation: id or index",
            """
            The place, within an element, of the operation's id as a string, or of its index in the batch, from 0, as a \
            number.
            """,
            into: \.match),
        ConfigurationKey(
            "status", optional: .pointer, example: #""/status""#, "an element's status",
            """
            The place, within an element, of a number that is classified like an HTTP status. In a list of all \
            operations, status or error is required.
            """,
            into: \.status),
        ConfigurationKey(
            "error", optional: .pointer, example: #""/error""#, "an element's error",
            "The place, within an element, of a value that is neither null nor false if this operation failed.",
            into: \.error),
    ]
}
