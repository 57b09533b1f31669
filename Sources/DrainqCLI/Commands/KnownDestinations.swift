import Policy

/// What a command knows of destinations: which there are, which entry goes where, and what runs remember of each.
struct KnownDestinations {
    let table: DestinationTable
    /// By name; none for a destination of which there is nothing to remember.
    let states: [String: DestinationState]
    /// Since when a run has found this machine without a network.
    let offline: DestinationLedger.Offline?
    /// The operations that failed and hold those behind them.
    var failed = FailedSequences()
    /// Those that messages may propose.
    private let names: [String]
    private let configuration: Configuration

    init(_ configuration: Configuration, _ ledger: DestinationLedger) {
        self.configuration = configuration
        states = ledger.destinations
        offline = ledger.offline
        let table = DestinationTable(configuration, knowing: Array(states.keys))
        self.table = table
        let routed = ([TypeName.default] + configuration.routes.keys).map { type in
            table.destination(of: EntryName(createdAt: Timestamp(microseconds: 0), id: OperationID("0")!, type: type))
        }
        names = Set(routed.map(\.name)).union(states.keys).union(configuration.destinations.keys).sorted()
    }

    func isHeld(_ destination: Destination) -> Bool {
        states[destination.name]?.hold != nil
    }

    /// Whether an operation that waits is held, if not by itself: with its destination, or behind one that failed.
    func holds(_ name: EntryName) -> Bool {
        isHeld(table.destination(of: name)) || failedHolder(of: name) != nil
    }

    /// The failed operation that an operation is held behind; `nil` where it is held behind none.
    func failedHolder(of name: EntryName) -> OperationID? {
        failed.isEmpty
            ? nil
            : failed.holder(of: name, of: configuration.route(of: name.type), to: table.destination(of: name))
    }

    func availability(of destination: Destination, at now: Timestamp) -> Availability {
        (states[destination.name] ?? DestinationState()).availability(table.settings(of: destination), at: now)
    }

    /// Whether a route, the configuration or a run has named the destination.
    func isKnown(_ destination: Destination) -> Bool { names.contains(destination.name) }

    /// An error that names the nearest destination there is.
    func unknown(_ name: String) -> CommandFailure {
        CommandFailure(
            .usage, "there is no destination '\(name)'",
            hint: nearest(to: name, in: names).map { "did you mean '\($0)'?" }
                ?? "'\(pasted("status", "--json"))' lists all; name a new one in 'destinations' of drainq.json"
        )
    }

    /// The operations that wait for a witness, and until when.
    func parked(at now: Timestamp) -> [Digest: [OperationID: Timestamp]] {
        var parked: [Digest: [OperationID: Timestamp]] = [:]
        for (name, state) in states where !state.parking.isEmpty {
            let destination = Destination(named: name)
            parked[destination.digest] = state.parking.waits(table.settings(of: destination), at: now)
        }
        return parked
    }

    /// The destination that a person means: an origin in any spelling, or a name that status shows.
    func destination(named name: String) throws(CommandFailure) -> Destination {
        if let destination = table.destination(named: name) { return destination }
        throw unknown(name)
    }
}
