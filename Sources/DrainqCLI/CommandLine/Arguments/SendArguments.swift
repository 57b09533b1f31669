import Policy

/// The arguments of `drainq send`.
struct SendArguments: CommandArguments {
    var input = InputOptions()
    var neverQueues = false
    var timeout: Duration?
    var retryWithin: Duration?
    /// The text to print if nothing is delivered: JSON, as written.
    var fallback: String?
    var select: JSONPointer?
    var isJSON = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    mutating func take(operands: [String]) { input.files = operands }

    static var options: [Option<Self>] {
        InputOptions.options.map { $0.within(\.input) }
        Option(
            .noQueue, \.neverQueues, "do not queue the operation",
            """
            Does not queue the operation: a temporary failure is an error, and nothing of the operation is kept. An \
            operation that is not in the queue has no place in an order: if the route of the type has `coalesce`, or \
            `ordering` "key" or "strict", the status is 64 and nothing is read.
            """)
        Option(
            .timeout, .duration, \.timeout, "the longest time of an attempt",
            """
            How long an attempt may take, if that is less than the route allows. It applies to \
            each attempt of --retry-within.
            """
        )
        Option(
            .retryWithin, .duration, \.retryWithin, "retry within this time",
            """
            Retries by the schedule `retry` of the route, or at the time that the server named, as long as the next attempt \
            begins within this time. Until then no run attempts the operation. After that the operation waits for the next \
            run, with its attempts counted.
            """)
        Option(
            .fallback, .text("JSON"), \.fallback, "print this if the operation is not delivered",
            """
            The text to print, with status 0, if the operation is not delivered. Without --no-queue the operation may \
            also be in the queue. --verbose reports why it was not delivered. With --json the command prints its object, \
            which says why, and not the text; the status is 0 too.
            """)
        Option(
            .select, .pointer, \.select, "print this part of the answer",
            """
            Prints the value at this place (RFC 6901) of the answer, unchanged, and a newline: `/result/items`. The \
            answer must be JSON. This gives the answer and --fallback the same shape. If the answer lacks the value, \
            the command prints --fallback; without that option it is an error with status 65, although the operation \
            is delivered.
            """)
        Option.json(\.isJSON)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let send = CommandDescription(
        .send, Command.send, "send operations now, queue them if they have to wait",
        """
        Takes the same input as `drainq add`, queues each operation and attempts it at once. For a delivered operation it \
        prints the body of the server's answer, unchanged: the status is 0.

        An operation that cannot be delivered now stays in the queue; the next run attempts it. The status is 75 after a \
        temporary failure, or if the queue or the destination is paused, its circuit breaker is open or its server \
        asked for time, and 69 if the destination is held. If older operations of its key come first by the \
        `ordering` or `coalesce` of its route, or another process is sending operations that have an order, it waits \
        behind them, with 75.

        A failure for good is an error with status 1; the operation leaves the queue. If the server refuses the \
        operation with 401, 403 or 407, that is a failure for good too; but if it refused another operation before, \
        the destination is held, and the operation stays. The status is 65 for input that is not an operation, which \
        is not kept, and 74 if the queue or the disk is full: the command then sends nothing. The command does not send \
        an operation whose id is in the queue already: the status is 75 if that one waits, and 1 if it has failed or \
        is quarantined. For several operations the status is the first in EXIT STATUS that applies.

        If the command is killed, the operation stays in the queue, and the next run attempts it. A power cut before the \
        status 75 may lose it.

        With --no-queue the operation is never in the queue; the statuses are the same. With --fallback the command \
        prints that text if the operation is not delivered, and the status is 0. With --no-queue, --timeout and \
        --fallback the command prints an answer for every value of the input. \
        Only a wrong command line, a wrong configuration or a missing queue is still an error.

        The queue remembers what an attempt shows about its destination, as after a run. `conditions` of the \
        configuration apply to runs alone.
        """,
        operands: .files,
        exclusive: [
            [.envelope, .contentType], [.envelope, .id], [.envelope, .bodyFile], [.each, .contentType],
            [.each, .bodyFile],
        ],
        examples: [
            Example(#"printf '{"n":1}\n' | drainq send --type t"#, "attempt now, queue after a temporary failure"),
            Example(
                #"printf '{"query":"tea"}\n' | drainq send --type search --no-queue --timeout 2s --select /result --fallback '[]'"#,
                "print the results within two seconds, or an empty list"),
            Example(
                "drainq send --type crm --retry-within 1m update.json", "attempt for a minute before queueing"),
        ])
}
