import Policy

extension ConfigurationKeys {
    static let answer: [ConfigurationKey<AnswerDraft>] = [
        ConfigurationKey(
            "status", .statuses, example: #"[408, "500-599"]"#, "a status, a range, a list, any",
            """
            The status of the answer: a number such as 409, a range such as "500-599", a class such as "5xx", a list \
            of these, or "any". A \
            rule without a status, but with another condition, matches any status.
            """,
            set: { $0.statuses = $1 }),
        ConfigurationKey(
            "error", .errors, example: #""timeout""#, "the name of an error",
            """
            The error of an attempt without an answer: a name of NAMES OF ERRORS, a list of these, or "any". A rule \
            with an error has no condition on an answer.
            """,
            set: { $0.errors = $1 }),
        ConfigurationKey(
            "header", .answerHeaders, example: #"{ "x-ratelimit-remaining": "0" }"#, "fields of the answer",
            """
            Header fields of the answer, by name: a text is the exact value of the field; true requires the field; \
            false forbids it. All conditions must hold.
            """,
            set: { $0.content.headers = $1 }),
        ConfigurationKey(
            "json", .conditions, example: #"{ pointer: "/code", equals: "23505" }"#, "conditions on the body",
            "A condition on the body as JSON, or a list of conditions that must all hold.",
            set: { $0.content.json = $1 }),
        ConfigurationKey(
            "body", .plainText, example: #""Too many connections""#, "a text in the body",
            "A text that the body must contain, byte for byte.",
            set: { $0.content.text = $1 }),
        ConfigurationKey(
            "after", .earlierRequest, example: #""unknown""#, "unknown: only after a lost answer",
            """
            unknown: the rule matches only if an earlier request of the operation may have arrived: drainq or a \
            gateway (502, 504) lost the answer of an earlier attempt, or a run died with the operation in flight. The \
            only value of this key.
            """,
            set: { $0.content.isAfterUnknown = $1 }),
        ConfigurationKey(
            "is", .outcome, example: #""defer""#, "deliver, defer, hold or fail",
            "The meaning of the answer or error: deliver, defer, hold or fail.",
            isRequired: true, set: { $0.outcome = $1 }),
        ConfigurationKey(
            "until", .answerLimit, example: #""x-ratelimit-reset""#, "the place of a retry time",
            """
            The place in the answer of the time of the next attempt: the name of a header field, or a JSON Pointer. \
            The time is a number of seconds, seconds or milliseconds since 1970, or a date; of several fields of that \
            name the latest time. It delays the whole destination, as Retry-After does, and no attempt is counted. If \
            the answer has no such time, Retry-After applies. If the rule delivers, the operation is delivered, the \
            destination gets no request before the time, and Retry-After does not apply. A list of three places is the \
            cost of a request, what is left for requests, and how much of that is restored each second: the time is \
            when a request of this cost is possible again.
            """,
            set: { $0.until = $1 }),
    ]

    static let accept: [ConfigurationKey<AnswerRule>] = [
        ConfigurationKey(
            "contentType", optional: .mediaType, example: #""application/json""#, "the answer's media type",
            "The media type of the answer, without parameters; application/* matches every subtype.",
            into: \.content.contentType),
        ConfigurationKey(
            "json", .conditions, default: "[]", example: #"{ pointer: "/success", equals: true }"#,
            "conditions on the answer",
            "A condition on the body as JSON, or a list of conditions that must all hold.",
            into: \.content.json),
        ConfigurationKey(
            "otherwise", .refusal, default: #""defer""#, example: #""hold""#, "defer, hold or fail",
            "The outcome of an answer that does not meet the conditions: defer, hold or fail.",
            into: \.outcome),
    ]

    /// The keys of a condition on JSON.
    static let condition: [ConfigurationKey<ConditionDraft>] = [
        ConfigurationKey(
            "pointer", .pointer, example: #""/result/success""#, "a place in the document",
            """
            The place in the document, a JSON Pointer (RFC 6901): \"\" is the whole document, \"/result/success\" a \
            member of a member, \"/items/0\" the first element of a list.
            """,
            isRequired: true, set: { $0.pointer = $1 }),
        ConfigurationKey(
            "exists", .truth, example: "true", "whether there is a value",
            "true: the place must have a value, which may be null. false: it must have none.",
            set: { $0.tests.append(.exists($1)) }),
        ConfigurationKey(
            "equals", .json, example: "true", "the value that must be there",
            """
            The value must equal this one, as JSON: numbers are equal by their value, objects in any order of their \
            members.
            """,
            set: { $0.tests.append(.equals($1)) }),
        ConfigurationKey(
            "contains", .plainText, example: #""Throttling""#, "a text within the value",
            "The value must be text that contains this text.",
            set: { $0.tests.append(.contains($1)) }),
        ConfigurationKey(
            "notEmpty", .onlyTrue, example: "true", "the value must not be empty",
            """
            There must be a value, and it must not be null, "", white space alone, [] or {}. The only value of this \
            key is true.
            """,
            set: { draft, _ in draft.tests.append(.notEmpty) }),
    ]
}
