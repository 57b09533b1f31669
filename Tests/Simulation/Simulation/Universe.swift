internal import CSystem
internal import Delivery
internal import Drain
internal import Policy
internal import Spool

/// A history in progress: the disk, the clocks, the servers, the processes, and the record of their events.
final class Universe {
    let plan: Plan
    let scheduler: Scheduler
    let disk: SimulatedDisk
    private(set) var servers: SimulatedServers!
    let configuration: Configuration
    private(set) var history: History
    /// The base of the monotonic clocks: only differences to it matter.
    let beginning = ContinuousClock.now
    /// The faults at calls, by actor, until its process has them.
    var faults: [Int: SimulatedProcess.Faults] = [:]
    /// The file whose calls fail, by a part of its name, and the error.
    var refusedFile: (part: String, code: Int32)?
    /// The processes that keep locks, and the processes that found such a lock taken.
    var keepers: Set<ProcessID> = []
    private var kept: Set<ProcessID> = []
    var chance: Chance
    /// The first canonical name of each operation whose file has had a canonical name.
    private(set) var names: [Label: EntryName] = [:]
    /// The processes that wait for a moment of another process.
    private var watchers: [(process: SimulatedProcess, moment: Plan.Moment)] = []
    /// What operators know of the operations.
    var heard = Heard()
    /// The number of promises so far, and the power cuts after some of them.
    private var promises = 0
    /// What hooks have been called for, and what they are still owed.
    var reportLedger = ReportLedger()
    var cuts: [Int: Duration] = [:]

    static let queue = "/queue"
    static let epoch = Timestamp(rfc3339: "2026-11-21T09:00:00Z")!

    init(_ plan: Plan) {
        self.plan = plan
        scheduler = Scheduler(plan.schedule)
        chance = Chance(seed: plan.schedule.seed ^ 0x5EED)
        disk = SimulatedDisk(journal: plan.setup.journal, seed: chance.next())
        configuration = plan.setup.configuration
        history = History(setup: plan.setup)
        servers = SimulatedServers(plan, chance.branch(), in: self)
        disk.renamesWithoutReplacing = !plan.movesByLink
        if plan.isShared {
            disk.fileSystem = FileSystem(type: "nfs4", options: ["rw"])
            disk.memory = NameMemory()
        }
        for fault in plan.faults { prepare(fault) }
        disk.refused = { [unowned self] in note($0, .refusedCall($1.rawValue, path: $2, ENOSPC)) }
        let locks = LockTable(setup: plan.setup, configuration: configuration)
        disk.moves = { [unowned self] process, from, to in
            if process == .world { return }
            for lock in locks.lacks(from: from, to: to, { disk.hasLock(process, "\(Self.queue)/\($0)") }) {
                note(process, .movesUnlocked(from: from, to: to, lacks: lock))
            }
        }
        disk.finds = { [unowned self] in meetKept($0, $1, heldBy: $2) }
        scheduler.ended = { [unowned self] process in
            disk.end(process.id)
            if process.isWatched { look() }
        }
        scheduler.fault = { [unowned self] (process, call) throws(Errno) in try meet(process, call) }
    }

    // MARK: - The record

    func note(_ process: ProcessID, _ what: Event.What) {
        history.events.append(Event(time: scheduler.time, process: process, what: what))
        for (watcher, moment) in watchers where moment.isNow(what) { scheduler.wake(watcher) }
        guard what.isPromise, !cuts.isEmpty, !isCalm else { return }
        promises += 1
        if let wait = cuts[promises] { scheduler.plan(at: scheduler.time + wait) { [unowned self] in cutPower() } }
    }

    /// Lets a process wait for a moment of another process, ten seconds at most.
    func watch(for moment: Plan.Moment, _ process: SimulatedProcess) {
        watchers.append((process, moment))
        process.sleep(until: scheduler.time + .seconds(10), isWakeable: true)
        watchers.removeAll { $0.process === process }
    }

    /// Notes that a process has found a lock taken by a process that keeps it.
    private func meetKept(_ process: ProcessID, _ path: String, heldBy owner: ProcessID?) {
        guard let owner, keepers.contains(owner), kept.insert(process).inserted else { return }
        note(process, .refusedCall("lock", path: path, EAGAIN))
    }

    // MARK: - Clocks

