package import Policy
package import Spool

/// The destinations of a queue: their names, the entries for each, and the state recorded by runs.
package struct KnownDestinations {
    package let table: DestinationTable
    /// The stored states by destination name. A destination without a state has no entry.
    package let states: [String: DestinationState]
    /// Since when this machine has no network, as a run has found; `nil` if there is a network.
    package let offline: DestinationLedger.Offline?
    /// The files of `state/` that cannot be read, whose knowledge is missing here.
    package private(set) var unreadable: [String] = []
    /// The failed operations, of routes that hold the operations behind a dead letter.
    package private(set) var failed = FailedSequences()
    /// Why the configuration's conditions allow no attempts now: to other machines, and to this one. Whoever shows the
    /// queue looks at the machine; a run looks itself.
    package var refusals: (elsewhere: String?, here: String?) = (nil, nil)
    /// The lasting absence of a network, found by a run; `nil` if there is a network.
    package var absence: NetworkAbsence?
    /// The names to suggest in messages.
    package let names: [String]
    private let configuration: Configuration

    package init(_ configuration: Configuration, _ ledger: DestinationLedger) {
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

    /// Reads the destinations' states, and the names of the failed operations that hold others.
    package init(of spool: SpoolDirectory, _ configuration: Configuration, at now: Timestamp) throws(SpoolError) {
        let file = DestinationsFile(spool: spool)
        let content = try file.read(knowing: nil)
        self.init(configuration, content.ledger)
        if content.isDamaged { unreadable = ["destinations.json"] }
        var view = QueueView(spool, configuration, table, at: now)
        failed = try view.failedSequences()
    }

    /// Reads the states, and takes a newer drainq's file for an unreadable one: the caller only shows what is known.
    package init(showing spool: SpoolDirectory, _ configuration: Configuration, at now: Timestamp) throws(SpoolError) {
        do throws(SpoolError) {
            try self.init(of: spool, configuration, at: now)
        } catch let error where error.isOfNewerFormat {
            self.init(configuration, DestinationLedger())
            unreadable = ["destinations.json"]
            var view = QueueView(spool, configuration, table, at: now)
            failed = try view.failedSequences()
        }
    }

    package func isHeld(_ destination: Destination) -> Bool { states[destination.name]?.hold != nil }

    /// Whether a waiting operation is held, other than by itself: with its destination, or behind a failed operation.
    package func holds(_ name: EntryName) -> Bool {
        isHeld(table.destination(of: name)) || failedHolder(of: name) != nil
    }

    /// Returns the failed operation that holds this operation; `nil` if there is none.
    package func failedHolder(of name: EntryName) -> OperationID? {
        failed.isEmpty
            ? nil
            : failed.holder(of: name, of: configuration.route(of: name.type).order, to: table.destination(of: name))
    }

    package func availability(of destination: Destination, at now: Timestamp) -> Availability {
        (states[destination.name] ?? DestinationState()).availability(table.settings(of: destination), at: now)
    }

    /// Returns why this machine sends nothing to the destination now; `nil` if it sends.
    func refusal(of destination: Destination) -> String? {
        let settings = table.settings(of: destination)
        return (destination.isLocal(settings) ? refusals.here : refusals.elsewhere)
            ?? (destination.isReachedLocally(settings) ? nil : absence?.description)
    }

    /// Whether a route, the configuration or a run has named the destination.
    package func isKnown(_ destination: Destination) -> Bool { names.contains(destination.name) }

    /// Returns what operations wait for by the states of their destinations.
    func waits(at now: Timestamp) -> [Digest: DestinationWaits] {
        var waits: [Digest: DestinationWaits] = [:]
        for (name, state) in states where !state.parking.isEmpty || state.notBefore != nil {
            let destination = Destination(named: name)
            waits[destination.digest] = state.waits(table.settings(of: destination), at: now)
        }
        return waits
    }
}
