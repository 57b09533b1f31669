import Drain
import Policy
import Spool

struct SendCommand: Command {
    static let name = "send"

    var input = InputOptions()
    var neverQueues = false
    var timeout: Duration?
    var retryWithin: Duration?
    /// The text to print if nothing is delivered: JSON, as written.
    var fallback: String?
    var select: JSONPointer?
    var global = GlobalOptions()

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
            """)
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
        GlobalOptions.options.map { $0.within(\.global) }
    }

    static let description = CommandDescription(
        Self.self, "send operations now, queue them if they have to wait",
        """
        Takes the same input as `drainq add`, queues each operation and attempts it at once, also before the operation's \
        `notBefore`. For a delivered operation it prints the body of the server's answer, unchanged, with status 0; the status is \
        65 if the answer has more than 64 MiB or cannot be read whole.

        An operation that cannot be delivered now stays in the queue; the next run attempts it. The status is 75 after a \
        temporary failure, or if the queue or the destination is paused, its circuit breaker is open or its server \
        asked for time, and 69 if the destination is held. The status is 75, too, if by the `ordering` or `coalesce` of \
        its route the operation waits for others of its key, or a newer one replaces it, or if another process is \
        sending operations that have an order; it is 69 if an operation that failed holds it (`onFailure`).

        A failure for good is an error with status 1; the operation leaves the queue. If the server refuses the \
        operation with 401, 403 or 407, that is a failure for good too; but if it refused another operation before, \
        the destination is held, and the operation stays. The status is 65 for input that is not an operation, which \
        is not kept, and 74 if the queue or the disk is full: the command then sends nothing. The command does not send \
        an operation whose id is in the queue already: the status is 75 if that one waits, and 1 if it has failed or \
        is quarantined. While another drainq send has that one in flight, the status is 75 too, and nothing is queued: \
        the other command may keep nothing of its own. For several operations the status is the first in EXIT STATUS \
        that applies.

        If the command is killed, the operation stays in the queue, and the next run attempts it. If the operation has \
        failed for good and the command has not reported the failure yet, the next run moves it to `failed/` and reports \
        it. A power cut before the status 75 may lose it.

        With --no-queue the operation is never in the queue; the statuses are the same. With --fallback the command \
        prints that text if the operation is not delivered, and the status is 0. With --no-queue, --timeout and \
        --fallback the command prints an answer for every value of the input. \
        Only a wrong command line, a wrong configuration or a missing queue is still an error.

