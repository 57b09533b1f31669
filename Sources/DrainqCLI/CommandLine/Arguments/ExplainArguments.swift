import Policy

/// The arguments of `drainq explain`.
struct ExplainArguments: CommandArguments {
    /// A status or the name of an error, or nothing.
    var answers: [String] = []
    var type = TypeName.default
    /// The file of a recorded answer.
    var recordedAnswer: String?
    /// The key whose kept values the command looks up.
    var key: String?
    var isJSON = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    mutating func take(operands: [String]) { answers = operands }

    static var options: [Option<Self>] {
        Option(
            .type, short: "t", .typeName, initial: \.type, "explain the route of this type",
            "Explains the route of this type.")
        Option(
            .answer, .file("FILE"), \.recordedAnswer, "explain the recorded answer in this file",
            """
            A file with an HTTP response as `curl -i` prints it: status line, header fields, an empty line and the \
            body; `-` is standard input. The command judges it, with its body, like the answer to an attempt. Not \
            together with a status or an error.
            """)
        Option(
            .key, .text("KEY"), \.key, "show which kept values this key has",
            """
            The key of operations on a route that sends `{kept.NAME}`: shows which of these values exist for the key, \
            and which are missing. It needs the queue.
            """)
        Option.json(\.isJSON)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let explain = CommandDescription(
        .explain, Command.explain, "explain what an answer means, and by which rule",
        """
        Explains what a status such as 503, or an error such as `timeout`, means on the route of --type: the effect on \
        the operation and on its destination, the rule that decides, the times of the next attempts, and the transport \
        that makes them. Without a status or an error it lists the meaning of every answer. With --answer it judges a \
        recorded answer by its header and body too. If the destination of the route is held, it says why, with the \
        server's words. It names the kept values that the route sends. It sends no request. With --config it needs no \
        queue.
        """,
        operands: .answer,
        examples: [
            Example("drainq explain 401", "explain why a 401 holds operations"),
            Example("drainq explain timeout --type crm", "explain a time-out on the route of a type"),
            Example("drainq explain", "explain every answer"),
            Example(
                "curl -si https://api.example.com/v1/orders | drainq explain --answer -",
                "explain this answer"),
            Example(
                "drainq explain UNAVAILABLE --config memory.json5 --type addSupermemoryMemory",
                "explain a callable function's error, without a queue"),
        ])
}
