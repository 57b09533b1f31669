import Drain
import Policy
import Spool

struct WaitCommand: Command {
    static let name = "wait"

    var ids: [String] = []
    /// The longest time to wait; `nil` waits for ever.
    var timeout: Duration?
    var global = GlobalOptions()

    mutating func take(operands: [String]) { ids = operands }

    static var options: [Option<Self>] {
        Option(
            .timeout, .duration, \.timeout, "wait at most this long",
            """
            How long to wait; for ever unless given. After this time the status is 75 if an operation is not finished, \
            or 69 if it is held.
            """)
        GlobalOptions.options.map { $0.within(\.global) }
    }

    static let description = CommandDescription(
        Self.self, "wait until operations are delivered or have failed",
        """
        Waits until each operation is delivered, has failed or is gone. Runs send the operations; this command only \
        waits. It prints the kept answer of each operation (`keepAnswer` of its route), unchanged, as soon as it is \
        delivered; a second answer begins on a line of its own. The status is 0 if all are delivered. It is 1 if one \
        has failed, has expired, was evicted (`limits.whenFull`), superseded by a newer one or dropped by an operator, \
        or is quarantined, if an answer could not be kept, and if the file of one has gone and nothing has ended it; a \
        message says what ended the operation. A delivery whose kept answer is older than `retention.delivered` is \
        one without an answer: the status is 0, and a message says so.

        An operation that ended before the command began counts as it ended last. The status is 66 for an id that the \
        queue does not know, or not any more: it remembers the ends of some ten thousands of operations. It keeps a \
        delivery for longer with `keepAnswer` of its route, or with `retention.delivered`. \
        `drainq add --wait` adds operations and waits for them in one command.

        With --timeout the command ends with 75 if an operation still waits, and with 69 if an operator or a credential \
        is needed, and reports why. SIGINT, SIGTERM and SIGHUP end it at once.
        """,
        operands: .ids,
        examples: [
            Example("drainq wait 6f9619ff-8b86-4011-b42d-00cf4fc964ff --timeout 1m", "wait for one operation"),
            Example(
                "drainq add --type order order.json | drainq wait - --timeout 10m",
                "print the kept answer when it arrives"),
        ])

    func perform(environment: [String: String]) throws -> ExitStatus {
        let queue = try OpenQueue(global, environment)
        var waiting = Waiting(for: try namedTargets(ids), in: queue, asJSON: global.isJSON)
        return try waiting.wait(atMost: timeout, isQuiet: global.verbosity.isQuiet)
    }
}

/// A wait for operations until each is delivered, has failed or is gone.
struct Waiting {
    private let queue: OpenQueue
    private let clock = RunClock.ofProcess
    private let asJSON: Bool
    /// Whether the last answer has no line break at its end. The next one then begins on a new line.
    private var isInLine = false
    /// The operations in the order of the command line; those that `open` lacks are finished.
    private var targets: [NamedTarget]
    /// What is known of each unfinished operation.
    private var open: [NamedTarget: Sight]
    private var statuses: [ExitStatus] = []

    /// How much earlier than its removal the time in the line of an operation may be: the line is written first, and
    /// a batch that takes the room of others may be large. An operation may be seen in between.
    private static let departure: Duration = .seconds(10)
    /// The misses after which an operation is gone. A single listing may miss an operation that moves meanwhile.
    private static let missesOfGone = 3

    private struct Sight {
        /// The entry seen last.
        var entry: Entry?
        /// The times of the first and the last listing that had the operation.
        var first: Timestamp?
        var last: Timestamp?
        /// The number of listings in a row that did not have the operation.
        var misses = 0

        /// Whether the operation seen last is a later one than that of a copy: an id may come again.
        func isNewer(than copy: Entry) -> Bool { entry.map { copy.name.createdAt < $0.name.createdAt } ?? false }
    }

    init(for targets: [NamedTarget], in queue: OpenQueue, asJSON: Bool) {
        self.queue = queue
        self.asJSON = asJSON
        var seen: Set<NamedTarget> = []
        self.targets = targets.filter { seen.insert($0).inserted }
        open = Dictionary(uniqueKeysWithValues: self.targets.map { ($0, Sight()) })
    }

