import Policy

/// How far the wall clocks of the hosts are ahead of the true time.
struct Clocks {
    /// The steps of each host, in order. All clocks are right from the calm end on.
    private var steps: [Int: [(at: Int, ahead: Duration)]] = [:]
    private var calm = Int.max
    private var hosts: Set<Int> = [0]
    private let events: [Event]

    init(_ history: History) {
        events = history.events
        hosts.formUnion(history.hosts.values)
        for (index, event) in events.enumerated() {
            switch event.what {
            case .clockStepped(let host, let by):
                let ahead = steps[host]?.last?.ahead ?? .zero
                steps[host, default: []].append((index, ahead + by))
            case .calm: calm = index
            default: break
            }
        }
    }

    /// Whether every clock had the true time.
    var areRight: Bool { steps.isEmpty }

    /// Whether any clock was ever ahead of the true time.
    var wereAhead: Bool { steps.values.joined().contains { $0.ahead > .zero } }

    private func ahead(of host: Int, at index: Int) -> Duration {
        index >= calm ? .zero : steps[host]?.last { $0.at <= index }?.ahead ?? .zero
    }

    /// Whether two clocks differ, or one steps, at any time between two events.
    func differ(from first: Int, to last: Int) -> Bool {
        if steps.isEmpty { return false }
        let base = ahead(of: 0, at: first)
        return hosts.contains { host in
            ahead(of: host, at: first) != base || ahead(of: host, at: last) != base
                || steps[host]?.contains { $0.at > first && $0.at <= last && $0.at < calm && $0.ahead != base } ?? false
        }
    }

    /// The least and the greatest lead of a host's clock from `span` before an event on.
    func lead(of host: Int, at index: Int, within span: Duration) -> ClosedRange<Duration> {
        guard let steps = steps[host] else { return .zero ... .zero }
        let since = events[index].time - span
        let recent = steps.filter { $0.at <= index && events[$0.at].time >= since }.map(\.ahead)
        let before = steps.last { events[$0.at].time < since }?.ahead ?? .zero
        // The clock is right from the calm end on.
        let isRecentlyCalm = calm <= index && events[calm].time < since
        let all = isRecentlyCalm ? [.zero] : recent + [before, ahead(of: host, at: index)]
        return all.min()!...all.max()!
    }
}

extension Record {
    /// Returns the bounds of the wall clock of a process at an event, and shortly before it.
    func wall(of process: ProcessID, at index: Int, within span: Duration = .zero) -> ClosedRange<Timestamp> {
        let lead = clocks.lead(of: history.hosts[process] ?? 0, at: index, within: span)
        return time(at: index) + lead.lowerBound...time(at: index) + lead.upperBound
    }
}