    /// The wall clock of a host.
    func now(on host: Int) -> Timestamp {
        if isCalm { return Self.epoch + scheduler.time }
        let plan = plan.hosts[host % plan.hosts.count]
        var ahead = plan.ahead
        for step in plan.steps where step.at <= scheduler.time { ahead += step.by }
        return Self.epoch + scheduler.time + ahead
    }

    /// Whether the calm end has begun: clocks are right, servers are well, nothing fails.
    private(set) var isCalm = false

    // MARK: - Processes

    /// Returns the system calls of a process.
    func calls(of process: SimulatedProcess) -> SystemCalls {
        let gate = Gate(
            before: { [unowned self] (call) throws(Errno) in
                try scheduler.point(process, call)
                if call.name == .list, call.path == "new" || call.path == "deferred" { note(process.id, .lists) }
            },
            after: { [unowned self] (call) throws(Errno) in try failLate(process, call) },
            now: { [unowned self] in now(on: process.host) },
            elapsed: { [unowned self] in scheduler.time },
            sleep: { [unowned self] in process.sleep(until: scheduler.time + $0) },
            random: { process.chance.next() })
        let boot = plan.renamesHost ? "-\(disk.powerCuts)" : ""
        return disk.calls(of: process.id, user: process.user, host: "host\(process.host)\(boot)", through: gate)
    }

    func clock(of process: SimulatedProcess) -> RunClock {
        RunClock(
            now: { [unowned self] in now(on: process.host) },
            instant: { [unowned self] in beginning + scheduler.time },
            sleep: { [unowned self] deadline in
                if process.signals.isEmpty { process.sleep(until: deadline - beginning, isWakeable: true) }
            },
            signals: { (process.signals.count, process.signals.last ?? 0) }, wakeup: { -1 })
    }

    /// The surroundings of a run.
    func world(of process: SimulatedProcess) -> World {
        var world = World(
            version: "1", clock: clock(of: process), generator: process.chance.branch(),
            credentials: Credentials(
                values: { [unowned self] names, _ in
                    SecretValues(values: Dictionary(uniqueKeysWithValues: names.map { ($0, servers.knownToken) }))
                },
                refresh: { [unowned self] used in
                    !used.values.isEmpty && used.values.values.allSatisfy { $0 != servers.knownToken }
                },
                signed: { _, _ throws(RequestError) in throw .headersCommand(reason: "cannot be run here") }),
            networkState: { [unowned self] in
                let isThere = hasNetwork
                return NetworkState(
                    hasInterface: isThere, hasRoute: isThere, hasDefaultRoute: isThere, hasResolver: isThere)
            },
            gzip: { (body) throws(RequestError) in body },
            makeSink: { [unowned self] _ in SimulatedSink(of: process, in: self) })
        let count = renewed
        if !plan.renewals.isEmpty {
            world.renewal = { [unowned self] in
                renewed == count ? nil : (plan.setup.configuration(with: renewed), self.world(of: process))
            }
        }
        return world
    }

    /// Whether the machine has a network now.
    var hasNetwork: Bool {
        isCalm || !plan.absences.contains { $0.from <= scheduler.time && scheduler.time < $0.from + $0.time }
    }

    /// The number of changes of drainq.json so far.
    private var renewed: Int { plan.renewals.count { $0 <= scheduler.time } }

    /// Returns the label of the operation in a canonical file.
    func label(in bytes: [UInt8]) -> Label? {
        let newline = UInt8(ascii: "\n")
        guard let header = bytes.firstIndex(of: newline) else { return nil }
        return SimulatedServers.labels(in: bytes[(header + 1)...].prefix { $0 != newline }).first
    }

    // MARK: - The course

    /// Plays the whole history.
    func play() -> History {
        for actor in plan.actors {
            let process = scheduler.add(
                actor.role.name, host: actor.host, user: actor.user,
                chance: Chance(seed: plan.schedule.seed &+ UInt64(actor.number) &* 0x9E37_79B9), start: actor.start
            ) { [unowned self] process in
                note(process.id, .begins(process.name))
                perform(actor.role, process)
            }
            process.faults = faults[actor.number] ?? SimulatedProcess.Faults()
            history.hosts[process.id] = actor.host
        }
        for absence in plan.absences {
            scheduler.plan(at: absence.from) { [unowned self] in if !isCalm { note(.world, .network(isThere: false)) } }
            scheduler.plan(at: absence.from + absence.time) { [unowned self] in
                if !isCalm, hasNetwork { note(.world, .network(isThere: true)) }
            }
        }
        for token in plan.tokens {
            scheduler.plan(at: token.known) { [unowned self] in note(.world, .renewsToken) }
        }
        makeQueue()
        noteClocks()
        disk.watch(["new", "deferred"]) { [unowned self] in noteName($0, of: $1) }
        scheduler.run()
        if plan.endsCalmly, !scheduler.isEndless { calmDown() }
        scheduler.close()
        history.left = disk.files(in: Self.queue)
        history.isEndless = scheduler.isEndless
        return history
    }