    /// Makes the wait for operations that this process has just added. One that is gone at the first look was there.
    init(forAdded entries: [Entry], in queue: OpenQueue, asJSON: Bool) {
        self.init(for: entries.map { .id($0.name.id) }, in: queue, asJSON: asJSON)
        let now = Timestamp.now()
        for entry in entries {
            open[.id(entry.name.id)] = Sight(entry: entry, first: min(entry.name.createdAt, now), last: now)
        }
    }

    /// Looks at one path for each operation, at growing intervals. Lists the queue only after one has moved.
    mutating func wait(atMost limit: Duration?, isQuiet: Bool) throws -> ExitStatus {
        Interruption.install()
        defer { Interruption.uninstall() }
        if try queue.spool.isPaused, !isQuiet {
            Messages.notice("the queue is paused: runs make no attempts until '\(pasted("resume"))'")
        } else if !isQuiet, try hasSeenNoRun() {
            Messages.notice("no run yet: see WHEN IT RUNS in drainq-setup(7)")
        }
        return try wait(atMost: limit)
    }

    /// Whether no run has left a sign: the time of its end, its summary, or its directory.
    private func hasSeenNoRun() throws -> Bool {
        let (times, runs) = (try queue.spool.runTimes(), try queue.spool.runs())
        return try times.times.isEmpty && !times.isDamaged && runs.alive.isEmpty && runs.dead.isEmpty
            && StateFile.lastRun.contents(in: queue.spool) == nil
    }

    private mutating func wait(atMost limit: Duration?) throws -> ExitStatus {
        let end = limit.map { clock.instant() + $0 }
        var pause: Duration = .milliseconds(20)
        while true {
            let start = clock.instant()
            let hasMoved = try look()
            standardOutput.flush()
            try standardOutput.requireReader(
                of: "answers", "drainq waits no longer", hint: "'\(pasted("wait", "ID"))' prints the answer again")
            if open.isEmpty { return .first(of: statuses) }
            if let end, clock.instant() >= end { return try giveUp() }
            // A listing of a large queue takes long: the pause is in proportion to it.
            pause = hasMoved ? .milliseconds(20) : min(pause * 2, .milliseconds(500))
            let looked = clock.instant()
            let next = looked + max(pause, (looked - start) * 20)
            clock.sleep(end.map { min($0, next) } ?? next)
            let signal = clock.signals()
            if signal.count > 0 { return ExitStatus(rawValue: 128 + signal.last) ?? .interrupted }
        }
    }

    /// Looks for changes of the operations and records them. Returns whether any of them has moved.
    private mutating func look() throws -> Bool {
        targets.removeAll { open[$0] == nil }
        let now = Timestamp.now()
        let moved = try targets.filter { target in
            guard let entry = open[target]?.entry, entry.state != .failed else { return true }
            return try queue.spool.size(of: entry) == nil
        }
        for target in Set(targets).subtracting(moved) { open[target]?.last = now }
        if moved.isEmpty { return false }
        let found = try queue.spool.found(moved)
        // Read after the files: what ends an operation first leaves its line.
        let mayHaveEnded = moved.contains { found[$0]?.contains(where: \.isDelivered) ?? true }
        let endings = mayHaveEnded ? try queue.spool.endings(of: Set(moved.compactMap(Self.id(of:)))) : nil
        var gone: [NamedTarget: Sight] = [:]
        for target in moved {
            guard var sight = open[target] else { continue }
            // A copy may be that of an earlier operation with its id.
            let one = found[target]?.first { !$0.isOver } ?? found[target]?.first
            switch one {
            case .operation(let entry) where entry.state == .delivered && !sight.isNewer(than: entry):
                if endings?.last[entry.name.id]?.ends(afterCopy: entry) == true {
                    gone[target] = sight
                } else {
                    try conclude(target, entry)
                }
            case .operation(let entry) where entry.state != .delivered:
                if entry.hasFailed {
                    try conclude(target, entry)
                } else {
                    open[target] = Sight(entry: entry, first: sight.first ?? now, last: now)
                }
            case .quarantined(let item):
                close(
                    target, .failed, error: "cannot wait for '\(target)': it is quarantined: \(item.reason ?? "")",
                    WaitResult(id: target.description, outcome: .quarantined, error: item.reason))
            case .operation, nil:
                sight.misses += 1
                open[target] = sight
                if sight.misses >= Self.missesOfGone { gone[target] = sight }
            }
        }
        for target in moved {
            guard let sight = gone[target] else { continue }
            let ending = Self.id(of: target).flatMap { endings?.last[$0] }
            disappear(target, sight, ending, isCertain: endings?.since.map { $0 < sight.last ?? now } ?? true)
        }
        return true
    }

