import Drain
import Policy
import Spool

/// The reporter of a run: everything for a person who watches, calls for action for cron, NDJSON for a program.
struct RunReporter {
    /// The events that the reporter prints, and their form.
    enum Detail {
        /// Reports what calls for action: operations that failed or are held by themselves, quarantined files, holds
        /// that begin, and the end of a hold that was reported; operations that the server keeps refusing without a
        /// witness, a network that is newly absent, values that an answer did not leave, and evicted operations;
        /// input/output errors and agents that do not start.
        case actionable
        /// Also reports every attempt and a summary.
        case everything
        case json
    }

    /// The most failed operations, and files that are no operations, that `actionable` reports on lines of their own.
    private static let shown = 10

    let detail: Detail
    private let progress: Progress?
    /// The queue as the command line names it: a mail of cron may be about several.
    private let queue: String?
    /// Whether the report ends with the use of the time.
    private let showsStats: Bool
    /// The queue whose causes are reported once an hour; `nil` unless `detail` is `actionable`.
    private let spool: SpoolDirectory?
    /// What earlier runs have told, at `began`, and what this one adds.
    private var told = ReportLedger()
    private var news = ReportLedger()
    private var began = Timestamp.now()
    private var failures = 0
    private var quarantinedCount = 0
    /// The subjects of due mails that this run has reported and could not record.
    private var unrecorded: Set<ReportLedger.Subject> = []

    init(
        detail: Detail, progress: Progress? = nil, queue: String? = nil, showsStats: Bool = false,
        mailOf spool: SpoolDirectory? = nil
    ) {
        self.detail = detail
        self.progress = progress
        self.queue = queue
        self.showsStats = showsStats
        self.spool = detail == .actionable ? spool : nil
        readMail()
    }

    mutating func take(_ event: RunEvent) {
        progress?.count(event)
        // A reader of events gets each one at once, also those of a run that is killed.
        defer { if detail == .json { standardOutput.flush() } }
        switch event {
        case .chosen: break
        case .attempted(let attempt), .settledUnsent(let attempt): take(attempt)
        // `recovered` reports deliveries by dead runs.
        case .foundEnded(let attempt): if attempt.hasFailed || detail == .json { take(attempt) }
        case .quarantined(let item): quarantined(item)
        case .changed(let change): take(change)
        case .recovered(let recovery):
            for item in recovery.quarantined { quarantined(item) }
            let (returned, delivered) = (recovery.returned.count, recovery.delivered.count)
            for (count, verb, end) in [(returned, "returned", "claimed"), (delivered, "removed", "delivered")]
            where detail == .everything && count > 0 {
                Messages.say(.warning, "\(verb) \(InWords.count(count, "operation")) that a dead run had \(end)")
            }
        case .parked(let id, let destination, let record, let times):
            // Reported once, if no other operation has shown meanwhile which one is to blame.
            if detail == .everything && times == 1 || detail != .json && times == 2 {
                Messages.warning(
                    "'\(destination)' refuses '\(id)': \(record.cause); no other operation has shown yet whether the credentials are to blame",
                    hint: hint(for: Cause(record), "'\(pasted("retry", id.description))' sends it again"))
            }
        case .withheld(let id, let reason):
            if detail == .everything { Messages.warning("'\(id)' waits: \(reason)") }
        case .networkAbsent(let absence, let isNew):
            if detail != .json, isNew {
                Messages.warning(
                    "\(absence)", hint: "no attempt is counted; due operations wait until there is a network")
            }
        case .superseded(let name, by: let newer, let destination):
            if detail == .everything { Messages.info("\(name.id) \(name.type) superseded by \(newer)") }
            if detail == .json { JSONLine.write(SupersededView(name: name, newer: newer, destination: destination)) }
        case .notKept(let id, let name, let reason):
            if detail != .json {
                Messages.warning(
                    notKeptMessage(id, name, reason), hint: "operations of the same key that send the value wait for it"
                )
            }
        case .evicted(let name, _): Messages.say(.warning, evictedMessage(name))
        case .stopping(let inFlight, let grace):
            if detail == .everything {
                Messages.say(
                    .notice,
                    "stopping: waiting up to \(InWords.short(grace)) for \(InWords.count(inFlight, "attempt")) in flight",
                    hint: "a second signal cuts them off and puts the operations back")
            }
        case .inputOutputError(let error): Messages.error(error.description, hint: error.hint)
        case .agentsFailed(let reason): Messages.error(reason)
        }
    }

