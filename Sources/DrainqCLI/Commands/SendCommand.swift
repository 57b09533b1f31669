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
        let sender = OperationSender(sending, queues: !arguments.neverQueues)
        let report = SendReport(arguments: arguments)
        var applying: [ExitStatus] = []
        var input = OperationInput(queue: queue, options: arguments.input, at: .now())
        try input.read { item in
            // While the command waits for the next operation, a signal ends the process as usual.
            Interruption.install()
            defer { Interruption.uninstall() }
            do {
                switch item {
                case .operation(let given): applying.append(report.answer(given, try sender(given.submission)))
                case .refused(_, let place, let reason):
                    applying.append(
                        report.refuse("line \(place.line) of '\(place.source)': \(reason)", nil, .dataInvalid))
                case .refusedFile(let path, let refusal):
                    applying.append(report.refuse("'\(path)': the body file \(refusal)", nil, refusal.status))
                }
            } catch let error as SpoolError {
                throw CommandFailure(error, hasBegun: !applying.isEmpty)
            }
            standardOutput.flush()
            counting.write()
        }
        return .first(of: applying)
    }
}

/// The report of one `send`: an answer for each operation on standard output, and its status.
private struct SendReport {
    let arguments: SendArguments

    func answer(_ given: OperationInput.Given, _ result: OperationSender.Result) -> ExitStatus {
        let id = given.operation.header.id
        switch result {
        case .duplicate(let state): return reportDuplicate(id, in: state)
        case .refused(let refusal):
            let reason = "line \(given.place.line) of '\(given.place.source)': \(refusal)"
            return refuse(reason, nil, refusal.isDefect ? .dataInvalid : .inputOutput)
        case .delivered(let event, let answer, let hasKept):
            let status = answerDelivered(answer, event, id)
            return hasKept ? status : .inputOutput
        case .failed(let event):
            return refuse(
                "'\(id)': \(event.record.cause)", SendResult(id, "failed", event.record, error: event.record.cause),
                .failed)
        case .postponed(let postponement, let isBroken, let queueing):
            return reportPostponed(
                id, postponement, queueing, isBroken ? .inputOutput : postponement.isHeld ? .held : .deferred)
        }
    }

    private func reportDuplicate(_ id: OperationID, in state: QueueState) -> ExitStatus {
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

    private func reportPostponed(
        _ id: OperationID, _ postponement: Sending.Postponement, _ queueing: OperationSender.Queueing,
        _ status: ExitStatus
    ) -> ExitStatus {
        let (last, reason) = (postponement.operation.attempts.last, postponement.reason)
        switch queueing {
        case .notAsked:
            return refuse("'\(id)': \(reason)", SendResult(id, "deferred", last, error: reason), status)
        case .impossible(let objection):
            return refuse("'\(id)': \(reason); it cannot be queued either: \(objection)", nil, .inputOutput)
        case .queued(let accepted):
            _ = reportEvicted(accepted)
            if arguments.isJSON {
                JSONLine.write(SendResult(id, "queued", last, error: reason))
            } else if !arguments.verbosity.isQuiet {
                Messages.notice("queued '\(id)': \(reason)")
            }
            return fallBack(status)
        }
    }

    /// Reports that there is no answer to print: an error, unless `--fallback` gives an answer.
    func refuse(_ reason: String, _ result: SendResult?, _ status: ExitStatus) -> ExitStatus {
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