    private static func id(of target: NamedTarget) -> OperationID? { if case .id(let id) = target { id } else { nil } }

    private mutating func conclude(_ target: NamedTarget, _ entry: Entry) throws {
        let stored: StoredOperation
        switch try queue.spool.read(entry) {
        case .operation(let read): stored = read
        case .notAnOperation(let reason): return unreadable(target, entry, reason)
        case .newerFormat(let version):
            return unreadable(target, entry, "a newer drainq has written it (format \(version))")
        case nil: return
        }
        let (operation, id) = (stored.operation, target.description)
        let last = operation.attempts.last
        var result = WaitResult(id: id, outcome: entry.state == .delivered ? .delivered : .failed, last: last)
        guard entry.state == .delivered else {
            let cause = last?.cause ?? "no reason recorded"
            let hasExpired = last?.ruleCode == .expired
            if hasExpired { result.outcome = .expired }
            result.error = cause
            return close(
                target, .failed, error: "'\(id)' \(hasExpired ? "has expired" : "failed"): \(cause)",
                hint: pasted("show", id), result)
        }
        result.answer = operation.keptAnswer
        if !asJSON, let kept = result.answer {
            let lineBreak = UInt8(ascii: "\n")
            standardOutput.write(bytes: (isInLine ? [lineBreak] : []) + kept.body)
            isInLine = kept.body.last.map { $0 != lineBreak } ?? isInLine
            if kept.isCut {
                Messages.notice(
                    "the answer to '\(id)' is cut: it was longer than 'answerLimit', or could not be read whole")
            }
        }
        // The line of the delivery has the answer, and is lost with it.
        if last?.outcome != .delivered, queue.configuration.route(of: entry.name.type).keepsAnswer {
            result.error = "its answer could not be kept"
            return close(target, .failed, error: "'\(id)' was delivered, but its answer could not be kept", result)
        }
        close(target, .ok, result)
    }

    /// Ends the wait for an operation that is finished, as its directory says, but whose file cannot be read.
    private mutating func unreadable(_ target: NamedTarget, _ entry: Entry, _ reason: String) {
        let (id, isDelivered) = (target.description, entry.state == .delivered)
        close(
            target, .failed,
            error:
                "'\(id)' \(isDelivered ? "was delivered, but its copy" : "failed, and its file") cannot be read: \(reason)",
            hint: pasted("check"),
            WaitResult(id: id, outcome: isDelivered ? .delivered : .failed, error: "its file cannot be read: \(reason)")
        )
    }

    /// Ends the wait for an operation that is in no directory any more, or never was. `ending` is how an operation of
    /// its id ended last. `isCertain`: each operation that ended since it was seen has its line.
    private mutating func disappear(_ target: NamedTarget, _ sight: Sight, _ ending: Endings.Ending?, isCertain: Bool) {
        let id = target.description
        func fail(_ outcome: WaitResult.Outcome, _ error: String, _ reason: String) {
            close(target, .failed, error: "'\(id)'\(error)", WaitResult(id: id, outcome: outcome, error: reason))
        }
        switch ending {
        case .event(let event)? where Self.ends(.event(event), sight):
            let (outcome, reason) = Self.words(event)
            fail(outcome, " \(reason)", reason)
        case .delivered(let name, let at, let isKept)? where Self.ends(.delivered(name, at: at, isKept: isKept), sight):
            let route = queue.configuration.route(of: name.type)
            // What 'drainq send' delivers has its answer from there.
            if !isKept || !route.keepsAnswer && sight.entry == nil {
                return close(target, .ok, WaitResult(id: id, outcome: .delivered))
            }
            if at + queue.configuration.keepsDeliveredFor <= .now() {
                if route.keepsAnswer, !asJSON {
                    Messages.notice("'\(id)' was delivered, and the time of its kept answer is over")
                }
                return close(target, .ok, WaitResult(id: id, outcome: .delivered))
            }
            let reason = "its copy could not be kept"
            fail(.delivered, " was delivered, but \(reason)", reason)
        case _ where sight.entry == nil:
            let reason = "no operation '\(id)' in the queue"
            close(
                target, .noInput, error: reason,
                hint: "if it was delivered long ago, keepAnswer and retention.delivered keep it for longer",
                WaitResult(id: id, outcome: .unknown, error: reason))
        default:
            let reason =
                isCertain
                ? "it is gone: its file was removed, and no run has delivered it"
                : "it is gone, and the queue could not note what ended it"
            fail(.gone, ": \(reason)", reason)
        }
    }

