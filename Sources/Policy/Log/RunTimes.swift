/// The times of the runs of the last day, by which everybody sees whether and how often runs come: `state/runs`.
///
/// The file is a ring of slots, one for each minute. A slot has the time of the last run in its minute, in seconds
/// since 1970 with ten digits, and a line break. A slot that never was written has no digits. The ring is longer than a
/// day, so that two daily runs have two slots.
package struct RunTimes: Hashable, Sendable {
    package static let slots = 1500
    package static let slotLength = 11
    /// The time without a run that is no sign of anything, however often runs came before.
    package static let shortest = Duration.seconds(900)

    /// The times, oldest first.
    package private(set) var times: [Timestamp] = []
    /// Whether the file has bytes that are no time of a run: a crash tore it, or a newer version wrote it.
    package private(set) var isDamaged = false

    package init() {}

    package init(_ times: [Timestamp]) { self.times = times.sorted() }

    /// Reads the ring.
    package init(_ bytes: [UInt8]) {
        for start in stride(from: 0, to: bytes.count, by: Self.slotLength) {
            let slot = bytes[start..<min(start + Self.slotLength, bytes.count)]
            if slot.allSatisfy({ $0 == 0 }) { continue }
            if let time = Self.time(in: slot), Self.slot(of: time) == start / Self.slotLength {
                times.append(time)
            } else {
                isDamaged = true
            }
        }
        times.sort()
    }

    /// Returns the time in a slot; `nil` if there is none.
    package static func time(in slot: some BidirectionalCollection<UInt8>) -> Timestamp? {
        guard slot.count == slotLength, slot.last == UInt8(ascii: "\n"),
            let seconds = Int64(String(decoding: slot.dropLast(), as: UTF8.self)), seconds > 0
        else { return nil }
        return Timestamp(microseconds: seconds * 1_000_000)
    }

    /// Returns the bytes of a slot; `nil` for a time that has not ten digits.
    package static func bytes(of time: Timestamp) -> [UInt8]? {
        let digits = "\(time.microseconds / 1_000_000)"
        guard digits.utf8.count == slotLength - 1, digits.utf8.first != UInt8(ascii: "-") else { return nil }
        return Array(digits.utf8) + [UInt8(ascii: "\n")]
    }

    /// Returns the index of the slot of a time.
    package static func slot(of time: Timestamp) -> Int {
        let minute = max(time.microseconds, 0) / 60_000_000
        return Int(clamping: minute % Int64(slots))
    }

    // MARK: - What the times say

    /// Returns the time of the last run; `nil` if none is known. A clock may be a minute fast.
    package func last(at now: Timestamp) -> Timestamp? {
        times.last { $0 <= now + .seconds(60) }.map { min($0, now) }
    }

    /// The usual time between two runs: the median of the day before the last run, or of the last few runs if they are
    /// rarer. A clock that was wrong once leaves a time far from the others: times ahead of `now` do not count, and one
    /// long gap alone is nothing usual. `nil` if nothing is usual yet.
    package func interval(at now: Timestamp) -> Duration? {
        guard let last = last(at: now) else { return nil }
        let known = times.filter { $0 <= last }
        let day = known.filter { last - $0 <= .seconds(25 * 3600) }
        let recent = day.count > 2 ? day : known.suffix(5).filter { last - $0 <= .seconds(8 * 86_400) }
        let gaps = zip(recent, recent.dropFirst()).map { $1 - $0 }.sorted()
        guard !gaps.isEmpty, gaps.count > 1 || gaps[0] <= Self.longestOnce else { return nil }
        return gaps[(gaps.count - 1) / 2]
    }

    /// The longest gap between the only two runs known that says how often runs come.
    private static let longestOnce = Duration.seconds(2 * 3600)

    /// Returns the time without a run from which on runs are missing: five usual intervals, at least `shortest`.
    package func patience(at now: Timestamp) -> Duration {
        max(interval(at: now).map { $0 * 5 } ?? .zero, Self.shortest)
    }

    /// Whether runs are missing at `now`: the last one came longer ago than `patience`.
    package func areMissing(at now: Timestamp) -> Bool {
        last(at: now).map { now - $0 > patience(at: now) } ?? true
    }

    /// Returns the number of runs in the 24 hours before `now`.
    package func count(before now: Timestamp) -> Int { times.count { $0 <= now && now - $0 < .seconds(86_400) } }

    /// Returns the spans of the 24 hours before `now` in which runs were missing.
    package func gaps(before now: Timestamp) -> [(from: Timestamp, to: Timestamp)] {
        let (start, patience) = (now - .seconds(86_400), patience(at: now))
        let ends = times.filter { $0 <= now } + [now]
        let firsts = [times.first.map { min($0, start) } ?? start] + ends.dropLast()
        return zip(firsts, ends).compactMap { from, to in
            to - from > patience && to > start ? (max(from, start), to) : nil
        }
    }
}
