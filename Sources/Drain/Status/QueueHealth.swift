package import Policy
package import Spool

/// What is known of a queue: whether runs come, what its destinations take, and what needs an operator. DrainqCLI has
/// the words.
///
/// "Well" is a claim that needs evidence: every finding that has no evidence says so.
package struct QueueHealth {
    /// A fact that an operator wants to know, the first of `findings` before all others.
    package enum Finding: Hashable, Sendable {
        /// Files of `state/` cannot be read: they are damaged, or of a newer version.
        case unreadable([String])
        /// Operations are due, and the last run came at a time that is ahead: the clock has been set back.
        case clockSetBack(from: Timestamp)
        case paused
        /// Operations wait, and no run has ever come to its end.
        case neverRun
        /// Operations are due, and no run has come to its end since. A run that cannot begin or is killed does not.
        case notRunning(since: Timestamp)
        /// Operations are due, and the last run with work ended with an error before it sent anything.
        case failing
        /// The queue or its disk is full: adds are refused.
        case full(FullLimit)
        /// This machine cannot send, and why.
        case offline(String)
        /// Destinations are held or down.
        case trouble
        /// Operations are due since before runs that came, and none of these runs sent them.
        case unsent
        /// Operations failed for good, and no operator's command has named them since.
        case failed
        case quarantined
        /// Operations wait for a value that nothing in the queue can leave any more.
        case unserved
        /// Operations are held by themselves.
        case heldAlone
        /// Operations are held behind failed or quarantined ones.
        case heldBehind
        /// A run is at work.
        case working
        case well
        /// Nothing has ever been sent.
        case fresh
    }

    package let at: Timestamp
    package var pause: (since: Timestamp, user: String?)?
    package var states: [ShownState: Int] = [:]
    package var destinations: [DestinationHealth] = []
    /// The number of operations that are due now.
    package var due = 0
    /// Whether the last run with work met an error of the machine, and sent nothing.
    package var isFailing = false
    /// Whether a run is at work.
    package var isAtWork = false
    /// The time at which the last run at work began; `nil` without one.
    private var atWorkSince: Timestamp?
    /// The time of creation of the oldest operation that waits or is in flight.
    package var oldest: Timestamp?
    package var heldAlone = 0
    package var heldBehind = 0
    /// The operations that no run sent; `nil` if there are none.
    package var unsent: Unsent?
    package var unserved: Unserved?
    package var fullLimit: FullLimit?
    /// The numbers of failed operations and of files in quarantine that no operator's command has named.
    package var newFailed = 0
    package var newQuarantined = 0
    /// Why the newest of these operations failed: a status, an error or a rule; `nil` if its file does not say.
    package var newestFailure: String?
    /// The one reason of these files; `nil` if there are several.
    package var quarantineReason: String?
    package var runs = RunTimes()
    package var lastSuccess: Timestamp?
    /// Why network or power keep this machine from sending; `nil` if they do not.
    package var conditions: String?
    /// The files of `state/` that cannot be read.
    package var unreadable: [String] = []

    package init(at now: Timestamp) { at = now }

    package init(
        of spool: SpoolDirectory, _ count: QueueCount, _ known: KnownDestinations, at now: Timestamp
    ) throws(SpoolError) {
        self.init(at: now)
        pause = try spool.pause
        states = count.states
        destinations = count.destinationCounts.map { $0.health(at: now) }
        oldest = count.destinationCounts.compactMap(\.oldest).min()
        (heldAlone, heldBehind) = (count.heldByThemselves, count.heldBehindFailed)
        unsent = count.destinationCounts.compactMap(\.unsent).reduce(nil) { $1.joined(by: $0) }
        (unserved, fullLimit) = (count.unserved, count.fullLimit)
        (newFailed, newQuarantined) = (count.newFailed, count.newQuarantined)
        newestFailure = try count.newestFailed.flatMap { (entry) throws(SpoolError) in
            try spool.attempts(of: entry).last.map { $0.status.map { "\($0)" } ?? $0.error ?? $0.rule }
        }
        quarantineReason = count.quarantineReason
        runs = try spool.runTimes()
        (due, isAtWork, atWorkSince) = (count.due, count.isAtWork, count.atWorkSince)
        let last = try StateFile.lastRun.read(RunCounts.self, in: spool)
        isFailing = last.map { $0.inputOutputErrors > 0 && $0.attempts == 0 && $0.delivered == 0 } ?? false
        // The next run writes its time into a damaged file, and one time is enough.
        unreadable =
            try known.unreadable + StateFile.unreadable(in: spool)
            + (runs.isDamaged && runs.times.isEmpty ? ["runs"] : [])
        lastSuccess = known.states.values.compactMap(\.lastSuccess).max()
    }

    /// The number of operations that wait, for whatever reason, or are in flight.
    package var waiting: Int { [.new, .deferred, .held, .claimed].reduce(0) { $0 + (states[$1] ?? 0) } }

    /// The destinations in trouble: held ones first, then those with the most waiting operations.
    package var troubles: [DestinationHealth] {
        destinations.filter(\.isTrouble).sorted { left, right in
            let (leftHeld, rightHeld) = (left.state == .held ? 0 : 1, right.state == .held ? 0 : 1)
            return (leftHeld, right.waiting, left.name) < (rightHeld, left.waiting, right.name)
        }
    }

    /// The destinations that a route or an operation names.
    package var named: [DestinationHealth] { destinations.filter { $0.state != .unnamed } }

    /// Whether runs are missing: the last one came too long ago, and no run at work has begun since.
    package var areRunsMissing: Bool { !hasRunAtWork && runs.areMissing(at: at) }

    /// Whether a run at work shows that runs come. A run that began too long ago may hang.
    private var hasRunAtWork: Bool { atWorkSince.map { at - $0 <= runs.patience(at: at) } ?? false }

    /// The findings, the most important first; never empty.
    package var findings: [Finding] {
        var findings: [Finding] = []
        if !unreadable.isEmpty { findings.append(.unreadable(unreadable)) }
        if pause != nil { findings.append(.paused) }
        if due > 0, pause == nil, !hasRunAtWork {
            if let last = runs.last(at: at) {
                if runs.areMissing(at: at) { findings.append(.notRunning(since: last)) }
            } else if let ahead = runs.times.last {
                findings.append(.clockSetBack(from: ahead))
            } else if !runs.isDamaged {
                findings.append(.neverRun)
            }
        }
        if isFailing, due > 0, pause == nil { findings.append(.failing) }
        if let fullLimit { findings.append(.full(fullLimit)) }
        if let conditions { findings.append(.offline(conditions)) }
        if !troubles.isEmpty { findings.append(.trouble) }
        if unsent != nil, pause == nil { findings.append(.unsent) }
        if newFailed > 0 { findings.append(.failed) }
        if newQuarantined > 0 { findings.append(.quarantined) }
        if unserved != nil { findings.append(.unserved) }
        if heldAlone > 0 { findings.append(.heldAlone) }
        if heldBehind > 0, newFailed + newQuarantined == 0 { findings.append(.heldBehind) }
        if !findings.isEmpty { return findings }
        if isAtWork, due + (states[.claimed] ?? 0) > 0 { return [.working] }
        return [lastSuccess == nil ? .fresh : .well]
    }
}