    mutating func finish(_ summary: RunSummary, _ status: ExitStatus) {
        progress?.finish()
        switch detail {
        case .json: JSONLine.write(SummaryView(summary, status))
        case .actionable: reportOthers()
        case .everything: Messages.notice(sentence(summary))
        }
        if showsStats {
            let spent = summary.timeSpent
            Messages.say(
                .notice, spent.sentence(of: summary.duration, mostInFlight: summary.mostInFlight), hint: spent.advice)
        }
    }

    /// Reports the end of a pass as the end of a run.
    mutating func endPass() { if detail == .actionable { reportOthers() } }

    /// Reports the number of what `actionable` left out.
    private mutating func reportOthers() {
        if failures > Self.shown {
            Messages.error(
                "and \(InWords.count(failures - Self.shown, "more operation")) failed",
                hint: pasted("list", "--state", "failed"))
        }
        if quarantinedCount > Self.shown {
            Messages.error(
                "and \(quarantinedCount - Self.shown) more files are in quarantine",
                hint: pasted("list", "--state", "quarantined"))
        }
        (failures, quarantinedCount) = (0, 0)
    }

    // MARK: - Mail

    /// Whether mail has something to tell or to record.
    func hasMail(_ destinations: DestinationLedger) -> Bool {
        var ended = told
        return spool != nil
            && (!news.isEmpty || told.hasDueMail(at: began) || !ended.endHolds(by: destinations).isEmpty
                || holds(destinations).contains { !told.hasTold($0.hold, of: $0.place) })
    }

    /// Reports what earlier runs kept quiet about. Records in the ledger of all runs what this one has reported and
    /// kept quiet about. The next call does so again, and reports nothing twice, unless the ledger is written
    /// (`haveMailed`). `destinations` is `nil` if their ledger cannot be read.
    mutating func mail(in ledger: inout ReportLedger, _ destinations: DestinationLedger?) {
        guard spool != nil else { return }
        ledger.add(news)
        if let destinations {
            for place in ledger.endHolds(by: destinations) where unrecorded.insert(.release(of: place)).inserted {
                Messages.notice("'\(place)' is no longer held")
            }
            for (place, hold) in holds(destinations) where !ledger.hasTold(hold, of: place) {
                mail(hold, of: place, in: &ledger)
            }
        }
        for (subject, waited) in ledger.takeDueMail(at: began) where unrecorded.insert(subject).inserted {
            guard let sentence = sentence(of: subject, waited) else { continue }
            Messages.error(sentence, hint: pasted("list", "--state", "failed"))
        }
    }

    /// Begins anew: the ledger of all runs has what this one has reported.
    mutating func haveMailed() { if spool != nil { readMail() } }

    /// Reads what earlier runs have told. A file that cannot be read counts as empty: the run then reports everything.
    private mutating func readMail() {
        (news, began, unrecorded) = (ReportLedger(), .now(), [])
        // try?: see above.
        told = spool.flatMap { try? StateFile.reports.read(ReportLedger.self, in: $0) } ?? ReportLedger()
    }

