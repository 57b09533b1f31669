import Drain
import Policy
import Spool

/// Performs `drainq hold`: holds operations, or a destination with its later ones, until a person releases them.
func hold(_ arguments: HoldArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(arguments.action.queue, environment)
        if arguments.action.choosesDestinationsAlone {
            let reason = arguments.reason ?? "held by a person"
            return try arguments.action.changeDestinations(queue, .heldByHand(reason: reason))
        }
        if arguments.reason != nil {
            throw CommandFailure(
                .usage, "'--reason' applies only to the hold of a destination",
                hint: "choose by --destination alone: drainq hold --destination D --reason TEXT")
        }
        return try arguments.action.perform(.hold, by: .hold, on: queue)
    }
}

/// Performs `drainq release`: ends holds; with `--all`, those of every destination and every operation.
func release(_ arguments: ReleaseArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(arguments.action.queue, environment)
        if arguments.action.choosesDestinationsAlone {
            return try arguments.action.changeDestinations(queue, .released) { $0.isOpen ? "is not held" : nil }
        }
        if arguments.action.isForAll {
            let closed = queue.destinationChange.closed(try queue.knownDestinations())
            try queue.record(
                .released, of: closed, isDryRun: arguments.action.isDryRun, isJSON: arguments.action.isJSON)
        }
        let known = try queue.knownDestinations()
        return try arguments.action.perform(.release, by: .release, on: queue) { known.endOfHold(of: $0.name) }
    }
}

/// Performs `drainq pause`, for the queue or for destinations.
func pause(_ arguments: PauseArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try setPaused(true, arguments, environment)
}

/// Performs `drainq resume`: ends the pause of the queue or of destinations.
func resume(_ arguments: PauseArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    try setPaused(false, arguments, environment)
}

private func setPaused(
    _ isPaused: Bool, _ arguments: PauseArguments, _ environment: [String: String]
) throws(CommandFailure) -> ExitStatus {
    try failing {
        let queue = try OpenQueue(arguments.queue, environment)
        if !arguments.destinations.isEmpty {
            return try queue.changeDestinations(
                isPaused ? .paused : .resumed, arguments.destinations, isQuiet: arguments.verbosity.isQuiet
            ) { state in
                state.isPaused == isPaused ? (isPaused ? "is paused already" : "is not paused") : nil
            }
        }
        try queue.spool.setPaused(isPaused)
        queue.log(byOperator: [LogEvent(isPaused ? .paused : .resumed, at: .now())])
        if !arguments.verbosity.isQuiet {
            Messages.notice(
                isPaused
                    ? "the queue is paused: runs make no attempts"
                    : "the queue is resumed: the next run attempts due operations")
            for (name, state) in try queue.knownDestinations().states.sorted(by: { $0.key < $1.key })
            where !isPaused && state.isPaused {
                Messages.notice(
                    "the destination '\(name)' is still paused; '\(pasted("resume", "--destination", name))' ends its pause"
                )
            }
        }
        return .ok
    }
}

// MARK: - Operations

extension KnownDestinations {
    /// Returns the command that ends the hold of an operation with its destination, or behind a failed operation; `nil`
    /// if neither holds it.
    fileprivate func endOfHold(of name: EntryName) -> String? {
        let destination = table.destination(of: name)
        if isHeld(destination) { return pasted("release", "--destination", destination.name) }
        return failedHolder(of: name).map { pasted("retry", $0.description) }
    }
}

// MARK: - Destinations

extension ActionOptions {
    /// Whether `--destination` is the only choice: the command then changes the destination and not its operations.
    fileprivate var choosesDestinationsAlone: Bool {
        !filter.destinations.isEmpty && ids.isEmpty && filter.states.isEmpty && !filter.namesOperations && limit == nil
            && !isForAll
    }

    /// Records the event for the destinations that the command line names.
    fileprivate func changeDestinations(
        _ queue: OpenQueue, _ event: DestinationEvent, isAlready: (DestinationState) -> String? = { _ in nil }
    ) throws -> ExitStatus {
        try queue.changeDestinations(
            event, filter.destinations, isQuiet: verbosity.isQuiet, isDryRun: isDryRun, isJSON: isJSON,
            isAlready: isAlready)
    }
}

extension OpenQueue {
    fileprivate var destinationChange: DestinationChange {
        DestinationChange(in: spool, configuration, clock: .ofProcess)
    }

    /// Records the event for the destinations. `isAlready` returns a notice if the event changes nothing, else `nil`.
    fileprivate func changeDestinations(
        _ event: DestinationEvent, _ named: [String], isQuiet: Bool, isDryRun: Bool = false, isJSON: Bool = false,
        isAlready: (DestinationState) -> String?
    ) throws -> ExitStatus {
        let known = try knownDestinations()
        let names = try named.map { text in
            let destination = try known.destination(named: text)
            guard try destinationChange.isKnown(destination, known) else { throw known.unknown(text) }
            return destination.name
        }
        for name in names where !isQuiet {
            if let words = isAlready(known.states[name] ?? DestinationState()) { Messages.notice("'\(name)' \(words)") }
        }
        try record(event, of: names, isDryRun: isDryRun, isJSON: isJSON)
        return .ok
    }

    fileprivate func record(
        _ event: DestinationEvent, of names: [String], isDryRun: Bool, isJSON: Bool
    ) throws {
        if !isDryRun { log(byOperator: try destinationChange.record(event, of: names)) }
        for name in names {
            if isJSON {
                JSONLine.write(ActionResult(destination: name))
            } else {
                standardOutput.line(escapedForDisplay(name))
            }
        }
    }
}
