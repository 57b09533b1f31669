import Drain
import Policy

extension KnownDestinations {
    /// Returns an error that suggests the nearest known destination.
    func unknown(_ name: String) -> CommandFailure {
        let fitting = names.filter { $0.hasSuffix("://\(name)") }
        return CommandFailure(
            .usage, fitting.isEmpty ? "there is no destination '\(name)'" : "several destinations are at '\(name)'",
            hint: fitting.first.map { "name one with its scheme, such as '\($0)'" }
                ?? nearest(to: name, in: names).map { "did you mean '\($0)'?" }
                ?? "'\(pasted("status", "--json"))' lists all; name a new one in 'destinations' of drainq.json"
        )
    }

    /// Returns the destination that the user means: an origin in any spelling, or a name that `status` shows.
    func destination(named name: String) throws(CommandFailure) -> Destination {
        if let destination = table.destination(named: name) { return destination }
        throw unknown(name)
    }
}
