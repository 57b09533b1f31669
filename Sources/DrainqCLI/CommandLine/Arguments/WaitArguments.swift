import Policy

/// The arguments of `drainq wait`.
struct WaitArguments: CommandArguments {
    var ids: [String] = []
    /// The longest time to wait; `nil` waits for ever.
    var timeout: Duration?
    var isJSON = false
    var queue = QueueOptions()
    var verbosity = Verbosity()

    mutating func take(operands: [String]) { ids = operands }

    static var options: [Option<Self>] {
        Option(
            .timeout, .duration, \.timeout, "wait at most this long",
            """
            How long to wait; for ever unless given. After this time the status is 75 if an operation is not finished, \
            or 69 if it is held.
            """
        )
        Option.json(\.isJSON)
        QueueOptions.options.map { $0.within(\.queue) }
        Verbosity.options.map { $0.within(\.verbosity) }
    }
}

extension CommandDescription {
    static let wait = CommandDescription(
        .wait, Command.wait, "wait until operations are delivered or have failed",
        """
        Waits until each operation is delivered, has failed or is gone. Runs send the operations; this command only \
        waits. It prints the kept answer of each operation (`keepAnswer` of its route), unchanged, as soon as it is \
        delivered; a second answer begins on a line of its own. The status is 0 if all are delivered, 1 if one has \
        failed or is quarantined, or if an answer could not be kept.

        The status is 66 if an operation is not in the queue when the command begins. A run may have delivered it \
        before: with `keepAnswer` of its route, or with `retention.delivered`, the queue keeps it, and the command \
        finds it. `drainq add --wait` adds operations and waits for them in one command, and needs neither.

        An operation that is gone was delivered, unless a person dropped it or a newer one replaced it: the status is \
        0. If its route keeps delivered operations (`keepAnswer`, `retention.delivered`) and there is no copy, a run \
        did not deliver the operation, or could not write the copy: the status is 1. With --timeout the command ends \
        with 75 if an operation still waits, and with 69 if a person or a credential is needed, and reports why. \
        SIGINT, SIGTERM and SIGHUP end it at once.
        """,
        operands: .ids,
        examples: [
            Example("drainq wait 6f9619ff-8b86-4011-b42d-00cf4fc964ff --timeout 1m", "wait for one operation"),
            Example(
                "drainq add --type order order.json | drainq wait - --timeout 10m",
                "print the kept answer when it arrives"),
        ])
}
