import Drain
import Policy

/// Destinations that are in trouble for one cause: one repair helps all of them.
struct TroubleGroup {
    let state: DestinationHealth.State
    let cause: Cause
    /// The destinations, by name.
    let rows: [QueueCount.DestinationCount]
    /// The earliest beginning.
    let since: Timestamp?
    private let isByHand: Bool

    /// Returns the troubles of a queue by cause: what needs a person first, then those for which most wait.
    static func all(of status: QueueStatus) -> [TroubleGroup] {
        let rows = Dictionary(status.destinations.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var groups: [String: [DestinationHealth]] = [:]
        for trouble in status.health.troubles {
            let isByHand = rows[trouble.name]?.state.hold?.isByHand == true
            let key = "\(trouble.state) \(isByHand) \(trouble.cause?.group ?? "")"
            groups[key, default: []].append(trouble)
        }
        return groups.values.map { troubles in
            let sorted = troubles.sorted { $0.name < $1.name }
            return TroubleGroup(
                state: sorted[0].state, cause: sorted[0].cause ?? Cause(), rows: sorted.compactMap { rows[$0.name] },
                since: sorted.compactMap(\.since).min(),
                isByHand: rows[sorted[0].name]?.state.hold?.isByHand == true)
        }.sorted { left, right in
            let (first, second) = (left.state == .held ? 0 : 1, right.state == .held ? 0 : 1)
            return (first, right.waiting, left.rows[0].name) < (second, left.waiting, right.rows[0].name)
        }
    }

    var waiting: Int { rows.reduce(0) { $0 + $1.waiting } }

    var oldest: Timestamp? { rows.compactMap(\.oldest).min() }

    /// The next probe of a hold, or the next attempt.
    var next: Timestamp? {
        if state != .held { return rows.compactMap(\.next).min() }
        return rows.compactMap { row in
            if case .blocked(let block) = row.availability { block.until } else { nil }
        }.min()
    }

    /// The options that choose exactly these destinations for `release`, `hold` and the filters.
    var options: [String] {
        if rows.count > 3, !isByHand, let status = cause.status { return ["--status", "\(status)"] }
        return rows.flatMap { ["--destination", $0.name] }
    }

    /// The command that ends the hold of all of them, or that sends to them before their time; `nil` if none does in
    /// one step. `--now` sends no parked operation, and does not end the time that a server asked for.
    var command: String? {
        if state == .held { return pasted(["release"] + options) }
        if rows.contains(where: { $0.end(of: .retryAfter) != nil }) { return nil }
        let parked = rows.flatMap { $0.state.parking.entries }.filter { !$0.isWitnessed }
        if !parked.isEmpty { return parked.count > 3 ? nil : pasted(["run"] + parked.map(\.id.description)) }
        return pasted(["run", "--now"] + (rows.count > 3 ? [] : rows.flatMap { ["--destination", $0.name] }))
    }
}
