import Policy

extension ConfigurationKeys {
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
}
