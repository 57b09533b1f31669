import Policy

/// A history for human readers: some twenty lines about the operations, processes and servers of a broken sentence, and
/// the number of omitted events between the lines.
package struct BreachStory {
    private let history: History
    /// The events that break the sentence.
    private let marked: Set<Int>
    private let breach: Breach
    private let labels: [OperationID: Label]
    private let requests: [Int: Request]

    package init(_ history: History, _ breach: Breach) {
        self.history = history
        self.breach = breach
        marked = Set(breach.events.filter(history.events.indices.contains))
        labels = Self.labels(in: history)
        var requests: [Int: Request] = [:]
        for case .receives(let request) in history.events.map(\.what) { requests[request.number] = request }
        self.requests = requests
    }

    /// Returns the lines: at most `most`, and a line for each remaining file of the operations concerned, and a line
    /// for the sentence.
    package func lines(most: Int = 20) -> [String] {
        let shown = chosen(most)
        var lines: [String] = []
        var next = 0
        for index in shown.sorted() {
            if let folded = folding(next..<index) { lines.append(folded) }
            lines.append(line(index))
            next = index + 1
        }
        if let folded = folding(next..<history.events.count) { lines.append(folded) }
        let ids = subjects.ids
        for file in history.left {
            let name = file.path.split(separator: "/").last.flatMap { EntryName(String($0)) }
            if let name, ids.contains(name.id) { lines.append("  left: \(file.path)") }
        }
        if history.isEndless { lines.append("  it made no end, and was broken off") }
        return lines + ["broken: \(breach)"]
    }

    // MARK: - What matters

    private struct Subjects {
        var labels: Set<Label> = []
        var ids: Set<OperationID> = []
        var processes: Set<ProcessID> = []
        var hosts: Set<String> = []
    }

    /// The subjects of the marked events.
    private var subjects: Subjects {
        var subjects = Subjects()
        for index in marked {
            let event = history.events[index]
            let mention = mention(of: event)
            subjects.labels.formUnion(mention.labels)
            subjects.ids.formUnion(mention.ids)
            subjects.hosts.formUnion(mention.hosts)
            if event.process != .world { subjects.processes.insert(event.process) }
            if case .receives(let request) = event.what, let sender = request.sender {
                subjects.processes.insert(sender)
            }
        }
        subjects.labels.formUnion(subjects.ids.compactMap { labels[$0] })
        subjects.ids.formUnion(labels.filter { subjects.labels.contains($0.value) }.keys)
        return subjects
    }

    /// Returns the events to show: the marked events, then the events of their operations, then the events of their
    /// processes, then the events of all, while there is room.
    private func chosen(_ most: Int) -> Set<Int> {
        let subjects = subjects
        let ranked = history.events.indices.map { (rank: rank(of: $0, subjects), index: $0) }.filter { $0.rank < 4 }
            .sorted { ($0.rank, $0.index) < ($1.rank, $1.index) }
        var shown: Set<Int> = []
        for (rank, index) in ranked {
            if rank > 0, shown.count + gaps(shown.union([index])) >= most { continue }
            shown.insert(index)
        }
        return shown
    }

    /// The number of lines that say how many events are omitted.
    private func gaps(_ shown: Set<Int>) -> Int {
        var (gaps, next) = (0, 0)
        for index in shown.sorted() {
            if index > next { gaps += 1 }
            next = index + 1
        }
        return next < history.events.count ? gaps + 1 : gaps
    }

    /// 0 for a marked event, 4 for an irrelevant event.
    private func rank(of index: Int, _ subjects: Subjects) -> Int {
        if marked.contains(index) { return 0 }
        let event = history.events[index]
        let mention = mention(of: event)
        if !mention.labels.isDisjoint(with: subjects.labels) || !mention.ids.isDisjoint(with: subjects.ids) { return 1 }
        switch event.what {
        case .killed, .stopped, .stalled, .woken, .interrupted, .refusedCall, .movesUnlocked, .begins, .runs, .ends,
            .endsRun, .commands:
            return subjects.processes.contains(event.process) ? 2 : 4
        case .cutPower, .clockStepped, .calm, .renewsToken, .network: return 2
        case .serverTurns, .reports(.destinationHeld), .reports(.holdEnded), .reports(.tells), .calls:
            return mention.hosts.isDisjoint(with: subjects.hosts) ? 4 : 3
        case .done: return subjects.processes.contains(event.process) ? 3 : 4
        case .offers, .answers, .names, .damaged, .submits, .receives, .replies, .learns, .takesIn, .loses, .reports,
            .changed, .leftAlone, .changedFile, .exports, .lists, .looks:
            return 4
        }
    }

    private func mention(of event: Event) -> Subjects {
        var mention = Subjects()
        func add(_ request: Request?) {
            guard let request else { return }
            mention.labels.formUnion(request.bodies.joined())
            mention.hosts.insert(request.host)
        }
        switch event.what {
        case .offers(let offer):
            mention.labels = [offer.label]
            mention.hosts = [history.setup.kind(of: offer.type).host]
        case .answers(let label, _), .names(let label, _), .damaged(let label), .exports(let label),
            .changedFile(let label):
            mention.labels = [label]
        case .submits(let labels): mention.labels = Set(labels)
        case .receives(let request): add(request)
        case .replies(let number, _), .learns(let number), .takesIn(let number), .loses(let number):
            add(requests[number])
        case .serverTurns(let host, _), .calls(_, let host): mention.hosts = [host]
        case .reports(let report): mention.ids = Set(report.ids)
        case .commands(let command):
            mention.ids = Set(command.ids ?? [])
            if let host = command.host { mention.hosts = [host] }
        case .changed(let id), .leftAlone(let id): mention.ids = [id]
        case .begins, .runs, .ends, .endsRun, .killed, .stopped, .stalled, .woken, .interrupted, .cutPower,
            .clockStepped, .refusedCall, .movesUnlocked, .calm, .done, .lists, .renewsToken, .network, .looks:
            break
        }
        if case .reports(.destinationHeld(let name)) = event.what { mention.hosts = [Self.host(of: name)] }
        if case .reports(.holdEnded(let name)) = event.what { mention.hosts = [Self.host(of: name)] }
        if case .reports(.tells(let told)) = event.what { mention.hosts = [told.host] }
        return mention
    }

    /// The host of a destination such as `http://one`.
    private static func host(of destination: String) -> String {
        destination.split(separator: "/").last.map(String.init) ?? destination
    }

    private static func labels(in history: History) -> [OperationID: Label] {
        var labels: [OperationID: Label] = [:]
        // If several offers have the same id, the id belongs to the accepted offer.
        for event in history.events {
            switch event.what {
            case .offers(let offer): if let id = offer.id, labels[id] == nil { labels[id] = offer.label }
            case .answers(let label, .accepted(let name)), .names(let label, let name): labels[name.id] = label
            default: break
            }
        }
        return labels
    }

    // MARK: - Words

    private func line(_ index: Int) -> String {
        let event = history.events[index]
        let words = EventWords(labels: labels).words(for: event.what)
        let who = event.process == .world ? "" : "\(event.process) "
        return "\(marked.contains(index) ? "*" : " ") \(Self.time(event.time)) \(who)\(words)"
    }

    private func folding(_ range: Range<Int>) -> String? {
        if range.isEmpty { return nil }
        let who = Set(history.events[range].map(\.process)).sorted().map(\.description)
        let names = who.count > 4 ? who.prefix(3).joined(separator: ", ") + " and others" : who.joined(separator: ", ")
        return "  … \(range.count) more of \(names)"
    }

    /// `+1.234s`.
    static func time(_ time: Duration) -> String {
        let milliseconds = time.microseconds / 1000
        let fraction = String(1000 + abs(milliseconds) % 1000).dropFirst()
        return "\(milliseconds < 0 ? "-" : "+")\(abs(milliseconds) / 1000).\(fraction)s"
    }
}