    /// Whether an ending is that of the operation that was seen, or of a later one of its id. An earlier operation may
    /// have had the id, or it may have been dropped, and put back by an import.
    private static func ends(_ ending: Endings.Ending, _ sight: Sight) -> Bool {
        guard let entry = sight.entry, let first = sight.first else { return true }
        return ending.createdAt.map { $0 >= entry.name.createdAt } ?? false && ending.at >= first - departure
    }

    /// Returns how an operation left the queue without a delivery.
    static func words(_ ending: LogEvent) -> (WaitResult.Outcome, String) {
        switch ending.kind {
        case .evicted: (.evicted, "was evicted: the queue was full, and limits.whenFull is dropOldest")
        case .superseded: (.superseded, "is superseded\(ending.cause.map { ": '\($0)' replaced it" } ?? "")")
        case .dropped: (.dropped, "was dropped by an operator")
        default:
            ending.ruleCode == Rule.Code.expired.rawValue
                ? (.expired, "has expired") : (.failed, "failed\(ending.cause.map { ": \($0)" } ?? "")")
        }
    }

    private mutating func close(
        _ target: NamedTarget, _ status: ExitStatus, error: String? = nil, hint: String? = nil, _ result: WaitResult
    ) {
        open[target] = nil
        statuses.append(status)
        if asJSON { return JSONLine.write(result) }
        if let error { Messages.error(error, hint: hint) }
    }

    /// Ends the wait after the time limit. Reports what each operation waits for.
    private mutating func giveUp() throws -> ExitStatus {
        // An id that was not seen may not exist: the remaining listings decide now.
        for _ in 1..<Self.missesOfGone where open.values.contains(where: { $0.misses > 0 }) { _ = try look() }
        if open.isEmpty { return .first(of: statuses) }
        let now = Timestamp.now()
        let known = try queue.destinationsOfThisMachine()
        var order = try QueueView(queue.spool, queue.configuration, known, at: now)
        let runs = try queue.spool.runs()
        for target in targets {
            guard let sight = open[target] else { continue }
            let entry = sight.entry
            let waiting = entry.flatMap { order.waiting(of: $0) }
            let sentence =
                entry.flatMap { entry in
                    waiting?.sentence(
                        now, id: entry.name.id, destination: known.table.destination(of: entry.name).name,
                        isAtWork: !runs.alive.isEmpty)
                } ?? entry.map { "it is claimed \($0.claimInWords(dead: runs.dead))" } ?? "it was not seen"
            close(
                target, waiting?.needsPerson ?? false ? .held : .deferred,
                error: "'\(target)' is not delivered yet: \(sentence)",
                WaitResult(id: target.description, outcome: .waiting, error: sentence))
        }
        return .first(of: statuses)
    }
}

extension FoundTarget {
    /// Whether no run will change the state any more.
    fileprivate var isOver: Bool {
        switch self {
        case .operation(let entry): entry.state == .delivered || entry.hasFailed
        case .quarantined: true
        }
    }

    fileprivate var isDelivered: Bool {
        if case .operation(let entry) = self { entry.state == .delivered } else { false }
    }
}

extension Endings.Ending {
    /// Whether an operation with the id of a delivered one ended after it, without a delivery.
    fileprivate func ends(afterCopy copy: Entry) -> Bool {
        if case .event(let event) = self { event.since.map { $0 >= copy.name.createdAt } ?? false } else { false }
    }
}
