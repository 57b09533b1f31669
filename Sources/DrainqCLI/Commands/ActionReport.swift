import Drain
import Policy
import Spool

extension ActionOptions {
    /// Performs an action on the operations that the options choose, and reports it. `verb` is the name of the command,
    /// for messages and the log.
    ///
    /// `remedy` returns the command that helps with an operation which cannot change; `nil` if there is none.
    /// `besides` are the destinations that the command has changed.
    func perform(
        _ action: OperatorAction, by verb: String, on queue: OpenQueue, besides changed: [String] = [],
        remedy: @escaping (Entry) -> String? = { _ in nil }
    ) throws -> ExitStatus {
        let report = ActionReport(options: self, verb: verb, queue: queue, remedy: remedy)
        let choice: OperationChange.Choice
        if ids.isEmpty {
            let known = try queue.knownDestinations()
            let filter = try OperationFilter(filter, states: action.states, of: known, now: .now())
            if filter.states.contains(.quarantined), !action.takesQuarantined {
                throw CommandFailure(.usage, "cannot \(verb) files in quarantine", hint: "runs do not attempt them")
            }
            choice = .filter(filter, known, isStrict: !self.filter.states.isEmpty)
        } else {
            choice = .targets(try namedTargets(ids))
        }
        if case .drop = action, isForAll, !isDryRun, case .filter(let filter, let known, isStrict: _) = choice {
            guard try confirmsDrop(of: queue.spool.entries(filter, known).entries) else { return .failed }
        }
        var change = OperationChange(
            action, in: queue.spool, queue.configuration,
            OperationChange.Options(limit: limit ?? .max, isDryRun: isDryRun), clock: .ofProcess
        ) { report.take($0) }
        defer {
            if !isDryRun {
                queue.noteSeen(report.named)
                queue.log(verb, of: report.changed, count: report.changedCount)
                queue.noteEvictions(report.evicted)
            }
        }
        if isForAll, filter.states.isEmpty { try reportLeft(by: action, verb, queue) }
        do throws(SpoolError) {
            try change.perform(on: choice)
        } catch {
            throw CommandFailure(error, hasBegun: change.hasBegun)
        }
        if case .filter(_, let known, isStrict: _) = choice, !report.hasChosen, !isForAll, changed.isEmpty,
            !global.verbosity.isQuiet
        {
            try queue.reportNoMatch(filter, known)
        }
        return report.status
    }

    /// Reports what a command for all operations leaves, with the command that takes it.
    fileprivate func reportLeft(by action: OperatorAction, _ verb: String, _ queue: OpenQueue) throws {
        if !action.takesQuarantined || global.verbosity.isQuiet { return }
        let filter = OperationFilter(states: [.held, .claimed])
        let known = try queue.knownDestinations()
        let entries = action.states.contains(.held) ? [] : try queue.spool.entries(filter, known).entries
        // A retry ends only their own holds.
        let held = entries.count { !$0.isInFlight && $0.name.isHeld }
        let quarantined = try queue.spool.quarantined().count
        for (count, what, state) in [(held, "held operation", ShownState.held), (quarantined, "file", .quarantined)]
        where count > 0 {
            let place = state == .quarantined ? " in quarantine" : ""
            Messages.notice(
                "left \(InWords.count(count, what))\(place): '\(pasted(verb, "--state", state.rawValue))' takes \(count == 1 ? "it" : "them")"
            )
        }
    }

    /// Asks at a terminal whether to drop these operations. Returns true without a question elsewhere.
    fileprivate func confirmsDrop(of entries: [Entry]) throws -> Bool {
        let entries = entries.filter { !$0.isInFlight }
        guard Terminal.isOnStandardInput, Terminal.isOnStandardError, !entries.isEmpty else { return true }
        let failed = entries.count { $0.state == .failed }
        let parts = [(entries.count - failed, "waiting"), (failed, "failed")].filter { $0.0 > 0 }
        let counts = parts.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        Messages.question(
            "remove \(InWords.count(min(entries.count, limit ?? .max), "operation")) (\(counts)) for good? "
                + "'drainq export --to FILE --then-drop' saves them first. [y/N]")
        let answer = String(decoding: try InputSource("-").next(atMost: 100), as: UTF8.self)
        if ["y", "yes"].contains(answer.trimmed.lowercased()) { return true }
        Messages.notice("no operation was removed")
        return false
    }
}

