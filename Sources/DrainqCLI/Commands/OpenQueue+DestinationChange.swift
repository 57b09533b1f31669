import Drain
import Policy

extension ActionOptions {
    /// Whether `--destination` is the only choice: the command then changes the destination and not its operations.
    var choosesDestinationsAlone: Bool {
        !filter.destinations.isEmpty && ids.isEmpty && filter.states.isEmpty && !filter.namesOperations && limit == nil
            && !isForAll
    }
}

extension OpenQueue {
    var destinationChange: DestinationChange { DestinationChange(in: spool, configuration, clock: .ofProcess) }

    /// Records the event for the destinations. `isAlready` returns a notice if the event changes nothing, else `nil`.
    func changeDestinations(
        _ event: DestinationEvent, _ named: [String], _ global: GlobalOptions, isDryRun: Bool = false,
        isAlready: (DestinationState) -> String? = { _ in nil }
    ) throws -> ExitStatus {
        let known = try knownDestinations()
        let names = try named.map { text in
            let destination = try known.destination(named: text)
            guard try destinationChange.isKnown(destination, known) else { throw known.unknown(text) }
            return destination.name
        }
        for name in names where !global.verbosity.isQuiet {
            if let words = isAlready(known.states[name] ?? DestinationState()) { Messages.notice("'\(name)' \(words)") }
        }
        try record(event, of: names, isDryRun: isDryRun, isJSON: global.isJSON)
        return .ok
    }

    /// Records the event unless it is a dry run, and prints the name of each destination.
    func record(_ event: DestinationEvent, of names: [String], isDryRun: Bool, isJSON: Bool) throws {
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
