internal import CSystem
internal import Drain
internal import Policy
internal import Spool

/// What an operator sees after each process has ended.
extension Universe {
    /// Looks at the queue as `status` does, at one moment: no process goes on meanwhile, and nothing on the disk
    /// changes.
    func look() {
        let now = now(on: 0)
        do throws(SpoolError) {
            let spool = try SpoolDirectory(opening: Self.queue, system: lookingCalls)
            let known = try KnownDestinations(showing: spool, configuration, at: now)
            let count = try QueueCount(of: spool, configuration, known, at: now)
            let health = try QueueHealth(of: spool, count, known, at: now)
            var look = Look(health.findings.map { Look.Finding($0) })
            for destination in health.destinations {
                look.destinations[Self.host(of: destination.name)] = Look.Destination(
                    Look.Destination.State(destination.state), since: destination.since, waiting: destination.waiting)
            }
            look.due = health.due
            look.lastRun = health.runs.last(at: now)
            look.figures = Look.Figures(
                waiting: health.waiting, failed: health.states[.failed] ?? 0,
                quarantined: health.states[.quarantined] ?? 0)
            // Between a link and an unlink an operation has two names.
            look.files = plan.movesByLink || plan.isShared ? look.figures : countFiles(try spool.withheldFailures())
            note(.world, .looks(look))
        } catch {
            note(.world, .looks(Look([.unreadable])))
        }
        disk.end(.world)
    }

    /// System calls that take no time and never fail: a look is no process.
    private var lookingCalls: SystemCalls {
        let gate = Gate(
            before: { (_) throws(Errno) in }, now: { [unowned self] in now(on: 0) },
            elapsed: { [unowned self] in scheduler.time }, sleep: { _ in }, random: { 0 })
        return disk.calls(of: .world, user: 0, host: "look", through: gate)
    }

    /// Counts the files of the disk. A failure that a run withholds is in flight.
    private func countFiles(_ withheld: [OperationID: String]) -> Look.Figures {
        func entries(_ directory: String) -> [EntryName] { disk.names(in: directory).compactMap { EntryName($0) } }
        let failed = entries("failed")
        let uncertain = failed.count { withheld[$0.id] != nil }
        let waiting = disk.names(in: "new").count { $0.utf8.first != UInt8(ascii: ".") }
        return Look.Figures(
            waiting: waiting + entries("deferred").count + entries("claimed").count + uncertain,
            failed: failed.count - uncertain,
            quarantined: disk.names(in: "quarantine").count { !$0.hasSuffix(".reason") })
    }

    /// The host of a destination such as `http://one`.
    static func host(of destination: String) -> String {
        destination.split(separator: "/").last.map(String.init) ?? destination
    }

    // MARK: - Hooks

    /// The hooks of every history: one for each event that begins or ends something.
    static let hooks: Hooks = {
        var hooks = Configuration().hooks
        for event in [Hooks.Event.held, .released, .down, .up] { hooks.commands[event] = ["true"] }
        hooks.atMostEvery = .zero
        hooks.downAfter = hookPatience
        return hooks
    }()

    /// The time without a delivery after which a hook is called.
    static let hookPatience = Duration.seconds(60)

    /// Calls the hooks of a run that has ended, as `run` does.
    func callHooks(of process: SimulatedProcess) {
        let now = now(on: process.host)
        do throws(SpoolError) {
            let spool = try SpoolDirectory(opening: Self.queue, system: lookingCalls)
            let known = try KnownDestinations(showing: spool, configuration, at: now)
            let conditions = Self.hooks.conditions(of: known, at: now)
            for call in reportLedger.takeDue(by: Self.hooks, conditions, at: now) {
                note(process.id, .calls(call.event.rawValue, host: Self.host(of: call.destination ?? "")))
            }
        } catch {
            // Without the ledger no hook is called: the next run does it.
        }
        disk.end(.world)
    }
}

extension Look.Finding {
    fileprivate init(_ finding: QueueHealth.Finding) {
        self =
            switch finding {
            case .unreadable, .clockSetBack: .unreadable
            case .full: .full
            case .paused: .paused
            case .neverRun: .neverRun
            case .notRunning: .notRunning
            case .offline: .offline
            case .trouble: .trouble
            case .failed: .failed
            case .quarantined: .quarantined
            case .unsent: .unsent
            case .unserved: .unserved
            case .failing: .failing
            case .heldAlone: .heldAlone
            case .heldBehind: .heldBehind
            case .working: .working
            case .well: .well
            case .fresh: .fresh
            }
    }
}

extension Look.Destination.State {
    fileprivate init(_ state: DestinationHealth.State) {
        self =
            switch state {
            case .held: .held
            case .down: .down
            case .paused: .paused
            case .missed: .missed
            case .asked: .asked
            case .well: .well
            case .fresh: .fresh
            case .unnamed: .unnamed
            }
    }
}