/// The report of a change to operations: the id of each that changed on standard output, and the status.
private final class ActionReport {
    private let options: ActionOptions
    /// The verb of messages, as in `cannot retry`.
    private let verb: String
    private let remedy: (Entry) -> String?
    private let queue: OpenQueue
    private(set) var status = ExitStatus.ok
    /// Whether an operation or a file was chosen, also one that the command leaves.
    private(set) var hasChosen = false
    /// The number of operations and files that changed, and the first of their ids.
    private(set) var changedCount = 0
    private(set) var changed: [String] = []
    /// The marks of failed operations and files in quarantine that were named and left, at most `SeenFiles.most`.
    private(set) var named: [String] = []
    /// The operations that made room for files that came back from quarantine.
    private(set) var evicted: [EntryName] = []

    init(options: ActionOptions, verb: String, queue: OpenQueue, remedy: @escaping (Entry) -> String?) {
        self.queue = queue
        self.options = options
        self.verb = verb
        self.remedy = remedy
    }

    func take(_ event: OperationChangeEvent) {
        if case .skipped(let entries) = event, entries.isEmpty { return }
        hasChosen = true
        switch event {
        case .missing(let target):
            let name = target.description
            // try?: only the hint is missing.
            let isDestination = (try? queue.knownDestinations().names.contains(name)) ?? false
            fail(
                name, "no such operation in the queue",
                hint: isDestination ? "it is a destination: \(pasted(verb, "--destination", name))" : target.hint)
        case .unread(let count): reportUnread(count)
        case .skipped(let entries): if !options.global.verbosity.isQuiet { reportSkipped(entries) }
        case .changed(let entry, let due):
            let id = entry.name.id
            printChanged(ActionResult(id: id, state: entry.state.word, due: due), id.description)
        case .refused(let entry, let objection):
            let id = entry.name.id.description
            if entry.hasFailed { note { try SeenFiles.mark(of: entry, in: queue.spool) } }
            let way = objection.way(for: id, in: entry.state) ?? (objection == .isClaimed ? nil : remedy(entry))
            fail(id, objection.words, hint: objection == .isGone ? nil : way ?? pasted("show", id))
        case .changedFile(let item, let due):
            printChanged(ActionResult(state: QueueState.quarantine.word, path: item.place, due: due), item.place)
        case .refusedFile(let item, let reason):
            note { try SeenFiles.mark(of: item, in: queue.spool) }
            fail(item.place, reason ?? "it is quarantined", hint: again(item) ?? pasted("show", item.fileName))
        case .leftFile(let item, let objection):
            fail(item.place, objection.words, hint: objection.way(for: item.fileName, in: .quarantine))
        case .fileGone(let item): fail(item.place, OperatorAction.Objection.isGone.words, hint: nil)
        case .madeRoom(let accepted):
            evicted += accepted.evicted.map(\.name)
            _ = reportEvicted(accepted)
        case .released(let count): reportReleased(count, isQuiet: options.global.verbosity.isQuiet)
        }
    }

    /// Notes the mark of a file that the command has named and left.
    private func note(_ mark: () throws -> String?) {
        // try?: what cannot be looked at stays new.
        if named.count < SeenFiles.most, let mark = try? mark() { named.append(mark) }
    }

    private func again(_ item: QuarantineItem) -> String? {
        verb == RetryCommand.name ? commandBesideRetry(item, in: queue) : nil
    }

    private func fail(_ name: String, _ reason: String, hint: String?) {
        status = .failed
        Messages.error("cannot \(verb) '\(name)': \(reason)", hint: hint)
    }

