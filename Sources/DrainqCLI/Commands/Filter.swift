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
    Messages.notice(
        "\(InWords.are(count, "file in 'new'", "files in 'new'")) not read yet: the next run reads them")
}

extension OpenQueue {
    func view(_ entry: Entry, _ known: KnownDestinations) -> EntryView {
        let destination = known.table.destination(of: entry.name)
        return EntryView(
            entry: entry, destination: destination.name, route: configuration.route(of: entry.name.type),
            isHeldWithOthers: known.holds(entry.name))
    }
}
