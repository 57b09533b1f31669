import Policy

/// What the feed tells, and which hooks are called: each change once, at its destination, in its order.
extension Contract {
    /// Of one destination the feed tells a beginning and an end in turn: `down` and `up`, `held` and `released`. `up`
    /// needs a delivery since `down`.
    static func feed(_ record: Record) -> [Breach] {
        var standing: [Feed: Int] = [:]
        let releases = Releases(record)
        var breaches: [Breach] = []
        for (index, event) in record.events.enumerated() {
            guard case .reports(let report) = event.what, let (feed, begins) = Feed.of(report) else { continue }
            record.judging.meets(.request(index))
            defer { standing[feed] = begins ? index : nil }
            // Who dies after its write tells nothing; two runs may tell in another order than they wrote.
            let since = standing[feed] ?? 0
            let isShared = record.isShaken(from: since, to: index) || record.isShared(at: index)
            if isShared || releases.any(of: feed.host, from: since, to: index) {
                record.judging.excuses(.request(index))
                continue
            }
            if begins, let before = standing[feed] {
                breaches.append(Breach(.feed, [before, index], "\(feed) was told twice, and its end not"))
            } else if !begins, standing[feed] == nil {
                breaches.append(Breach(.feed, [index], "the end of \(feed) was told, and its beginning not"))
            }
            guard case .tells(let told) = report, told.kind == .up, let before = standing[feed] else { continue }
            let isDelivered = record.exchanges.contains {
                $0.request.host == told.host && $0.received < index && ($0.takenIn ?? $0.learned ?? .max) > before
                    && $0.hasDelivered
            }
            if !isDelivered {
                breaches.append(Breach(.feed, [before, index], "\(told.host) was told to be up, and took nothing"))
            }
        }
        return breaches
    }

    /// A hook is called once for a beginning and once for its end. The hook of an outage is called if a destination has
    /// taken nothing for the time of `downAfter`, and not before.
    static func calls(_ record: Record) -> [Breach] {
        var standing: [Feed: Int] = [:]
        var breaches: [Breach] = []
        for (index, event) in record.events.enumerated() {
            guard case .calls(let name, let host) = event.what else { continue }
            let feed = Feed(host: host, isHold: name == "held" || name == "released")
            let begins = name == "held" || name == "down"
            record.judging.meets(.request(index))
            defer { standing[feed] = begins ? index : nil }
            if begins, let before = standing[feed] {
                breaches.append(Breach(.calls, [before, index], "the hook '\(name)' was called twice for \(host)"))
            } else if !begins, standing[feed] == nil {
                breaches.append(
                    Breach(.calls, [index], "the hook '\(name)' was called for \(host) without its opposite"))
            }
            guard name == "down" else { continue }
            let delivery = record.exchanges.last {
                $0.request.host == host && ($0.learned ?? .max) < index && $0.hasDelivered
            }?.learned
            if let delivery, record.span(delivery, index) < .seconds(50), !record.isShaken(from: 0, to: index),
                !record.isShared(at: index), record.clocks.areRight
            {
                breaches.append(
                    Breach(
                        .calls, [delivery, index],
                        "the hook 'down' was called for \(host), which just took an operation"))
            }
        }
        return breaches
    }
}

/// What can begin and end at a destination.
private struct Feed: Hashable, CustomStringConvertible {
    var host: String
    var isHold: Bool

    var description: String { isHold ? "the hold of \(host)" : "the outage of \(host)" }

    static func of(_ report: Report) -> (Feed, begins: Bool)? {
        switch report {
        case .destinationHeld(let name): (Feed(host: host(of: name), isHold: true), true)
        case .holdEnded(let name): (Feed(host: host(of: name), isHold: true), false)
        case .tells(let told): (Feed(host: told.host, isHold: false), told.kind == .down)
        default: nil
        }
    }

    private static func host(of destination: String) -> String {
        destination.split(separator: "/").last.map(String.init) ?? destination
    }
}

extension Record {
    /// Whether a process died, met an error or lost power between two events, or a command changed a destination: the
    /// feed may lack what was written then.
    fileprivate func isShaken(from first: Int, to last: Int) -> Bool {
        kills.contains { $0 > first && $0 < last }
            || courses.values.contains { course in course.refusals.contains { $0 > first && $0 < last } }
            || events[first..<last].contains { event in
                guard case .commands(let command) = event.what else { return false }
                return [.holdDestination, .releaseDestination, .pause, .resume].contains(command.verb)
            } || renewals.contains { $0 > first && $0 < last }
    }

    /// Whether several processes may write what they know of destinations at an event.
    fileprivate func isShared(at index: Int) -> Bool {
        courses.values.count { $0.began < index && ($0.ended ?? .max) >= index && !$0.isAdder } > 1
    }
}
