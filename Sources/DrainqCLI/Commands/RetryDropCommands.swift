import CSystem
import Drain
import Policy
import Spool

/// `drainq retry`: back to the queue with no attempts counted, due at once, or one after the other at a rate.
func retry(_ arguments: RetryArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    var action = Action(verb: "retry", states: [.failed], objection: objectionToMoving) {
        queue, entry, moment throws(SpoolError) in
        try queue.spool.retry(entry, now: moment.now, notBefore: moment.due) != nil
    }
    action.onQuarantined = { queue, item, moment, isRehearsal in
        var admittance = Admittance(queue.configuration)
        let readmission = try queue.spool.readmit(
            item, within: &admittance, now: moment.now, notBefore: moment.due, isRehearsal: isRehearsal)
        switch readmission {
        case .refused(let reason): return .refused(reason)
        case .gone: return .gone
        case .admitted(let accepted):
            _ = tellDropped(accepted)
            return .done
        }
    }
    action.spacing = arguments.rate?.interval
    return try action.perform(arguments.action, environment)
}

/// `drainq drop`: gone for good, by a person's word.
func drop(_ arguments: DropArguments, environment: [String: String]) throws(CommandFailure) -> ExitStatus {
    var action = Action(verb: "drop", states: [.new, .deferred, .held, .failed], objection: objectionToMoving) {
        queue, entry, _ throws(SpoolError) in try queue.spool.drop(entry)
    }
    action.onQuarantined = { queue, item, _, isRehearsal in
        try isRehearsal || queue.spool.drop(item) ? .done : .gone
    }
    action.takesFollowers = arguments.takesFollowers
    return try action.perform(arguments.action, environment)
}

private func objectionToMoving(_ entry: Entry) -> String? {
    entry.state == .claimed || entry.state == .delivered ? "it is \(entry.state.word)" : nil
}

/// What a command does to each operation that is named by id, or that filters let through; ids of those it was done to
/// are printed.
struct Action {
    /// As in `cannot retry`.
    var verb: String
    /// The states that filters search unless `--state` names others.
    var states: Set<ShownState>
    /// Why it cannot be done to this one; `nil` when it can. Filters pass over what it objects to.
    var objection: (Entry) -> String?
    /// False where a run was faster.
    var body: (OpenQueue, Entry, Moment) throws(SpoolError) -> Bool
    /// What is done to a file in quarantine, where `--state quarantined` or its name asks for it; `nil` where that makes
    /// no sense. With `isRehearsal` nothing is changed.
    var onQuarantined: ((OpenQueue, QuarantineItem, Moment, _ isRehearsal: Bool) throws -> Answer)?
    /// How much later each is due than the one before; `nil` where nothing is said of due times.
    var spacing: Duration?
    /// Whether operations that are held behind failed ones go with them.
    var takesFollowers = false

    /// An operation that is held behind one that failed.
    private struct Follower {
        var entry: Entry
        var failed: OperationID
    }

    /// The result for a file in quarantine.
    enum Answer {
        case done
        case gone
        /// Why it has to stay there.
        case refused(String)
    }

    /// When it is done, and from when on the operation is to be due by it.
    struct Moment {
        var now: Timestamp
        var due: Timestamp?

        /// The same for the operation after this one.
        func next(_ spacing: Duration?) -> Moment {
            Moment(now: now, due: spacing.flatMap { spacing in due.map { $0 + spacing } })
        }
    }

    init(
        verb: String, states: Set<ShownState>, objection: @escaping (Entry) -> String?,
        body: @escaping (OpenQueue, Entry, Moment) throws(SpoolError) -> Bool
    ) {
        self.verb = verb
        self.states = states
        self.objection = objection
        self.body = body
    }

    func perform(_ options: ActionOptions, _ environment: [String: String]) throws(CommandFailure) -> ExitStatus {
        try failing { try perform(options, on: try OpenQueue(options.queue, environment)) }
    }

    func perform(_ options: ActionOptions, on queue: OpenQueue) throws -> ExitStatus {
        let now = Timestamp.now()
        var moment = Moment(now: now, due: spacing.map { _ in now })
        let limit = options.limit ?? .max
        var entries: [Entry] = []
        var items: [QuarantineItem] = []
        var status = ExitStatus.ok
        if options.ids.isEmpty {
            let known = try queue.knownDestinations()
            let filter = try Filter(options.filter, states: states, of: known, now: now)
            entries = try queue.entries(filter, known)
            if options.filter.states.isEmpty { entries.removeAll { objection($0) != nil } }
            if filter.states.contains(.quarantined) {
                if onQuarantined == nil {
                    throw CommandFailure(
                        .usage, "cannot \(verb) what is in quarantine", hint: "no run attempts it anyway")
                }
                items = try queue.spool.quarantined().filter(filter.includes)
            }
        } else {
            let mentions = try givenMentions(options.ids)
            let found = try queue.mentioned(mentions)
            for mention in mentions {
                if found[mention] == nil {
                    status = .failed
                    Messages.error("cannot \(verb) '\(mention)': no such operation in the queue", hint: mention.hint)
                }
                for one in found[mention] ?? [] {
                    switch one {
                    case .operation(let entry): entries.append(entry)
                    case .quarantined(let item): items.append(item)
                    }
                }
            }
        }
        entries = Array(entries.prefix(limit))
        items = Array(items.prefix(limit - entries.count))
        status = .first(of: [status, try performOnQuarantined(items, options, queue, &moment)])
        let before = try heldBehindFailed(queue)
        var released = before
        defer { tellReleased(released, queue, options) }
        if takesFollowers {
            let dropped = Set(entries.map(\.name.id))
            let followers = before.values.filter { dropped.contains($0.failed) }.map(\.entry)
            released = before.filter { !dropped.contains($0.value.failed) }
            // The newest first, and the failed ones last: where this ends early nothing goes on in between.
            entries =
                followers.filter { !dropped.contains($0.name.id) }
                .sorted { ($1.name.createdAt, $1.name.id) < ($0.name.createdAt, $0.name.id) } + entries
        }
        var hasBegun = false
        for start in stride(from: 0, to: entries.count, by: Self.batchSize) {
            let batch = entries[start..<min(start + Self.batchSize, entries.count)]
            do {
                try perform(on: batch, queue, options, &moment, &status, &hasBegun)
            } catch let error as SpoolError {
                throw CommandFailure(error, hasBegun: hasBegun)
            }
        }
        return status
    }

