internal import CSystem
internal import Policy

/// Chooses the process that continues: one at a time, by the plan's chance, at each system call, sleep and wait. Owns
/// the true time. Only the thread with the baton uses the scheduler.
package final class Scheduler: @unchecked Sendable {
    /// The true time since the start of the history.
    private(set) var time = Duration.zero
    /// The number of system calls so far, of all processes.
    private(set) var steps = 0
    /// The number of calls that tell or change shared names and locks.
    private var tellings = 0
    private(set) var processes: [SimulatedProcess] = []
    /// The processes that have neither ended nor died, in the order of `processes`.
    private var live: [SimulatedProcess] = []
    /// The digest of everything that the schedule has seen. The same plan gives the same digest.
    private(set) var digest = TraceDigest()
    /// Whether the history was broken off because a process did not end.
    private(set) var isEndless = false
    private let plan: SchedulePlan
    private var chance: Chance
    private var changePoints: Set<Int>
    private var lowest = 0
    private var agenda = Agenda()
    private let home = Baton()
    /// The threads of processes that have ended, for the next processes. The threads of killed processes stay parked.
    private var idle: [Strand] = []

    init(_ plan: SchedulePlan) {
        self.plan = plan
        chance = Chance(seed: plan.seed)
        changePoints = Set(plan.changePoints)
    }

    /// Called at each call of a process before the effect; the owner injects deaths, stops and errors there.
    var fault: (SimulatedProcess, Call) throws(Errno) -> Void = { (_, _) throws(Errno) in }

    // MARK: - Processes

    /// Adds a process with a start time.
    @discardableResult
    func add(
        _ name: String, host: Int, user: UInt32, chance: Chance, start: Duration,
        body: @escaping (SimulatedProcess) -> Void
    ) -> SimulatedProcess {
        let process = SimulatedProcess(
            ProcessID(processes.count + 1), name, host: host, user: user, chance: chance, start: start, in: self,
            body: body)
        process.priority = self.chance.below(1_000_000) + 1
        processes.append(process)
        live.append(process)
        return process
    }

    /// Lets all processes go on until each has ended or died, and nothing is left to happen.
    func run() {
        if let next = choose(after: nil) {
            next.take()
            home.await()
        }
    }

    /// Called by the process's own thread when the process has done its work.
    func end(_ process: SimulatedProcess) {
        process.state = .done
        live.removeAll { $0 === process }
        ended(process)
        digest.add(UInt64(process.id.number) << 8 | 2)
        if let strand = process.strand { idle.append(strand) }
        if let next = choose(after: process) { next.take() } else { home.hand() }
    }

    /// Returns a thread without work.
    func idleStrand() -> Strand { idle.popLast() ?? Strand() }

    /// Ends the threads without work, at the end of the history.
    func close() {
        for strand in idle { strand.end() }
        idle = []
    }

    /// Called when a process has ended or died, to release its descriptors and locks.
    var ended: (SimulatedProcess) -> Void = { _ in }

    /// Kills a process: no later call of the process has an effect. Does not return if the process has the baton
    /// (`isCurrent`); then call `kill` last.
    func kill(_ process: SimulatedProcess, isCurrent: Bool) {
        process.state = .dead
        live.removeAll { $0 === process }
        ended(process)
        digest.add(UInt64(process.id.number) << 8 | 3)
        if isCurrent { giveAway(process) }
    }

    /// Ends the present wait of a process at once, if an answer or a signal ends the wait.
    func wake(_ process: SimulatedProcess) {
        if process.isWakeable, case .waiting(let until) = process.state, until > time {
            process.state = .waiting(until: time)
        }
    }

    // MARK: - Points

    /// Passes a system call of the process with the baton, before the effect.
    func point(_ process: SimulatedProcess, _ call: Call) throws(Errno) {
        steps += 1
        process.calls += 1
        digest.add(UInt64(process.id.number) << 8 | UInt64(call.name.order) << 16 | 1)
        digest.add(UInt64(bitPattern: time.microseconds))
        time += plan.cost(of: call.name, &chance)
        if steps > plan.mostSteps {
            isEndless = true
            home.hand()
            while true { process.await() }
        }
        runAgenda()
        // The power may have been cut: nothing of the call happens.
        if process.state == .dead { giveAway(process) }
        try fault(process, call)
        if call.name.isTelling { tellings += 1 }
        let isPoint = !plan.countsTelling || call.name.isTelling
        if isPoint, changePoints.remove(plan.countsTelling ? tellings : steps) != nil {
            lowest -= 1
            process.priority = lowest
        }
        if switches(at: call.name) { giveAway(process) }
    }

    /// Lets a process wait.
    func sleep(_ process: SimulatedProcess, until end: Duration, _ isWakeable: Bool) {
        process.state = .waiting(until: max(end, time))
        process.isWakeable = isWakeable
        digest.add(UInt64(process.id.number) << 8 | 4)
        giveAway(process)
        process.isWakeable = false
    }

    /// Runs an action at a time, on the thread with the baton. The action must not wait.
    func plan(at moment: Duration, _ action: @escaping () -> Void) {
        agenda.add(max(moment, time), action)
    }

    private func runAgenda() {
        while let action = agenda.next(until: time) { action() }
    }

    // MARK: - Choosing

    private func giveAway(_ process: SimulatedProcess) {
        guard let next = choose(after: process) else {
            home.hand()
            while true { process.await() }
        }
        if next === process { return }
        next.take()
        process.await()
    }

    /// Whether another process may continue now.
    private func switches(at call: Call.Name) -> Bool {
        switch plan.style {
        case .priorities: true
        case .random(let often, let seldom):
            chance.happens((call.isTelling ? often : seldom))
        case .turns: false
        }
    }

    /// Returns the next process; lets time pass if no process can continue now. `nil` if no process ever can and the
    /// agenda is empty.
    private func choose(after process: SimulatedProcess?) -> SimulatedProcess? {
        while true {
            runAgenda()
            if let next = candidate(after: process) {
                digest.add(UInt64(next.id.number) << 8 | 5)
                return next
            }
            var first = agenda.first
            for process in live {
                guard let ready = process.ready else { continue }
                first = min(first ?? ready, ready)
            }
            guard let first else { return nil }
            time = max(time, first)
        }
    }

    private func candidate(after process: SimulatedProcess?) -> SimulatedProcess? {
        switch plan.style {
        case .priorities, .turns:
            var best: SimulatedProcess?
            for other in live where other.priority > best?.priority ?? .min && other.isReady(at: time) { best = other }
            return best
        case .random:
            let count = live.count { $0.isReady(at: time) }
            if count == 0 { return nil }
            var place = chance.below(count)
            return live.first { process in
                guard process.isReady(at: time) else { return false }
                place -= 1
                return place < 0
            }
        }
    }
}

/// A running hash of a trace (FNV-1a by words).
package struct TraceDigest: Hashable, Sendable {
    package private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ word: UInt64) {
        value = (value ^ word) &* 0x0000_0100_0000_01B3
        value ^= value >> 29
    }

    mutating func add(_ text: String) {
        for byte in text.utf8 { add(UInt64(byte)) }
    }
}

/// Actions by time.
private struct Agenda {
    private var items: [(time: Duration, action: () -> Void)] = []

    var first: Duration? { items.last?.time }

    mutating func add(_ time: Duration, _ action: @escaping () -> Void) {
        // The next action stands last. Of equal times the action added first comes first.
        items.insert((time, action), at: items.partitioningIndex { $0.time <= time })
    }

    /// Removes the next due action.
    mutating func next(until time: Duration) -> (() -> Void)? {
        guard let next = items.last, next.time <= time else { return nil }
        return items.removeLast().action
    }
}

extension Array {
    /// Returns the first index whose element and all later elements match; the elements are partitioned so.
    fileprivate func partitioningIndex(where matches: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if matches(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
