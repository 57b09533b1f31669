import Policy

/// Every key there is. A row that is here is read, checked, written by `drainq init` and documented.
enum ConfigurationKeys {
    /// All rows as the manual lists them, with their whole path.
    static let entries: [ConfigurationEntry] = file.flatMap { key in
        key.entry.path == "routes" ? [key.entry] + route.map { $0.entry.prefixed("routes.<type>.") } : [key.entry]
    }

    static let file: [ConfigurationKey<Configuration>] = [
        ConfigurationKey(
            "version", .version, default: "1", "of this file's format",
            "The version of the format, always 1. A file that says a newer one is refused, and nothing else in it is read.",
            set: { _, _ in }),
        ConfigurationKey(
            "routes", map: "routes by type", "by the type of an operation",
            """
            How each type of operation becomes a request. The route \"default\" is for operations without a type and for \
            types that have no route of their own, and every other route inherits from it what it leaves out. \
            A type is 1 to 64 letters, digits, '_', '-' and '.', and does not begin with a dot.
            """,
            read: readRoutes),
        ConfigurationKey(
            "limits.operations", optional: .count(1...1_000_000_000), example: "100000", "how many may wait",
            "How many operations may wait at once: those in new/, deferred/ and claimed/. No limit unless set.",
            into: \.limits.operations),
        ConfigurationKey(
            "limits.bytes", optional: .positiveSize, example: #""1GB""#, "the size of all that wait",
            "How many bytes the files of waiting operations may have together. No limit unless set.",
            into: \.limits.bytes),
        ConfigurationKey(
            "limits.operationBytes", .positiveSize, default: #""10MB""#, "the size of one body",
            "How many bytes the body of one operation may have. A larger one is not taken.",
            into: \.limits.operationBytes),
        ConfigurationKey(
            "limits.minimumFree", optional: .size, example: #""100MB""#, "what stays free on the file system",
            "How many bytes must stay free on the file system of the queue. Not looked at unless set.",
            into: \.limits.minimumFree),
        ConfigurationKey(
            "limits.whenFull", .word(among: [.reject, .dropOldest]), default: #""reject""#, "or dropOldest",
            """
            What happens to a new operation that a limit has no room for: reject (it is not taken, and drainq add says \
            so) or dropOldest (the oldest waiting ones are removed to make room).
            """,
            into: \.limits.whenFull),
        ConfigurationKey(
            "retention.delivered", .duration, default: #""0s""#, "0s: removed once delivered",
            "How long a delivered operation is kept in delivered/. With 0s it is removed as soon as it is delivered.",
            into: \.retention.delivered),
        ConfigurationKey(
            "retention.failed", optional: .duration, example: #""30d""#, "null: for ever",
            "How long an operation that was given up stays in failed/. For ever unless set.",
            into: \.retention.failed),
    ]

    static let route: [ConfigurationKey<Route>] = [
        ConfigurationKey(
            "url", optional: .urlTemplate, example: #""https://api.example.com/v1/{type}""#, "where requests go",
            """
            Where requests go: an absolute URL, http or https. {id}, {type}, {key} and {payload.NAME} (a member of the \
            JSON payload, {payload.a.b} of an object in it) are replaced, percent-encoded; they stand in the path and \
            the query only. An operation's own url comes first.
            """,
            into: \.url),
        ConfigurationKey(
            "method", .method, default: #""POST""#, "the request's method",
            "The method of the request, in capitals.",
            into: \.method),
        ConfigurationKey(
            "headers", .headers, default: "{}", "as in { Accept: \"application/json\" }",
            """
            Header fields of the request, by name. Inherited fields are kept unless a route names them again; null takes \
            one back. Host, Content-Length, Transfer-Encoding, Connection, Expect, Accept-Encoding, TE, Trailer, Upgrade, \
            Keep-Alive, Proxy-Connection, Idempotency-Key and Drainq-Attempt are refused: they are drainq's to write. A value is sent as it stands.
            """,
            set: { HeaderChange.apply($1, to: &$0.headers) }),
        ConfigurationKey(
            "retry", .schedule, default: #""standard""#, "a preset, or an object",
            "When a deferred operation is tried again and when it is given up: a preset or an object, see SCHEDULES.",
            into: \.retry),
        ConfigurationKey(
            "retryRateLimited", optional: .schedule, example: #""rate-limit""#, "the same for status 429",
            "The schedule after an answer with status 429, where the server names no time. As retry unless set.",
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
            "classify", .classify, default: "{}", "as in { \"404\": \"defer\", tls: \"hold\" }",
            """
            What an answer means where that is not what drainq(1) says. A key is a status such as "404", a range such \
            as "500-599" or the name of an error, see NAMES OF ERRORS; its value is deliver, defer, hold or fail. The narrowest \
            match decides. Inherited entries are kept unless a route has one for the same answers.
            """,
            set: { ClassificationOverride.apply($1, to: &$0.classify) }),
        ConfigurationKey(
            "expiresAfter", optional: .positiveDuration, example: #""7d""#, "older ones are not sent",
            "An operation that is older than this is moved to failed/ without another attempt. Never unless set.",
            into: \.expiresAfter),
        ConfigurationKey(
            "answerLimit", .size, default: #""65536B""#, "how much of an answer is read",
            "How many bytes of an answer's body are read. A longer answer is cut there; its status decides as ever.",
            into: \.answerLimit),
    ]