    /// The operations that are held behind one that failed, each with that one. None where no route asks for it, and where the command has
    /// nothing to do with failed operations.
    private func heldBehindFailed(_ queue: OpenQueue) throws -> [OperationID: Follower] {
        guard states.contains(.failed), queue.configuration.holdsBehindFailed else { return [:] }
        let known = try queue.knownDestinations()
        var held: [OperationID: Follower] = [:]
        for state in [QueueState.new, .deferred] {
            try queue.spool.forEachEntry(in: state) { entry in
                if let failed = known.failedHolder(of: entry.name) {
                    held[entry.name.id] = Follower(entry: entry, failed: failed)
                }
            }
        }
        return held
    }

    /// Says how many operations are not held any more because of what was done to those that failed.
    private func tellReleased(_ before: [OperationID: Follower], _ queue: OpenQueue, _ options: ActionOptions) {
        guard !before.isEmpty, let after = try? heldBehindFailed(queue) else { return }
        let count = before.keys.count { after[$0] == nil }
        guard count > 0, !options.verbosity.isQuiet else { return }
        let operations = count == 1 ? "1 operation that was" : "\(count) operations that were"
        Messages.notice("\(operations) held behind what failed \(count == 1 ? "goes" : "go") on")
    }

    /// The number of operations that share a sync. Their answers wait for it: half a second's worth of renames.
    private static let batchSize = 20_000

    private func perform(
        on batch: some Sequence<Entry>, _ queue: OpenQueue, _ options: ActionOptions, _ moment: inout Moment,
        _ status: inout ExitStatus, _ hasBegun: inout Bool
    ) throws {
        var done: [(entry: Entry, moment: Moment)] = []
        var refused: [(id: OperationID, reason: String)] = []
        func perform(on entry: Entry) throws(SpoolError) {
            if let reason = objection(entry) {
                refused.append((entry.name.id, reason))
                return
            }
            let isDone = if options.isRehearsal { true } else { try body(queue, entry, moment) }
            if isDone {
                done.append((entry, moment))
                moment = moment.next(spacing)
            } else {
                refused.append((entry.name.id, "a run has just taken it"))
            }
        }
        // A failed sync comes after the moves as well.
        defer { hasBegun = hasBegun || !done.isEmpty }
        var work = Result<Void, SpoolError>.success(())
        try queue.spool.together {
            work = Result { () throws(SpoolError) in for entry in batch { try perform(on: entry) } }
        }
        // Each answered change is durable, even if the work ended early.
        for (entry, moment) in done { answer(entry.name.id, entry, moment, options) }
        for (id, reason) in refused {
            status = .failed
            Messages.error("cannot \(verb) '\(id)': \(reason)", hint: pasted("show", id.description))
        }
        try work.get()
    }

    private func performOnQuarantined(
        _ items: [QuarantineItem], _ options: ActionOptions, _ queue: OpenQueue, _ moment: inout Moment
    ) throws -> ExitStatus {
        var status = ExitStatus.ok
        for item in items {
            let path = "quarantine/\(item.fileName)"
            let result =
                try onQuarantined?(queue, item, moment, options.isRehearsal) ?? .refused("it is quarantined")
            switch result {
            case .done:
                answer(ActionResult(state: QueueState.quarantine.word, path: path, due: moment.due), path, options)
                moment = moment.next(spacing)
            case .gone:
                status = .failed
                Messages.error("cannot \(verb) '\(path)': it is gone")
            case .refused(let reason):
                status = .failed
                Messages.error("cannot \(verb) '\(path)': \(reason)", hint: pasted("show", item.fileName))
            }
        }
        return status
    }

    private func answer(_ id: OperationID, _ entry: Entry, _ moment: Moment, _ options: ActionOptions) {
        answer(ActionResult(id: id, state: entry.state.word, due: moment.due), id.description, options)
    }

    /// The name alone, for another command to read; with the time where that is what a person wants to see.
    private func answer(_ result: ActionResult, _ name: String, _ options: ActionOptions) {
        if options.isJSON {
            JSONLine.write(result)
        } else if options.isRehearsal, let due = result.due {
            standardOutput.line("\(escapedForDisplay(name))  \(due)")
        } else {
            standardOutput.line(escapedForDisplay(name))
        }
    }
}
