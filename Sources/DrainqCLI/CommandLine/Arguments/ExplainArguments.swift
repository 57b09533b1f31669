import Policy

/// What `drainq explain` is told.
struct ExplainArguments: CommandArguments {
    /// A status or the name of an error, or nothing.
    var answers: [String] = []
    var type = TypeName.default
    /// The file of a recorded answer.
    var recordedAnswer: String?
    var isJSON = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    mutating func take(operands: [String]) { answers = operands }

    static var options: [Option<Self>] {
        Option(
            .type, short: "t", .typeName, initial: \.type, "the type whose route is meant",
            "The type whose route is explained.")
        Option(
            .answer, .file("FILE"), \.recordedAnswer, "what the recorded answer in this file means",
            """
            A file with an HTTP response as `curl -i` prints it: status line, header fields, an empty line and the body; `-` is \
            standard input. It is judged as if an attempt had met it, body and all. Not together with a status or an error.
            """)
        Option.json(\.isJSON)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let explain = CommandDescription(
        .explain, Command.explain, "say what an answer means, and by which rule",
        """
        Says what a status such as 503, or an error such as `timeout`, means on the route of --type: what becomes of the \
        operation and of its destination, by which rule, when the next attempts are, and what makes them. Without a \
        status or an error it lists what every answer means. With --answer it judges a recorded answer, its header and \
        body as well. Nothing is sent. With --config no queue is needed.
        """,
        operands: .answer,
        examples: [
            Example("drainq explain 401", "why operations are held"),
            Example("drainq explain timeout --type crm", "what a time-out means on the route of a type"),
            Example("drainq explain", "what every answer means"),
            Example(
                "curl -si https://api.example.com/v1/orders | drainq explain --answer -",
                "what this answer would mean"),
            Example(
                "drainq explain UNAVAILABLE --config memory.json5 --type addSupermemoryMemory",
                "what a callable function says, without a queue"),
        ])
}