    /// What the object of `retry` and `retryRateLimited` may have.
    static let schedule: [ConfigurationKey<ScheduleDraft>] = [
        ConfigurationKey(
            "preset", optional: .preset, default: #""standard""#, example: #""quick""#, "what the other keys change",
            "The preset that the other keys change. standard, unless the object has a base or a schedule.",
            into: \.preset),
        ConfigurationKey(
            "schedule", optional: .durations, example: #"["5s", "30s", "2m"]"#, "the delays, one after the other",
            "The delays as a list. The last one repeats as long as attempts and maxAge allow.",
            into: \.schedule),
        ConfigurationKey(
            "base", optional: .positiveDuration, example: #""30s""#, "the first delay",
            "The delay after the first attempt; each further one is multiplied, up to max.",
            into: \.base),
        ConfigurationKey(
            "multiplier", optional: .number(1...100), default: "2", example: "2", "of each further delay",
            "What each further delay is multiplied with.",
            into: \.multiplier),
        ConfigurationKey(
            "max", optional: .positiveDuration, default: #""12h""#, example: #""1h""#, "the longest delay",
            "The longest delay.",
            into: \.max),
        ConfigurationKey(
            "attempts", ConfigurationValue<Int>.count(1...9_999).orNull, example: "8",
            "in all, null: as many as it takes",
            """
            How many attempts there are in all, the first included. With a list that names neither \
            attempts nor maxAge, each delay has its turn once; otherwise, and with null, the age alone decides.
            """,
            set: { $0.attempts = .some($1) }),
        ConfigurationKey(
            "maxAge", ConfigurationValue<Duration>.positiveDuration.orNull, default: #""3d""#,
            "since the operation was made",
            """
            How old an operation may become and still be tried. With a base it is 3d unless attempts says when to end; \
            with null there is no such age.
            """,
            set: { $0.maxAge = .some($1) }),
        ConfigurationKey(
            "jitter", optional: .number(0...1), default: "0.2", example: "0.2", "±20 %",
            "By which part a delay is made shorter or longer by chance, so that many clients do not come back at once.",
            into: \.jitter),
    ]

    /// Reads "default" first, wherever it stands: the others begin with what it says.
    private static func readRoutes(
        _ value: JSON5Value, into configuration: inout Configuration, _ findings: inout ConfigurationFindings
    ) {
        guard let members = findings.members(of: value, hint: "routes are written { default: { url: \"https://…\" } }")
        else { return }
        let isDefault = { (member: JSON5Value.Member) in member.name == TypeName.default.description }
        for member in members.filter(isDefault) + members.filter({ !isDefault($0) }) {
            findings.within(member.name) { findings in
                guard let type = TypeName(member.name) else {
                    findings.add(
                        "\(quote(member.name)) is not a type", at: member.position,
                        hint: "a type is 1 to 64 of A-Z a-z 0-9 _ - and ., and does not begin with a dot")
                    return
                }
                var route = configuration.defaultRoute
                readObject(member.value, by: ConfigurationKeys.route, into: &route, &findings)
                if type == .default { configuration.defaultRoute = route } else { configuration.routes[type] = route }
            }
        }
    }
}

extension ConfigurationValue<Int> {
    static let version = ConfigurationValue("version") { value, findings in
        let number = value.integer
        if number == 1 { return 1 }
        let reason = number.map { $0 > 1 } ?? false ? "is newer than this drainq" : "is not a version"
        findings.add("\(value.quoted) \(reason)", at: value.position, hint: "this drainq reads version 1")
        return nil
    }

}

extension ConfigurationValue {
    /// The same, or `null`.
    var orNull: ConfigurationValue<Value?> {
        ConfigurationValue<Value?>(name) { value, findings in
            value.isNull ? .some(nil) : read(value, &findings).map(Optional.some)
        }
    }
}
