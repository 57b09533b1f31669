import Drain
import Policy
import Spool

extension OperationFilter {
    /// Makes the filter of `options`. Without `--state` it chooses operations in `states`.
    init(
        _ options: FilterOptions, states: Set<ShownState>, of known: KnownDestinations, now: Timestamp
    ) throws(CommandFailure) {
        self.init(states: options.states.isEmpty ? states : Set(options.states))
        types = Set(options.types)
        for text in options.destinations { destinations.insert(try known.destination(named: text).digest) }
        keyDigest = options.key.map { Digest(of: $0) }
        since = options.since?.timestamp(now: now)
        before = options.before?.timestamp(now: now)
        answers = options.answers
    }
}

/// Tells of files in `new/` that no filter can choose yet.
func reportUnread(_ count: Int) {
    if count == 0 { return }
    Messages.notice("\(InWords.are(count, "file in 'new'", "files in 'new'")) not read yet: the next run reads them")
}

extension OpenQueue {
    /// Tells that no operation passes the filter, and which of its names neither the configuration nor the queue has. A
    /// type needs no route, so that a filter for an absent one is no error.
    func reportNoMatch(_ filter: FilterOptions, _ known: KnownDestinations) throws(SpoolError) {
        let unknown = try unknownNames(filter.types, filter.destinations, known)
        for (text, hint) in unknown { Messages.warning(text, hint: hint) }
        // A job of cron that finds nothing to do has no news.
        if unknown.isEmpty, Terminal.isOnStandardError { Messages.notice("no operation matches") }
    }

    /// Returns a message, and the nearest name as a hint, for each type and destination that nothing has.
    func unknownNames(
        _ types: [TypeName], _ destinations: [String], _ known: KnownDestinations
    ) throws(SpoolError) -> [(text: String, hint: String?)] {
        if types.isEmpty, destinations.isEmpty { return [] }
        let names = try spool.entries(OperationFilter(states: Set(ShownState.allCases)), known).entries.map(\.name)
        let given = [
            ("no operation and no route has the type", types.map(\.description), try typeNames(names)),
            (
                "no operation and no route goes to",
                destinations.compactMap { known.table.destination(named: $0)?.name },
                known.names + Set(names.map { known.table.destination(of: $0).name })
            ),
        ]
        return given.flatMap { text, asked, all in
            asked.filter { !all.contains($0) }.map { name in
                ("\(text) '\(name)'", nearest(to: name, in: all).map { "did you mean '\($0)'?" })
            }
        }
    }

    /// Returns the types of the configuration and of the queue, by name.
    private func typeNames(_ names: [EntryName]) throws(SpoolError) -> [String] {
        let quarantined = try spool.quarantined().compactMap(\.type)
        return Set([.default] + configuration.routes.keys + names.map(\.type) + quarantined).map(\.description).sorted()
    }

    func view(_ entry: Entry, _ known: KnownDestinations) -> EntryView {
        let destination = known.table.destination(of: entry.name)
        return EntryView(
            entry: entry, destination: destination.name, route: configuration.route(of: entry.name.type),
            isHeldWithOthers: known.holds(entry.name))
    }
}