    /// Notes how the clocks of the hosts differ from the true time.
    private func noteClocks() {
        for (host, plan) in plan.hosts.enumerated() {
            if plan.ahead != .zero { note(.world, .clockStepped(host: host, by: plan.ahead)) }
            for step in plan.steps {
                scheduler.plan(at: step.at) { [unowned self] in
                    if !isCalm { note(.world, .clockStepped(host: host, by: step.by)) }
                }
            }
        }
    }

    /// Notes the canonical name of a file in `new/` or `deferred/`, if the name is the first name of its operation.
    private func noteName(_ name: [UInt8], of bytes: [UInt8]) {
        guard let name = EntryName(String(decoding: name, as: UTF8.self)), let label = label(in: bytes),
            names[label] == nil
        else { return }
        names[label] = name
        note(.world, .names(label, name))
    }

    /// Makes the queue before the first process begins.
    private func makeQueue() {
        let gate = Gate(
            before: { (_) throws(Errno) in }, now: { Self.epoch }, elapsed: { .zero }, sleep: { _ in },
            random: { [unowned self] in chance.next() })
        let calls = disk.calls(of: .world, user: 0, host: "host0", through: gate)
        do {
            _ = try SpoolDirectory.create(at: Self.queue, system: calls)
            if plan.isOpenToAll { try openToAll(calls) }
        } catch {
            preconditionFailure("the queue cannot be made: \(error)")
        }
        disk.end(.world)
    }

    /// Lets every user put files into `new/`.
    private func openToAll(_ calls: SystemCalls) throws(Errno) {
        for (path, mode) in [(Self.queue, UInt32(0o711)), ("\(Self.queue)/new", 0o1777)] {
            let directory = try calls.open(AT_FDCWD, path.rawCString, O_RDONLY | O_DIRECTORY, 0)
            try calls.chmod(directory, mode)
            try calls.fsync(directory)
            try calls.close(directory)
        }
    }

    /// Lets the servers get well and the clocks right, ends holds and pauses, and lets runs come until nothing changes.
    private func calmDown() {
        isCalm = true
        refusedFile = nil
        servers.isCalm = true
        disk.freeBytes = nil
        history.endsCalmly = true
        note(.world, .calm)
        if plan.endsReleased { one("resume and release everything") { [unowned self] in releaseEverything($0) } }
        // An operation dated by a clock that was ahead waits at most until the true time reaches its date.
        let ahead = plan.hosts.map { $0.steps.map(\.by).filter { $0 > .zero }.reduce(max($0.ahead, .zero), +) }.max()
        // The hold of a run ends by a probe, an hour after it began.
        let patience = 6 + Int((ahead ?? .zero) / Self.calmWait)
        var idle = 0
        for _ in 0..<60 where idle < patience && !scheduler.isEndless {
            let before = disk.files(in: Self.queue).map(\.path)
            one("run") { [unowned self] in perform(.run(Plan.RunPlan()), $0) }
            let after = disk.files(in: Self.queue)
            let isEmpty = !after.contains { file in
                ["new/", "deferred/", "claimed/"].contains { file.path.hasPrefix($0) } && !file.path.hasSuffix("/lock")
            }
            if isEmpty { break }
            idle = before == after.map(\.path) ? idle + 1 : 0
            scheduler.plan(at: scheduler.time + Self.calmWait) {}
            one("wait", isWatched: false) { [unowned self] in $0.sleep(until: scheduler.time + Self.calmWait) }
        }
    }

    /// The time between two runs of the calm end.
    private static let calmWait = Duration.seconds(1800)

    private func one(_ name: String, isWatched: Bool = true, _ body: @escaping (SimulatedProcess) -> Void) {
        let process = scheduler.add(name, host: 0, user: 0, chance: chance.branch(), start: scheduler.time) {
            [unowned self] process in
            note(process.id, .begins(name))
            body(process)
        }
        process.isWatched = isWatched
        scheduler.run()
    }
}