    /// Reports the operations that the filter skips and another command changes.
    private func reportSkipped(_ entries: [Entry]) {
        var counts: [String: Int] = [:]
        for entry in entries { if let command = remedy(entry) { counts[command, default: 0] += 1 } }
        for (command, count) in counts.sorted(by: { $0.key < $1.key }).prefix(10) {
            Messages.notice("did not \(verb) \(InWords.count(count, "operation")): '\(command)' does it")
        }
    }

    /// Prints the name alone, for another command to read. A dry run also prints the due time.
    private func printChanged(_ result: ActionResult, _ name: String) {
        changedCount += 1
        if changed.count < LogEvent.mostIDs { changed.append(name) }
        if options.global.isJSON {
            JSONLine.write(result)
        } else if options.isDryRun, let due = result.due {
            standardOutput.line("\(escapedForDisplay(name))  \(due.rfc3339)")
        } else {
            standardOutput.line(escapedForDisplay(name))
        }
    }
}

/// Reports operations that a change to failed ones has released.
func reportReleased(_ count: Int, isQuiet: Bool) {
    if isQuiet { return }
    Messages.notice("\(InWords.are(count, "operation")) no longer held behind a failed or quarantined one")
}

extension OperatorAction.Objection {
    /// Why the operation cannot change.
    var words: String {
        switch self {
        case .state(let state): "it is \(state.word)"
        case .isHeld: "it is held already"
        case .isNotHeld: "it is not held individually"
        case .isClaimed: "a run has just claimed it"
        case .hasMoved(let state): "another process has just moved it: it is \(state.word) now"
        case .isDamaged(let reason): "it is damaged: \(reason)"
        case .isGone: "it is not there any more"
        case .isReplaced: "another operation has taken its place"
        case .isSuperseded(let newer): "'\(newer)' is a newer value of its key"
        case .isHeldBehind(let failed): "it is held behind '\(failed)', which failed"
        case .hasExpired: "it has expired, and a run would fail it unsent"
        }
    }

    /// Why the operation or file of this name cannot change, and what an operator can do instead.
    func sentence(for name: String, in state: QueueState) -> String {
        "\(words): \(way(for: name, in: state) ?? pasted("drop", name))"
    }

    /// What an operator can do instead, for the operation or file of this name; `nil` if the objection does not say.
    func way(for name: String, in state: QueueState) -> String? {
        switch self {
        case .isSuperseded(let newer) where state == .new || state == .deferred:
            "a run removes this older value; after '\(pasted("drop", newer.description))' a run sends it"
        case .isSuperseded:
            "the newer value replaces it when it is delivered; "
                + "'\(pasted("retry", "--as-newest", name))' sends this older value instead"
        case .hasExpired(isOwn: false) where state == .new || state == .deferred:
            "a run fails it; after that '\(pasted("retry", "--as-newest", name))' sends it"
        case .hasExpired(isOwn: false): pasted("retry", "--as-newest", name)
        // Only an operation can be exported.
        case .hasExpired(isOwn: true) where state == .quarantine: "add its content again with another 'expiresAt'"
        case .hasExpired(isOwn: true):
            "\(pasted("export", name)), another 'expiresAt', and \(pasted("import", "--replace")) | \(pasted("retry", "-"))"
        case .isHeldBehind(let failed): pasted("retry", failed.description)
        case .state, .isHeld, .isNotHeld, .isClaimed, .hasMoved, .isGone, .isDamaged, .isReplaced: nil
        }
    }
}

/// Returns the command that reads a file in quarantine where `retry` cannot; `nil` if `retry` can.
func commandBesideRetry(_ item: QuarantineItem, in queue: OpenQueue) -> String? {
    let path = "\(queue.spool.path)/\(item.place)"
    if item.isReadable { return nil }
    if item.reading != nil { return pasted("import", "--replace", path) }
    // try?: a file that cannot be read has no command.
    return switch try? queue.spool.likelyForm(of: item) {
    case .export: pasted("import", path)
    case .envelope: pasted("add", "--envelope", path)
    case nil, .payload, .body, .replacement, .foreign: pasted("add", "--type", "TYPE", path)
    }
}

extension QuarantineItem {
    fileprivate var place: String { "quarantine/\(fileName)" }
}
