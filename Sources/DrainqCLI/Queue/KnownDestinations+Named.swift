import Drain
import Policy

extension KnownDestinations {
    /// An error that names the nearest destination there is.
    func unknown(_ name: String) -> CommandFailure {
        CommandFailure(
            .usage, "there is no destination '\(name)'",
            hint: nearest(to: name, in: names).map { "did you mean '\($0)'?" }
                ?? "'\(pasted("status", "--json"))' lists all; name a new one in 'destinations' of drainq.json"
        )
    }

    /// The destination that a person means: an origin in any spelling, or a name that status shows.
    func destination(named name: String) throws(CommandFailure) -> Destination {
        if let destination = table.destination(named: name) { return destination }
        throw unknown(name)
    }
}
