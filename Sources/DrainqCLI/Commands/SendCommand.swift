import Drain
import Policy
import Spool

/// Performs `drainq send`: attempts the input of `add` at once. Prints the answer to a delivered operation, queues an
/// operation that failed temporarily, and does not keep one that failed permanently.
func send(_ arguments: SendArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        var queue = try OpenQueue(arguments.queue, environment)
        try queue.applyTransport(of: environment)
        try queue.checkTrustOfConfiguration(arguments.queue)
        if let fallback = arguments.fallback, (try? JSONValue(Array(fallback.utf8))) == nil {
            throw CommandFailure(
                .usage, "'--fallback \(fallback)' is not JSON", hint: "JSON is, for example, '[]' or 'null'")
        }
        var counting = SendCounting(queue.spool)
        defer { counting.end() }
        let sending = Sending(
            spool: queue.spool, configuration: queue.configuration,
            options: Sending.Options(
                timeout: arguments.timeout, retryWithin: arguments.retryWithin),
            world: queue.world(), attempted: { counting.take($0) },
            notKept: {
                Messages.warning(
                    notKeptMessage($0, $1, $2), hint: "operations of the same key that send the value wait for it")
            }
        ) { Messages.warning($0.description, hint: $0.hint) }
        var applying: [ExitStatus] = []
        var input = OperationInput(queue: queue, options: arguments.input, at: .now())
        try input.read { item in
            // While the command waits for the next operation, a signal ends the process as usual.
            Interruption.install()
            defer { Interruption.uninstall() }
            do {
                applying.append(try OperationSender(queue: queue, arguments: arguments).take(item, sending))
            } catch let error as SpoolError {
                throw CommandFailure(error, hasBegun: !applying.isEmpty)
            }
            standardOutput.flush()
            counting.write()
        }
        return .first(of: applying)
    }
}

/// The treatment of one operation: sends it, queues it if needed, and prints the result.
private struct OperationSender {
    let queue: OpenQueue
    let arguments: SendArguments

    func take(_ item: OperationInput.Item, _ sending: Sending) throws -> ExitStatus {
        switch item {
        case .operation(let given): return try send(given, sending)
        case .refused(_, let place, let reason):
            return refuse("line \(place.line) of '\(place.source)': \(reason)", nil, .dataInvalid)
        case .refusedFile(let path, let refusal):
            return refuse("'\(path)': the body file \(refusal)", nil, refusal.status)
        }
    }

    /// Attempts an operation that the queue would accept; refuses what `add` would refuse. Reserves an id that the user
    /// chose until the operation is delivered, failed or in the queue.
    private func send(_ given: OperationInput.Given, _ sending: Sending) throws -> ExitStatus {
        var (reservation, existing): (Reservation?, QueueState?)
        if given.hasOwnID {
            (reservation, existing) = try queue.spool.reserve(given.operation.header.id)
            if let existing { return reportDuplicate(given, in: existing) }
        }
        defer { reservation?.release() }
        let rule = AdmissionRule(queue.configuration)
        var submission = given.submission
        try rule.complete(&submission, in: queue.spool)
        if let refusal = try rule.objection(to: submission.operation, in: queue.spool) {
            let reason = "line \(given.place.line) of '\(given.place.source)': \(refusal)"
            return refuse(reason, nil, refusal.isDefect ? .dataInvalid : .inputOutput)
        }
        return answer(given, try sending(submission.operation))
    }

    /// Reports that the operation is in the queue already. Sends nothing.
    private func reportDuplicate(_ given: OperationInput.Given, in state: QueueState) -> ExitStatus {
        let id = given.operation.header.id
        let waits = QueueState.waiting.contains(state)
        let reason = "it is in the queue already (\(state.word))"
        if !waits { return refuse("'\(id)': \(reason)", SendResult(id, "failed", nil, error: reason), .failed) }
        if arguments.isJSON {
            JSONLine.write(SendResult(id, "queued", nil, error: reason))
        } else if !arguments.verbosity.isQuiet {
            Messages.notice("'\(id)' is in the queue already (\(state.word)): not sent")
        }
        return fallBack(.deferred)
    }

