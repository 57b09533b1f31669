import Policy
import Spool

/// The newest value in the queue of each key whose dead letters an operator wants to retry, on routes that coalesce. A
/// newer value that waits or is in flight supersedes the dead letter.
struct NewerValues {
    private let configuration: Configuration
    private let destinations: DestinationTable
    private var newest: [SequenceKey: (createdAt: Timestamp, id: OperationID)] = [:]

    /// Lists the queue if one of the entries is such a dead letter. The caller has the names lock, and keeps it until
    /// it has moved the entries: a run that sends a newer value has listed before, or will list the moved ones.
    init(than entries: some Sequence<Entry>, in spool: SpoolDirectory, _ configuration: Configuration)
        throws(SpoolError)
    {
        self.configuration = configuration
        let destinations = DestinationTable(configuration)
        self.destinations = destinations
        let asked = Set(
            entries.filter { $0.state == .failed }.compactMap {
                configuration.coalescingGroup(of: $0.name, destinations)
            })
        if asked.isEmpty { return }
        var newest: [SequenceKey: (createdAt: Timestamp, id: OperationID)] = [:]
        try spool.forEachStandingName { listed, _ in
            guard listed.keyDigest != nil else { return }
            let name = EntryName(listed)
            guard let group = configuration.coalescingGroup(of: name, destinations), asked.contains(group) else {
                return
            }
            let age = (createdAt: name.createdAt, id: name.id)
            if newest[group].map({ $0 < age }) ?? true { newest[group] = age }
        }
        self.newest = newest
    }

    /// Returns the newer value of the key of a dead letter; `nil` if there is none.
    func newer(than entry: Entry) -> OperationID? {
        guard entry.state == .failed, let group = configuration.coalescingGroup(of: entry.name, destinations),
            let newest = newest[group],
            (entry.name.createdAt, entry.name.id) < newest
        else { return nil }
        return newest.id
    }
}
