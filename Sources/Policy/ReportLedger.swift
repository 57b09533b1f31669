/// What runs have counted and told, to whom, and what they still have to tell: `state/reports.json`.
///
/// ```
/// { "version": 1, "counters": { "runs": { "0": 12 }, "delivered": 38, … }, "log": [ line, … ], "reports": [
///     { "to": "hooks", "event": "held", "destination": …, "told": time, "stands": true },
///     { "to": "mail", "event": "failed", "destination": …, "cause": "422", "told": time, "owed": { … } } ] }
/// ```
/// The one place that decides what is new to a listener, what goes on, and what has ended. A condition, such as a hold,
/// is compared with what was told of it: whoever began or ended it, the next run tells it. Operations and files are
/// counted until the listener hears of them. A run collects in a ledger of its own, and adds it to the file at its end,
/// in one write: a failure whose report is in the file is counted, and owed to every listener. Losing the file loses
/// counts and costs a report too many.
package struct ReportLedger: Hashable, Sendable {
    package static let version = 1
    /// The minimum time between two mails about the same cause at the same destination.
    package static let mailInterval = Duration.seconds(3600)
    /// The upper bound of entries of a listener, and of the lines that the log is owed. Operations with their own urls
    /// may have any number of destinations.
    static let mostRemembered = 1000
    /// The most causes of one status at one destination that words tell apart: a server may write operations' names.
    static let mostWords = 3

    package enum Listener: String, Codable, CaseIterable, Sendable {
        /// The hooks of the configuration, once for each event and destination in `atMostEvery`.
        case hooks
        /// What a run without a terminal prints, and cron mails: once for each cause and destination in `mailInterval`.
        case mail
        /// The queue's log: each change of a hold or an outage once.
        case log
    }

    /// What a listener hears of as one thing.
    package struct Subject: Hashable, Sendable, CustomStringConvertible {
        var listener = Listener.hooks
        /// `nil` for what keeps every run from its work, such as a broken configuration.
        var event: Hooks.Event?
        /// `nil` for quarantined files, which have no destination, and for runs, which have many.
        package var destination: String?
        /// In mails the status, the error, or, if neither decided, the rule.
        var cause = ""
        /// In mails the first words of the answer, without the parts that differ between operations.
        var words = ""

        package var description: String { words.isEmpty ? cause : "\(cause) (\(words))" }

        /// The subject of mails about operations that failed for good for this cause.
        package static func mail(_ cause: Cause, at destination: String) -> Subject {
            Subject(
                listener: .mail, event: .failed, destination: destination,
                cause: cause.status.map { "\($0)" } ?? cause.error ?? cause.code?.rawValue ?? cause.words ?? "",
                words: cause.status == nil ? "" : Cause.fixedWords(of: cause.words ?? ""))
        }

        /// The subject of mails about the hold of a destination.
        package static func hold(of destination: String) -> Subject {
            Subject(listener: .mail, event: .held, destination: destination)
        }

        /// The subject of mails about the end of that hold.
        package static func release(of destination: String) -> Subject {
            Subject(listener: .mail, event: .released, destination: destination)
        }

        /// Whether the storm guard may hold the destination for the subject.
        fileprivate var isStorm: Bool { listener == .mail && event == .failed }

        fileprivate var order: (String, String, String, String, String) {
            (listener.rawValue, event?.rawValue ?? "", destination ?? "", cause, words)
        }
    }

    package struct Entry: Hashable, Sendable {
        /// The time of the last report.
        package fileprivate(set) var told: Timestamp?
        /// The report that waits for the end of the quiet time.
        package fileprivate(set) var owed: News?
        /// Whether a condition was told to begin, and not to end. Of failures in mails: whether the storm guard holds
        /// the destination for their cause, and no mail has said so. `nil` in the ledger of a run: no change.
        package fileprivate(set) var stands: Bool?
    }

    private var entries: [Subject: Entry] = [:]
    /// What runs, and `send`, have counted.
    package var counters = Counters()
    /// The lines that the log is owed, oldest first.
    package private(set) var lines: [LogEvent] = []

    package init() {}

    package var isEmpty: Bool { self == ReportLedger() }

    /// Adds a report, for hooks unless given.
    package mutating func owe(_ news: News, to subject: Subject? = nil) {
        let subject = subject ?? Subject(event: news.event, destination: news.destination)
        var entry = entries[subject] ?? Entry()
        if entry.owed?.add(news) == nil { entry.owed = news }
        entries[subject] = entry
    }

    /// Adds what a run has collected.
    package mutating func add(_ run: ReportLedger) {
        for (subject, new) in run.entries {
            if let owed = new.owed { owe(owed, to: subject) }
            if let told = new.told { entries[subject, default: Entry()].told = told }
            if let stands = new.stands { entries[subject, default: Entry()].stands = stands }
        }
        counters.add(run.counters)
        oweNew(run.lines)
    }

    // MARK: - The log

    /// Adds lines for the log. Beyond `mostRemembered` the oldest lines go.
    package mutating func owe(_ lines: [LogEvent]) {
        self.lines = (self.lines + lines).suffix(Self.mostRemembered)
    }

    /// Whether the log is owed the line of a failure.
    package var owesFailure: Bool { lines.contains { $0.kind == .failed } }

    /// Forgets the lines: the log has them.
    package mutating func haveLogged() { lines = [] }

    /// Records the change of a hold or an outage as told to the log. Returns whether the log lacked the line. Another
    /// run may have told the change: see `changes(to:at:)`. An operator's line names the operator, and is new.
    private mutating func recordChange(_ line: LogEvent) -> Bool {
        let (event, stands): (Hooks.Event, Bool)
        switch line.kind {
        case .held: (event, stands) = (.held, true)
        case .released: (event, stands) = (.held, false)
        case .down: (event, stands) = (.down, true)
        case .up: (event, stands) = (.down, false)
        default: return true
        }
        let subject = Subject(listener: .log, event: event, destination: line.destination)
        let told = entries[subject]
        if line.user == nil, told?.stands == stands, let time = told?.told, time >= line.at { return false }
        if !stands || told?.stands == true || entries.count(where: Self.stands) < Self.mostRemembered {
            entries[subject] = Entry(told: line.at, stands: stands)
        }
        return true
    }

    /// Adds the lines that the log lacks.
    private mutating func oweNew(_ lines: [LogEvent]) {
        guard let last = lines.last else { return }
        owe(lines.filter { recordChange($0) })
        forget(.log, Self.mailInterval, last.at)
    }

    private static func stands(_ subject: Subject, _ entry: Entry) -> Bool {
        subject.listener == .log && entry.stands == true
    }

    /// Adds the lines of the holds and outages that `changes` returns.
    package mutating func oweChanges(to ledger: DestinationLedger, at now: Timestamp) {
        oweNew(changes(to: ledger, at: now))
    }

    /// Returns the lines of holds and outages that the log lacks: the difference between what the log was told and what
    /// holds now. The process that began or ended them may have died. Each hold by hand has the line of its command.
    package func changes(to ledger: DestinationLedger, at now: Timestamp) -> [LogEvent] {
        let standing = entries.filter(Self.stands)
        func lacks(_ event: Hooks.Event, of name: String, since: Timestamp) -> Bool {
            let told = standing[Subject(listener: .log, event: event, destination: name)]?.told
            return told.map { $0 < since } ?? (standing.count < Self.mostRemembered)
        }
        let begun = ledger.destinations.sorted { $0.key < $1.key }.flatMap { name, state in
            var told = state
            if let hold = state.hold, !hold.isByHand, lacks(.held, of: name, since: hold.since) { told.hold = nil }
            if let incident = state.incident, incident.isDown, lacks(.down, of: name, since: incident.since) {
                told.incident?.isDown = false
            }
            return told.changes(to: state, of: name, at: now)
        }
        let ended = standing.sorted { $0.key.order < $1.key.order }.compactMap { subject, entry -> LogEvent? in
            let state = ledger[subject.destination ?? ""]
            if subject.event == .held ? state.hold != nil : state.incident?.isDown == true { return nil }
            var event = LogEvent(subject.event == .held ? .released : .up, at: now, destination: subject.destination)
            event.since = entry.told
            return event
        }
        return ended + begun
    }

    // MARK: - Mail

    /// Returns whether a mail about the subject is not older than `mailInterval`.
    package func isQuiet(_ subject: Subject, at now: Timestamp) -> Bool {
        isRecent(subject, Self.mailInterval, now)
    }

    /// Returns the subject under which a failure counts: its own, or one of the same status at the destination if there
    /// are too many of these, here or in the ledger of the run.
    package func counted(_ subject: Subject, in run: ReportLedger) -> Subject {
        if entries[subject] != nil || run.entries[subject] != nil { return subject }
        let alike = Set(entries.keys).union(run.entries.keys).filter {
            $0.event == subject.event && $0.destination == subject.destination && $0.cause == subject.cause
                && $0.listener == subject.listener
        }
        if alike.count < Self.mostWords { return subject }
        return alike.min { $0.words < $1.words } ?? subject
    }

    /// Returns the number of reports that wait about a subject.
    package func owed(_ subject: Subject) -> Int { entries[subject]?.owed?.count ?? 0 }

    /// Records the mail about a hold. `storm` is the subject of the failures for which the storm guard holds.
    package mutating func beginHold(of destination: String, storm: Subject?, at now: Timestamp) {
        entries[.hold(of: destination)] = Entry(told: now, stands: true)
        if let storm { entries[storm, default: Entry()].stands = true }
    }

    /// Records the end of the holds that mails have told, but of those in the ledger of destinations, whoever has ended
    /// them. Returns the destinations that no operator has released, sorted.
    package mutating func endHolds(by ledger: DestinationLedger) -> [String] {
        var ended: [String] = []
        for (subject, entry) in entries where subject.listener == .mail && entry.stands == true {
            let state = ledger[subject.destination ?? ""]
            if state.hold != nil { continue }
            entries[subject]?.stands = false
            let isByHand = state.released.map { $0 >= entry.told ?? $0 } ?? false
            if subject.event == .held, !isByHand { ended.append(subject.destination ?? "") }
        }
        return ended.sorted()
    }

    /// Returns whether a mail has told of this hold, or of its cause. An earlier hold may have ended unseen.
    package func hasTold(_ hold: DestinationState.Hold, of destination: String) -> Bool {
        guard let entry = entries[.hold(of: destination)], entry.stands == true, let told = entry.told else {
            return false
        }
        return told >= hold.since
    }

    /// Returns whether a mail about failures is due.
    package func hasDueMail(at now: Timestamp) -> Bool {
        entries.contains { isDue($0.key, $0.value, .mail, Self.mailInterval, now) }
    }

    /// Returns the due mails about failures, with what waited for them, by destination and cause. Records them as told.
    package mutating func takeDueMail(at now: Timestamp) -> [(subject: Subject, waited: Entry)] {
        takeDue(.mail, Self.mailInterval, now)
    }

    /// Records what keeps every run from its work. Returns whether the mail about it is due.
    package mutating func tell(_ complaint: String, at now: Timestamp) -> Bool {
        let subject = Subject(listener: .mail, words: complaint)
        if isQuiet(subject, at: now) { return false }
        entries[subject] = Entry(told: now)
        forget(.mail, Self.mailInterval, now)
        return true
    }

    // MARK: - Hooks

    /// Returns the reports that hooks take now, sorted by event and destination, and records them as told. `conditions`
    /// has the destinations that each condition applies to now.
    package mutating func takeDue(
        by hooks: Hooks, _ conditions: [Hooks.Event: [String: HookCondition]] = [:], at now: Timestamp
    ) -> [News] {
        entries = entries.filter { $0.key.listener != .hooks || $0.key.event.map(hooks.takes) == true }
        let changed = conditions.flatMap { changes(of: $0, to: $1, hooks, now) }
        let counts = takeDue(.hooks, hooks.atMostEvery, now).compactMap(\.waited.owed)
        return (counts + changed).filter { hooks.commands[$0.event] != nil }
            .sorted { ($0.event.rawValue, $0.destination ?? "") < ($1.event.rawValue, $1.destination ?? "") }
    }

    /// Compares what was told of a condition with what holds now. A change within `atMostEvery` of its last report is
    /// told by a later run, unless it was undone.
    private mutating func changes(
        of event: Hooks.Event, to present: [String: HookCondition], _ hooks: Hooks, _ now: Timestamp
    ) -> [News] {
        guard hooks.takes(event), let end = event.opposite else { return [] }
        func mayTell(_ event: Hooks.Event, _ destination: String) -> Bool {
            let subject = Subject(event: event, destination: destination)
            return hooks.commands[event] == nil || !isRecent(subject, hooks.atMostEvery, now)
        }
        let standing = Set(
            entries.filter { $0.key.listener == .hooks && $0.key.event == event && $0.value.stands == true }
                .compactMap(\.key.destination))
        let ended = standing.filter { present[$0] == nil && mayTell(end, $0) }
        let room = max(0, Self.mostRemembered - (standing.count - ended.count))
        let begun = present.filter { !standing.contains($0.key) && $0.value.mayBegin && mayTell(event, $0.key) }
            .sorted { $0.key < $1.key }.prefix(room)
        for destination in ended {
            entries[Subject(event: event, destination: destination)]?.stands = false
            entries[Subject(event: end, destination: destination)] = Entry(told: now)
        }
        for (destination, _) in begun {
            entries[Subject(event: event, destination: destination)] = Entry(told: now, stands: true)
        }
        return begun.map { News(event, $0.key, reason: $0.value.reason) }
            + ended.map { News(end, $0, reason: end.reasonOfEnd) }
    }

    // MARK: - All

    /// Returns whether the last report is at most `interval` old. One in the future is not: the clock was set back.
    private func isRecent(_ subject: Subject, _ interval: Duration, _ now: Timestamp) -> Bool {
        entries[subject]?.told.map { $0 <= now && now - $0 < interval } ?? false
    }

    private func isDue(
        _ subject: Subject, _ entry: Entry, _ listener: Listener, _ interval: Duration, _ now: Timestamp
    ) -> Bool {
        subject.listener == listener && (entry.owed != nil || subject.isStorm && entry.stands == true)
            && !isRecent(subject, interval, now)
    }

    private mutating func takeDue(
        _ listener: Listener, _ interval: Duration, _ now: Timestamp
    ) -> [(subject: Subject, waited: Entry)] {
        let due = entries.filter { isDue($0.key, $0.value, listener, interval, now) }
        for subject in due.keys { entries[subject] = Entry(told: now) }
        forget(listener, interval, now)
        return due.sorted { $0.key.order < $1.key.order }.map { ($0.key, $0.value) }
    }

    /// Forgets what no run has to know. Beyond `mostRemembered` also the oldest reports, conditions that go on last.
    private mutating func forget(_ listener: Listener, _ interval: Duration, _ now: Timestamp) {
        entries = entries.filter { subject, entry in
            subject.listener != listener || entry.owed != nil || entry.stands == true
                || isRecent(subject, interval, now)
        }
        let own = entries.filter { $0.key.listener == listener }
        if own.count <= Self.mostRemembered { return }
        func age(_ entry: Entry) -> (Int, Int64) { (entry.stands == true ? 1 : 0, entry.told?.microseconds ?? 0) }
        let oldest = own.sorted { left, right in
            let (first, second) = (age(left.value), age(right.value))
            return first == second ? left.key.order < right.key.order : first < second
        }
        for (subject, _) in oldest.prefix(own.count - Self.mostRemembered) { entries[subject] = nil }
    }
}

extension ReportLedger: StoredObject {
    package static let blank = ReportLedger()
    package static let fields: [StoredField<ReportLedger>] = [
        .version(version), .init("reports", \.rows, .required), .init("counters", \.counters), .init("log", \.log),
    ]

    private var log: [String] {
        get { lines.map { String(decoding: $0.line.dropLast(), as: UTF8.self) } }
        set { lines = newValue.compactMap { LogEvent(line: Array($0.utf8)) } }
    }

    private var rows: [Row] {
        get { entries.sorted { $0.key.order < $1.key.order }.map { Row(subject: $0.key, entry: $0.value) } }
        set { entries = Dictionary(newValue.map { ($0.subject, $0.entry) }) { $1 } }
    }

    private struct Row: StoredObject {
        var subject = Subject()
        var entry = Entry()

        static let blank = Row()
        static let fields: [StoredField<Row>] = [
            .init("to", \.subject.listener, .required),
            .init("event", \.subject.event),
            .init("destination", \.subject.destination),
            .init("cause", \.subject.cause),
            .init("words", \.subject.words),
            .init("told", \.entry.told),
            .init("owed", \.entry.owed),
            .init("stands", \.entry.stands),
        ]
    }
}