    private func answer(_ given: OperationInput.Given, _ result: Sending.Result) -> ExitStatus {
        let id = given.operation.header.id
        switch result {
        case .delivered(let event, let answer, let hasKept):
            let status = answerDelivered(answer, event, id)
            return hasKept ? status : .inputOutput
        case .failed(let event):
            return refuse(
                "'\(id)': \(event.record.cause)", SendResult(id, "failed", event.record, error: event.record.cause),
                .failed)
        case .postponed(let postponement): return postpone(postponement, given, postponement.isHeld ? .held : .deferred)
        case .broken(let postponement): return postpone(postponement, given, .inputOutput)
        }
    }

    private func answerDelivered(_ answer: [UInt8], _ event: AttemptEvent, _ id: OperationID) -> ExitStatus {
        guard let pointer = arguments.select else {
            return print(answer, event, id)
        }
        if let document = try? JSONDocument(answer: answer), let range = document.range(at: pointer) {
            return print(answer[range] + (arguments.isJSON ? [] : [UInt8(ascii: "\n")]), event, id)
        }
        let reason = "it was delivered, but its answer has no value at '\(pointer)'"
        return refuse("'\(id)': \(reason)", SendResult(id, "delivered", event.record, error: reason), .dataInvalid)
    }

    private func print(_ answer: some Collection<UInt8>, _ event: AttemptEvent, _ id: OperationID) -> ExitStatus {
        if arguments.isJSON {
            JSONLine.write(SendResult(id, "delivered", event.record, answer: Array(answer)))
        } else {
            standardOutput.write(bytes: answer)
        }
        return .ok
    }

    /// Queues the operation if the options allow it. Reports the result in either case.
    private func postpone(
        _ postponement: Sending.Postponement, _ given: OperationInput.Given, _ status: ExitStatus
    ) -> ExitStatus {
        defer { postponement.turn?.end() }
        let (operation, reason) = (postponement.operation, postponement.reason)
        let id = given.operation.header.id
        if arguments.neverQueues {
            return refuse(
                "'\(id)': \(reason)", SendResult(id, "deferred", operation.attempts.last, error: reason), status)
        }
        if let objection = enqueue(postponement, given.hasOwnID) {
            return refuse("'\(id)': \(reason); it cannot be queued either: \(objection)", nil, .inputOutput)
        }
        if arguments.isJSON {
            JSONLine.write(SendResult(id, "queued", operation.attempts.last, error: reason))
        } else if !arguments.verbosity.isQuiet {
            Messages.notice("queued '\(id)': \(reason)")
        }
        return fallBack(status)
    }

    /// Puts the operation into the queue. Returns the reason if that fails, `nil` once the operation is safe.
    private func enqueue(_ postponement: Sending.Postponement, _ hasOwnID: Bool) -> String? {
        let accepted: Accepted
        do throws(SpoolError) {
            let submission = Submission(
                postponement.operation, as: postponement.name, hasOwnID: hasOwnID, at: .now(), isDated: true)
            var control = AdmissionControl(queue.configuration)
            accepted = try queue.spool.accept([submission], within: &control)
        } catch {
            return "\(error)"
        }
        _ = reportEvicted(accepted)
        switch accepted.results.first {
        case .rejected(let limit): return "\(limit)"
        case .refused(let reason): return reason
        case .accepted, .duplicate, .inFlight, .notAttempted, nil: return nil
        }
    }

    /// Reports that there is no answer to print: an error, unless `--fallback` gives an answer.
    private func refuse(_ reason: String, _ result: SendResult?, _ status: ExitStatus) -> ExitStatus {
        if arguments.isJSON {
            JSONLine.write(result ?? SendResult(error: reason))
        } else if arguments.fallback == nil || arguments.verbosity.isVerbose {
            Messages.error(
                result?.outcome == "delivered" ? "cannot print the answer to \(reason)" : "cannot send \(reason)",
                hint: status == .held ? pasted("status") : nil)
        }
        return fallBack(status)
    }

    private func fallBack(_ status: ExitStatus) -> ExitStatus {
        guard let fallback = arguments.fallback else { return status }
        if !arguments.isJSON { standardOutput.line(fallback) }
        return .ok
    }

}