    /// The holds in the ledger of destinations, but for those by hand. This run, a run that died before it could tell,
    /// or `send` began them.
    private func holds(_ ledger: DestinationLedger) -> [(place: String, hold: DestinationState.Hold)] {
        let held = ledger.destinations.compactMapValues(\.hold).filter { !$0.value.isByHand }
        return held.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Reports a hold that no mail has told, and records this in the ledger of all runs.
    private mutating func mail(_ hold: DestinationState.Hold, of place: String, in ledger: inout ReportLedger) {
        let cause = hold.shownCause
        // Later failures of a cause for which the storm guard holds are told with the hold.
        let storm = cause.code == .storm ? told.counted(.mail(cause, at: place), in: news) : nil
        ledger.beginHold(of: place, storm: storm, at: max(began, hold.since))
        if unrecorded.insert(.hold(of: place)).inserted { sayHeld(place, cause) }
    }

    private func sayHeld(_ place: String, _ cause: Cause) {
        let release = pasted("release", "--destination", place)
        Messages.error("'\(place)' is held: \(cause.text)", hint: hint(for: cause, "'\(release)' ends the hold"))
    }

    /// Returns the report of failures that runs without a terminal kept quiet; `nil` if this run has told them all.
    private func sentence(of subject: ReportLedger.Subject, _ waited: ReportLedger.Entry) -> String? {
        let isQuiet = told.isQuiet(subject, at: began)
        let count = (waited.owed?.count ?? 0) - (isQuiet ? 0 : news.owed(subject))
        let (place, isHeld) = ("'\(subject.destination ?? "")'", waited.stands == true)
        if count <= 0 { return nil }
        let held = isHeld ? "; the destination is held" : ""
        // No mail has told of the cause before: `check --repair` has found the failures.
        guard let last = waited.told else {
            return "\(InWords.count(count, "operation")) failed at \(place): \(subject)\(held)"
        }
        let time = InWords.rough(max(began - last, .zero))
        return "\(InWords.count(count, "more operation")) failed at \(place) in the last \(time): \(subject)\(held)"
    }

    // MARK: - One event

    private mutating func take(_ change: LogEvent) {
        let place = change.destination ?? ""
        switch change.kind {
        case .held:
            // A mail tells of the holds that stand at the end, and of those that have ended.
            if detail == .everything { sayHeld(place, change.causeValue) }
        case .released: if detail == .everything { Messages.notice("'\(place)' is no longer held") }
        case .down, .up, .gap: if detail == .everything { Messages.notice(LogStory.words(change)) }
        default: break
        }
    }

    private mutating func take(_ event: AttemptEvent) {
        if event.hasFailed {
            if spool != nil {
                let subject = news.oweMail(of: event, knowing: told)
                // No cause is told twice within the hour. The exit status and the metrics still count the failure.
                if told.isQuiet(subject, at: began) { return }
            }
            failures += 1
        }
        switch detail {
        case .json: JSONLine.write(AttemptView(event))
        case .everything:
            if !event.hasFailed, !event.isHeldByItself, progress?.replacesAttemptLines == true { break }
            Messages.say(event.level, line(event))
        case .actionable:
            if event.hasFailed, failures <= Self.shown {
                Messages.error(
                    "'\(event.id)' (\(event.type), \(event.destination)) failed: \(event.record.cause)",
                    hint: pasted("show", event.id.description))
            } else if event.isHeldByItself {
                Messages.error(
                    "'\(event.id)' is held: \(event.record.rule)",
                    hint:
                        "'\(pasted("retry", event.id.description))' sends it again, '\(pasted("drop", event.id.description))' removes it"
                )
            }
        }
    }

    private mutating func quarantined(_ item: QuarantineItem) {
        quarantinedCount += 1
        if detail == .actionable, quarantinedCount > Self.shown { return }
        switch detail {
        case .json: JSONLine.write(QuarantineView(item: item))
        case .actionable, .everything: sayQuarantined(item, in: queue)
        }
    }

    // MARK: - Words

    /// Returns the line of an attempt: `6f96… t delivered: 204 in 12ms`.
    private func line(_ event: AttemptEvent) -> String {
        let name = "\(event.id) \(event.type)"
        if event.settlement.disposition == .superseded {
            return "\(name) superseded: it failed, and a newer operation replaces it"
        }
        var text = "\(name) \(event.record.outcome.rawValue): \(event.record.cause)"
        switch event.record.outcome {
        case .deferred:
            let count = event.attemptsAllowed.map { "\(event.attempts) of \($0)" } ?? "\(event.attempts)"
            text += event.attempts > 0 ? ", attempt \(count)" : ", not counted"
            if let due = event.nextDue {
                text += ", again \(InWords.moment(due, from: event.record.at + event.record.duration))"
            }
        case .delivered: text += " in \(InWords.short(event.record.duration))"
        case .held, .failed: break
        }
        return text
    }

    /// Returns what mends the cause, or what the operations do meanwhile, and then the way on.
    private func hint(for cause: Cause, _ way: String) -> String {
        "\(CauseWords.remedy(cause) ?? "its operations wait, and no attempt is counted"); \(way)"
    }

    /// Returns what the run did and in what time, then what it leaves in the queue and why.
    private func sentence(_ summary: RunSummary) -> String {
        func counted(_ counts: [(Int, String)]) -> [String] {
            counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        }
        let done = [
            (summary.deferred, "deferred"), (summary.ambiguous, "held as ambiguous"),
            (summary.superseded, "superseded"),
            (summary.failed, summary.expired > 0 ? "failed (\(summary.expired) expired)" : "failed"),
            (summary.quarantined, "quarantined"), (summary.cutOff, "cut off"),
        ]
        let left = [
            (summary.leftDue, "still due"), (summary.waiting, "waiting for their destination"),
            (summary.held, "held"), (summary.paused, "paused"),
        ]
        var text = (["\(summary.delivered) delivered"] + counted(done)).joined(separator: ", ")
        text += " in \(InWords.short(summary.duration))"
        if !counted(left).isEmpty { text += "; " + counted(left).joined(separator: ", ") }
        switch summary.end {
        case .done: break
        case .paused where summary.delivered == 0 && counted(done).isEmpty && summary.attempts == 0:
            text = "the queue is paused: no attempt was made"
        case .paused: text += "; stopped because the queue was paused"
        case .busy: text = "another run works on the queue: no attempt was made"
        case .timeUp:
            text += "; stopped by --max-time" + (summary.leavesWaiting ? " before the queue was empty" : "")
        case .signal(let number):
            text += "; stopped by signal \(number)"
            if summary.leftDue + summary.cutOff > 0 { text += ", the rest stays in the queue" }
        case .broken(let reason): text += "; stopped: \(reason)"
        }
        if summary.isLeftToOthers { text += "; another run sends the operations that have an order" }
        if summary.leftForeign { text += "; more files in 'new' wait for the next run" }
        if let reason = summary.conditions { text += "; \(reason)" }
        let end = summary.startedAt + summary.duration
        if let due = summary.nextDue, summary.leftDue == 0 {
            text += "; next due \(InWords.moment(max(due, end), from: end))"
        }
        return text
    }
}

extension AttemptRecord {
    /// The excerpt, unless it is empty or the rule says the same.
    var excerptBesideRule: String? {
        excerpt.flatMap { $0.isEmpty || rule.utf8.elementsEqual($0.utf8) ? nil : $0 }
    }
}

extension AttemptEvent {
    fileprivate var level: Messages.Level {
        if hasFailed { return .error }
        switch record.outcome {
        case .delivered: return .info
        case .deferred, .held, .failed: return .notice
        }
    }
}

/// Reports a file in quarantine. `queue` is the queue as the command line names it; `nil` for the default queue.
func sayQuarantined(_ item: QuarantineItem, in queue: String?) {
    Messages.error(
        "'\(item.originalName ?? item.fileName)' is in quarantine: \(item.reason ?? "no reason recorded")",
        hint: "kept as '\(queue.map { $0 + "/" } ?? "")quarantine/\(item.fileName)'")
}

/// Returns the message about an answer without a value that its route keeps.
func notKeptMessage(_ id: OperationID, _ name: String, _ reason: KeepError) -> String {
    "cannot keep '\(name)' for the key of '\(id)': \(reason)"
}
