import CSystem
package import Policy

/// `state/runs`: the times of runs that ended, or were at work for a minute. A run takes no lock for its slot and syncs
/// nothing: a power cut may lose the last times, and two runs of one minute write the same slot. The beginning of a run
/// at work is in the name of its directory.
extension SpoolDirectory {
    private static let runsFile = QueuePath("state/runs")

    /// Returns the times of the last runs; those of a queue without runs are empty.
    package func runTimes() throws(SpoolError) -> RunTimes {
        try readFile(Self.runsFile, limit: RunTimes.slots * RunTimes.slotLength * 2).map { RunTimes($0) } ?? RunTimes()
    }

    /// Returns the time at which the last of these runs began; `nil` without runs. A `send` has a time long ago.
    package static func lastStart(of runs: Set<String>) -> Timestamp? {
        runs.compactMap { LockedDirectory.start(in: $0) }.max()
    }

    /// Writes the time of a run. Returns the times before it if none is of the last minutes, so that the run can tell a
    /// gap; `nil` otherwise. No result of a run depends on the file: an error is none of the run.
    package func noteRun(at now: Timestamp) -> RunTimes? {
        guard let bytes = RunTimes.bytes(of: now) else { return nil }
        let slot = RunTimes.slot(of: now)
        do throws(Errno) {
            return try Self.withDescriptor(system, root, Self.runsFile, O_RDWR | O_CREAT | O_NOFOLLOW) {
                (descriptor) throws(Errno) in
                let earlier = try hasRun(in: descriptor, shortlyBefore: now) ? nil : try whole(descriptor)
                try write(descriptor, bytes, at: slot * RunTimes.slotLength)
                return earlier
            }
        } catch {
            return nil
        }
    }

    /// Whether the slots before that of `now` have a time within `RunTimes.shortest`. May be false at the beginning of
    /// the ring, where these slots are at its end.
    private func hasRun(in descriptor: Int32, shortlyBefore now: Timestamp) throws(Errno) -> Bool {
        let slot = RunTimes.slot(of: now)
        let count = min(slot + 1, 16)
        var slots = [UInt8](repeating: 0, count: count * RunTimes.slotLength)
        let length = try read(descriptor, into: &slots, from: (slot + 1 - count) * RunTimes.slotLength)
        return (0..<count).reversed().contains { index in
            let end = (index + 1) * RunTimes.slotLength
            guard end <= length, let time = RunTimes.time(in: slots[(end - RunTimes.slotLength)..<end]) else {
                return false
            }
            return time <= now && now - time < RunTimes.shortest
        }
    }

    private func whole(_ descriptor: Int32) throws(Errno) -> RunTimes {
        var bytes = [UInt8](repeating: 0, count: RunTimes.slots * RunTimes.slotLength)
        let length = try read(descriptor, into: &bytes, from: 0)
        return RunTimes(Array(bytes.prefix(length)))
    }
}
