import Policy

/// What `drainq send` is told.
struct SendArguments: CommandArguments {
    var input = InputOptions()
    var neverQueues = false
    var timeout: Duration?
    var retryWithin: Duration?
    /// JSON, as it was written.
    var fallback: String?
    var select: JSONPointer?
    var isJSON = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    mutating func take(operands: [String]) { input.files = operands }

    static var options: [Option<Self>] {
        InputOptions.options.map { $0.within(\.input) }
        Option(
            .noQueue, \.neverQueues, "never queue, whatever happens",
            "A temporary failure is an error and nothing more: the operation is not kept.")
        Option(
            .timeout, .duration, \.timeout, "end an attempt after so long",
            "How long an attempt may take, where that is less than the route says. Each attempt of --retry-within has it."
        )
        Option(
            .retryWithin, .duration, \.retryWithin, "try again within so long",
            """
            Try again by the schedule `retry` of the route, or when the server said, as long as the next attempt begins within \
            this time. Only then the operation is queued, with its attempts counted.
            """)
        Option(
            .fallback, .text("JSON"), \.fallback, "answer this where nothing else does",
            """
            What to print, with status 0, where the operation was not delivered. Without --no-queue it may be queued besides. \
            Why it was not delivered is said with --verbose.
            """)
        Option(
            .select, .pointer, \.select, "print this part of the answer",
            """
            Print the value that is at this place (RFC 6901) of the answer, which has to be JSON, as it stands there, and a \
            newline: `/result/items`. So the answer and --fallback have one shape. An answer without it prints \
            --fallback; without that option it is an error, with status 65, and the operation is delivered all the same.
            """)
        Option.json(\.isJSON)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let send = CommandDescription(
        .send, Command.send, "send operations now, queue them only if they have to wait",
        """
        Takes the same input as `drainq add` and tries each operation at once. What is delivered is answered with the \
        body of the server's answer, as it came: the status is 0.

        What cannot be delivered now is queued, and due at the next run: the status is 75 after a temporary failure, or \
        where the queue or the destination is paused, its circuit breaker is open or its server asked for \
        time, and 69 where the destination is \
        held. Where older operations of its key come first by the `ordering` of its route, it is queued behind them, \
        with 75.

        What fails for good is an error with status 1 and is not queued; so is a single operation that is refused with 401, \
        403 or 407, unless another one was refused before it and the destination is held. Input that is no operation is \
        65, an operation for which the queue has no room 74. An operation whose id is in the queue already is not sent: \
        the status is 75 where that one waits, and 1 where it has failed or is quarantined. Of several operations the \
        status is the first that applies in EXIT STATUS.

        With --no-queue nothing is ever queued; the statuses are the same. With --fallback there is always an answer: \
        where nothing was delivered it is printed, and the status is 0. With --no-queue, --timeout and --fallback it is a call \
        that always answers. Only a wrong command line, a wrong configuration or a queue that is not there is an error \
        all the same.

        What an attempt says of its destination is remembered as after a run. `conditions` of the configuration are for \
        runs alone.
        """,
        operands: .files,
        exclusive: [[.envelope, .contentType], [.envelope, .id], [.envelope, .bodyFile]],
        examples: [
            Example(#"printf '{"n":1}\n' | drainq send --type t"#, "try now, queue if need be"),
            Example(
                #"printf '{"query":"tea"}\n' | drainq send --type search --no-queue --timeout 2s --select /result --fallback '[]'"#,
                "the list of results within two seconds, an empty one if there is no other"),
            Example(
                "drainq send --type crm --retry-within 1m update.json", "try for a minute before it is queued"),
        ])
}
