extension ConfigurationKeys {
    /// The keys of an object of `retry` and `retryRateLimited`.
    static let schedule: [ConfigurationKey<ScheduleDraft>] = [
        ConfigurationKey(
            "preset", optional: .preset, default: #""standard""#, example: #""quick""#, "the preset to change",
            """
            The preset to change. attempts, maxAge and jitter change every preset; base, multiplier and max change \
            presets whose delays are multiplied. If absent: standard, unless the object has a base or a schedule.
            """,
            into: \.preset),
        ConfigurationKey(
            "schedule", optional: .durations, example: #"["5s", "30s", "2m"]"#, "the delays in order",
            "The delays as a list. If attempts or maxAge allow more, the last one repeats.",
            into: \.schedule),
        ConfigurationKey(
            "base", optional: .positiveDuration, example: #""30s""#, "the first delay",
            "The delay after the first attempt. Each further delay is multiplied, up to max.",
            into: \.base),
        ConfigurationKey(
            "multiplier", optional: .number(1...100), default: "2", example: "2", "the factor of each further delay",
            "The factor of each further delay.",
            into: \.multiplier),
        ConfigurationKey(
            "max", optional: .positiveDuration, default: #""12h""#, example: #""1h""#, "the longest delay",
            "The longest delay.",
            into: \.max),
        ConfigurationKey(
            "attempts", ConfigurationValue<Int>.count(1...9_999).orNull, example: "8",
            "number of attempts, null: no limit",
            """
            The number of attempts in all, with the first; null does not limit them. If absent, it is that of the \
            preset. A schedule without maxAge then ends after one attempt more than it has delays. Any other schedule \
            has no limit of attempts.
            """,
            set: { $0.attempts = .some($1) }),
        ConfigurationKey(
            "maxAge", ConfigurationValue<Duration>.positiveDuration.orNull, default: #""3d""#,
            "greatest age of an operation",
            """
            The age up to which an operation is attempted; null does not limit it. If absent, it is that of the \
            preset, and 3d if a schedule has neither a number of attempts nor an age.
            """,
            set: { $0.maxAge = .some($1) }),
        ConfigurationKey(
            "jitter", optional: .number(0...1), default: "0.2", example: "0.2", "±20 %",
            "The part by which a delay is randomly shorter or longer. It spreads the attempts of many clients.",
            into: \.jitter),
    ]
}
