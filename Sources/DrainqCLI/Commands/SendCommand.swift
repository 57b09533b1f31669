import Drain
import Policy
import Spool

/// Performs `drainq send`: queues the input of `add` and attempts it at once. Prints the answer to a delivered
/// operation, leaves in the queue what failed temporarily, and does not keep what failed permanently.
func send(_ arguments: SendArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        var queue = try OpenQueue(arguments.queue, environment)
        try queue.applyTransport(of: environment)
        try queue.checkTrustOfConfiguration(arguments.queue)
        if let fallback = arguments.fallback, (try? JSONValue(Array(fallback.utf8))) == nil {
            throw CommandFailure(
                .usage, "'--fallback \(fallback)' is not JSON", hint: "JSON is, for example, '[]' or 'null'")
        }
        try arguments.checkOrder(by: queue.configuration)
        var counting = SendCounting(queue)
        defer { counting.end() }
        let options = OperationSender.Options(
            timeout: arguments.timeout, retryWithin: arguments.retryWithin, queues: !arguments.neverQueues)
        let sender = OperationSender(
            spool: queue.spool, configuration: queue.configuration, options: options, world: queue.world()
        ) { event in
            switch event {
            case .attempted(let attempt): counting.take(attempt)
            case .notKept(let id, let name, let reason):
                Messages.warning(
                    notKeptMessage(id, name, reason),
                    hint: "operations of the same key that send the value wait for it")
            case .inputOutputError(let error): Messages.warning(error.description, hint: error.hint)
            default: counting.take(event)
            }
        }
        let report = SendReport(arguments: arguments)
        var applying: [ExitStatus] = []
        var input = OperationInput(queue: queue, options: arguments.input, at: .now())
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
                case .refused(_, let place, let reason):
                    applying.append(
                        report.refuse("line \(place.line) of '\(place.source)': \(reason)", nil, .dataInvalid))
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
        case .delivered(let event, let answer, let isSettled):
            let status = answerDelivered(answer, event, id)
            return isSettled ? status : .inputOutput
        case .failed(let event):
            return refuse(
                "'\(id)': \(event.record.cause)", SendResult(id, "failed", event.record, error: event.record.cause),
                .failed)
        case .postponed(let postponement): return reportPostponed(id, postponement)
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

    private func reportPostponed(_ id: OperationID, _ postponement: OperationSender.Postponement) -> ExitStatus {
        let (last, reason) = (postponement.last, postponement.reason)
        let status: ExitStatus =
            switch postponement.cause {
            case .deferred: .deferred
            case .held: .held
            case .broken: .inputOutput
            }
        if arguments.neverQueues {
            return refuse("'\(id)': \(reason)", SendResult(id, "deferred", last, error: reason), status)
        }
        if let displaced = postponement.displaced { _ = reportEvicted(displaced) }
        if arguments.isJSON {
            JSONLine.write(SendResult(id, "queued", last, error: reason))
        } else if !arguments.verbosity.isQuiet {
            Messages.notice("queued '\(id)': \(reason)")
        }
        return fallBack(status)
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

    /// Reports that an operation could not be queued. Nothing was sent.
    func refuse(_ error: SpoolError) -> ExitStatus {
        if arguments.isJSON {
            JSONLine.write(SendResult(error: error.description))
        } else if arguments.fallback == nil || arguments.verbosity.isVerbose {
            Messages.error(error.description, hint: error.hint)
        }
        return fallBack(.inputOutput)
    }

    private func fallBack(_ status: ExitStatus) -> ExitStatus {
        guard let fallback = arguments.fallback else { return status }
        if !arguments.isJSON { standardOutput.line(fallback) }
        return .ok
    }
}

extension SendArguments {
    /// Throws if `--no-queue` is given for a type whose route has an order: an operation without a file has no place in
    /// it. If the input gives the types, each operation is checked by itself.
    fileprivate func checkOrder(by configuration: Configuration) throws(CommandFailure) {
        let given = input.type.map { TypeName($0.text) } ?? (input.isEnvelope ? nil : .default)
        guard neverQueues, let type = given, configuration.route(of: type).isSequential else { return }
        throw CommandFailure(
            .usage, "--no-queue cannot send type '\(type)': its route has an order, which needs the queue",
            hint: "leave out --no-queue, or use a type without 'ordering' and 'coalesce'")
    }
}