        The queue remembers what an attempt shows about its destination, as after a run. `conditions` of the \
        configuration apply to runs alone. The command reads a changed configuration before each operation. While the \
        configuration is not valid, the one before is in force, and the command ends with 78.
        """,
        operands: .files,
        exclusive: InputOptions.exclusive,
        examples: [
            Example(#"printf '{"n":1}\n' | drainq send --type t"#, "attempt now, queue after a temporary failure"),
            Example(
                #"printf '{"query":"tea"}\n' | drainq send --type search --no-queue --timeout 2s --select /result --fallback '[]'"#,
                "print the results within two seconds, or an empty list"),
            Example("drainq send --type crm --retry-within 1m update.json", "attempt for a minute before queueing"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        var queue = try OpenQueue(global, environment)
        try queue.applyTransport(of: environment)
        try queue.checkTrustOfConfiguration(global)
        if let fallback = fallback, (try? JSONValue(Array(fallback.utf8))) == nil {
            throw CommandFailure(
                .usage, "'--fallback \(fallback)' is not JSON", hint: "JSON is, for example, '[]' or 'null'")
        }
        try checkOrder(by: queue.configuration)
        var counting = SendCounting(queue, queues: !neverQueues)
        defer { counting.end() }
        let options = OperationSender.Options(timeout: timeout, retryWithin: retryWithin, queues: !neverQueues)
        let renewed = RenewedQueue(queue, global) { try $0.checkTrustOfConfiguration(global) }
        func renewingWorld(of queue: OpenQueue) -> World {
            var world = queue.world()
            world.renewal = {
                let present = renewed.renewed()
                if present.configuration == queue.configuration { return nil }
                counting.queue = present
                return (present.configuration, renewingWorld(of: present))
            }
            return world
        }
        var sender = OperationSender(
            spool: queue.spool, configuration: queue.configuration, options: options, world: renewingWorld(of: queue)
        ) { event in
            switch event {
            case .notKept(let id, let name, let reason):
                Messages.warning(
                    notKeptMessage(id, name, reason),
                    hint: "operations of the same key that send the value wait for it")
            case .inputOutputError(let error): Messages.warning(error.description, hint: error.hint)
            case .recovered(let recovery):
                for item in recovery.quarantined { sayQuarantined(item, in: absolutePath(queue.spool.path)) }
                counting.take(event)
            default: counting.take(event)
            }
        }
        let report = SendReport(command: self)
        var applying: [ExitStatus] = []
        var input = OperationInput(queue: renewed.renewed(), options: input, reading: input.reading(at: .now()))
        try input.read { item in
            // While the command waits for the next operation, a signal ends the process as usual.
            Interruption.install()
            defer { Interruption.uninstall() }
            do {
                switch item {
                case .operation(let given):
                    let result = try sender(given.submission)
                    if case .postponed(let postponement) = result { counting.take(postponement) }
                    applying.append(report.answer(given, result))
                case .refused(let value, let reason):
                    applying.append(report.refuse("\(value.place): \(reason)", nil, .dataInvalid))
                case .refusedFile(let path, let refusal):
                    applying.append(report.refuse("'\(path)': the body file \(refusal)", nil, refusal.status))
                }
            } catch let error as SpoolError where error.kind == .io {
                // A full disk, for example: nothing was sent, and `--fallback` answers.
                applying.append(report.refuse(error))
            } catch let error as SpoolError {
                throw CommandFailure(error, hasBegun: !applying.isEmpty)
            }
            standardOutput.flush()
            try standardOutput.requireReader(
                of: "answers", "drainq reads no further line",
                hint: "drainq has sent, queued or refused \(InWords.count(applying.count, "value")) of this input")
            if sender.haveTold() { counting.haveTold() } else { applying.append(.inputOutput) }
            counting.write()
        }
        if let failure = renewed.failure { applying.append(failure.status) }
        return .first(of: applying)
    }

    /// Throws if `--no-queue` is given for a type whose route has an order: an operation without a file has no place in
    /// it. If the input gives the types, each operation is checked by itself.
    private func checkOrder(by configuration: Configuration) throws(CommandFailure) {
        guard neverQueues, let type = input.reading(at: .now()).fixedType, configuration.route(of: type).isSequential
        else { return }
        throw CommandFailure(
            .usage, "--no-queue cannot send type '\(type)': its route has an order, which needs the queue",
            hint: "leave out --no-queue, or use a type without 'ordering' and 'coalesce'")
    }
}

/// The report of one `send`: an answer for each operation on standard output, and its status.
private struct SendReport {
    let command: SendCommand

    func answer(_ given: OperationInput.Given, _ result: OperationSender.Result) -> ExitStatus {
        let id = given.operation.header.id
        switch result {
        case .exists(.stays(let state)): return reportDuplicate(id, in: state)
        case .exists(.mayEnd):
            let reason = "another process sends or drops an operation of this id"
            return refuse("'\(id)': \(reason)", SendResult(id: id, outcome: "deferred", error: reason), .deferred)
        case .refused(let refusal):
            return refuse("\(given.value.place): \(refusal)", nil, refusal.isDefect ? .dataInvalid : .inputOutput)
        case .delivered(let event, let answer, let isSettled):
            let status = answerDelivered(answer, event, given)
            return isSettled ? status : .inputOutput
        case .failed(let event):
            return refuse(
                "\(given.name): \(event.record.cause)",
                SendResult(id: id, outcome: "failed", record: event.record, error: event.record.cause),
                .failed)
        case .postponed(let postponement): return reportPostponed(given, postponement)
        }
    }

    private func reportDuplicate(_ id: OperationID, in state: QueueState) -> ExitStatus {
        let waits = QueueState.waiting.contains(state)
        let reason = "it is in the queue already (\(state.word))"
        if !waits { return refuse("'\(id)': \(reason)", SendResult(id: id, outcome: "failed", error: reason), .failed) }
        if command.global.isJSON {
            JSONLine.write(SendResult(id: id, outcome: "queued", error: reason))
        } else if !command.global.verbosity.isQuiet {
            Messages.notice("'\(id)' is in the queue already (\(state.word)): not sent")
        }
        return fallBack(.deferred)
    }

    private func answerDelivered(
        _ answer: [UInt8]?, _ event: AttemptEvent, _ given: OperationInput.Given
    ) -> ExitStatus {
        let id = given.operation.header.id
        var reason = "it was delivered, but its answer is too long or cannot be read whole"
        if let answer {
            guard let pointer = command.select else { return print(answer, event, id) }
            if let document = try? JSONDocument(answer: answer), let range = document.range(at: pointer) {
                return print(answer[range] + (command.global.isJSON ? [] : [UInt8(ascii: "\n")]), event, id)
            }
            reason = "it was delivered, but its answer has no value at '\(pointer)'"
        }
        return refuse(
            "\(given.name): \(reason)", SendResult(id: id, outcome: "delivered", record: event.record, error: reason),
            .dataInvalid)
    }

    private func print(_ answer: some Collection<UInt8>, _ event: AttemptEvent, _ id: OperationID) -> ExitStatus {
        if command.global.isJSON {
            JSONLine.write(SendResult(id: id, outcome: "delivered", record: event.record, answer: Array(answer)))
        } else {
            standardOutput.write(bytes: answer)
        }
        return .ok
    }

    private func reportPostponed(
        _ given: OperationInput.Given, _ postponement: OperationSender.Postponement
    ) -> ExitStatus {
        let id = given.operation.header.id
        let last = postponement.last
        let reason =
            switch postponement.reason {
            case .words(let words): words
            case .wait(.nothing, _): "the next run settles older operations first"
            case .wait(let wait, let destination): wait.sentence(.now(), id: id, destination: destination)
            }
        let status: ExitStatus =
            switch postponement.cause {
            case .deferred: .deferred
            case .held: .held
            case .broken: .inputOutput
            }
        if command.neverQueues {
            return refuse(
                "\(given.name): \(reason)", SendResult(id: id, outcome: "deferred", record: last, error: reason), status
            )
        }
        if let displaced = postponement.displaced { _ = reportEvicted(displaced) }
        if command.global.isJSON {
            JSONLine.write(SendResult(id: id, outcome: "queued", record: last, error: reason))
        } else if !command.global.verbosity.isQuiet {
            Messages.notice("queued \(given.name)\(given.hasOwnID ? "" : " as '\(id)'"): \(reason)")
        }
        return fallBack(status)
    }

    /// Reports that there is no answer to print: an error, unless `--fallback` gives an answer.
    func refuse(_ reason: String, _ result: SendResult?, _ status: ExitStatus) -> ExitStatus {
        let verb = result?.outcome == "delivered" ? "print the answer to" : "send"
        return refuse(
            "cannot \(verb) \(reason)", hint: status == .held ? pasted("status") : nil,
            result ?? SendResult(error: reason), status)
    }

    /// Reports that an operation could not be queued. Nothing was sent.
    func refuse(_ error: SpoolError) -> ExitStatus {
        refuse(error.description, hint: error.hint, SendResult(error: error.description), .inputOutput)
    }

    private func refuse(_ message: String, hint: String?, _ result: SendResult, _ status: ExitStatus) -> ExitStatus {
        if command.global.isJSON {
            JSONLine.write(result)
        } else if command.fallback == nil || command.global.verbosity.isVerbose {
            Messages.error(message, hint: hint)
        }
        return fallBack(status)
    }

    private func fallBack(_ status: ExitStatus) -> ExitStatus {
        guard let fallback = command.fallback else { return status }
        if !command.global.isJSON { standardOutput.line(fallback) }
        return .ok
    }
}
