/// The times of the last calls of hooks, and the reports still owed to them: `state/hooks.json`.
///
/// ```
/// { "version": 1, "entries": { "held https://api.example.com": { "told": time, "owed": { … } } },
///   "standing": { "down": [destination] } }
/// ```
/// A report that comes sooner after a call than `atMostEvery` allows is kept for a call of a later run. A report undone
/// meanwhile, as by the end of a hold, is dropped. Losing the file loses owed reports and costs a call too many.
package struct HookLedger: Hashable, Sendable {
    package static let version = 1
    /// The upper bound of entries. Operations with their own urls may have any number of destinations.
    static let mostRemembered = 1000

    struct Entry: Hashable, Codable {
        var told: Timestamp?
        var owed: HookNews?
    }

    private var entries: [String: Entry] = [:]
    /// The destinations of which runs have reported `down` or `backlog`, and not the end, by the word of the event.
    /// Sorted.
    private var standing: [String: [String]] = [:]

    package init() {}

    /// Records the destinations that a condition applies to, with its reasons. Returns the reports of destinations to
    /// which the condition did not apply before, and of destinations to which it no longer does. Takes and returns
    /// nothing that no hook takes.
    package mutating func changes(
        of event: Hooks.Event, to present: [String: String], hooks: Hooks
    ) -> [HookNews] {
        guard hooks.takes(event), let end = event.opposite else {
            standing[event.rawValue] = nil
            return []
        }
        let before = Set(standing[event.rawValue] ?? [])
        let ended = before.filter { present[$0] == nil }.sorted()
        let room = max(0, Self.mostRemembered - (before.count - ended.count))
        let begun = present.keys.filter { !before.contains($0) }.sorted().prefix(room)
        let after = before.subtracting(ended).union(begun)
        standing[event.rawValue] = after.isEmpty ? nil : after.sorted()
        return begun.map { HookNews(event, $0, reason: present[$0]!) }
            + ended.map { HookNews(end, $0, reason: end == .up ? "it has answered" : "no operation is as old") }
    }

    /// Adds the reports of a run. Returns the reports that are due now, sorted by event and destination.
    package mutating func take(_ news: [HookNews], hooks: Hooks, at now: Timestamp) -> [HookNews] {
        for item in news {
            if let opposite = item.event.opposite, withdraw(opposite, item.destination) { continue }
            let key = Self.key(item.event, item.destination)
            var entry = entries[key] ?? Entry()
            if entry.owed == nil { entry.owed = item } else { entry.owed?.add(item) }
            entries[key] = entry
        }
        var due: [HookNews] = []
        for (key, entry) in entries {
            guard let owed = entry.owed else {
                if !isRecent(entry, hooks, now) { entries[key] = nil }
                continue
            }
            if hooks.commands[owed.event] == nil {
                entries[key] = nil
            } else if !isRecent(entry, hooks, now) {
                entries[key] = Entry(told: now)
                due.append(owed)
            }
        }
        forgetOldest()
        return due.sorted { ($0.event.rawValue, $0.destination ?? "") < ($1.event.rawValue, $1.destination ?? "") }
    }

    /// Drops the report owed for an event. Returns whether a report was owed.
    private mutating func withdraw(_ event: Hooks.Event, _ destination: String?) -> Bool {
        let key = Self.key(event, destination)
        guard entries[key]?.owed != nil else { return false }
        entries[key]!.owed = nil
        return true
    }

    /// Returns whether the last call is more recent than `atMostEvery` allows. A call in the future does not count: the
    /// clock was set back since.
    private func isRecent(_ entry: Entry, _ hooks: Hooks, _ now: Timestamp) -> Bool {
        entry.told.map { $0 <= now && now - $0 < hooks.atMostEvery } ?? false
    }

    private mutating func forgetOldest() {
        guard entries.count > Self.mostRemembered else { return }
        let oldest = entries.sorted { left, right in
            (left.value.told?.microseconds ?? 0, left.key) < (right.value.told?.microseconds ?? 0, right.key)
        }
        for (key, _) in oldest.prefix(entries.count - Self.mostRemembered) { entries[key] = nil }
    }

    private static func key(_ event: Hooks.Event, _ destination: String?) -> String {
        destination.map { "\(event.rawValue) \($0)" } ?? event.rawValue
    }
}

extension HookLedger: StoredObject {
    package static let blank = HookLedger()
    package static let fields: [StoredField<HookLedger>] = [
        .version(version),
        .init("entries", \.entries, .required),
        .init("standing", \.standing),
    ]
}
