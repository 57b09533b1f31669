import CSystem
import Drain
import Policy
import Spool

/// The status of a queue as one page of HTML, for a browser, a wall or a printer: it needs no script and no file.
///
/// The sentence, the colour of the band, the sign, the title and the icon of the tab come from one value
/// (`HealthWords`), so that they cannot differ. Every command names the queue by its full path: the page is read
/// elsewhere.
struct QueuePage {
    let status: QueueStatus
    let now: Timestamp
    /// The full path of the queue, and its last part.
    let path: String
    let name: String
    let groups: [TroubleGroup]
    /// The failed operations by cause, of the first that were read.
    var deadLetters: [DeadLetterGroup] = []
    private(set) var strips: [String: DayStrip] = [:]
    /// The changes of the last days, oldest first.
    private(set) var changes: [LogEvent] = []
    let empty: DayStrip

    init(of queue: OpenQueue, at now: Timestamp, _ day: DayLog? = nil) throws {
        let status = try QueueStatus(of: queue, at: now)
        let day = try day ?? DayLog.read(from: queue.spool, at: now)
        self.init(of: status, at: now, rows: day.rows, changes: day.changes)
        if (status.health.states[.failed] ?? 0) > 0 { deadLetters = try DeadLetterGroup.all(of: queue) }
    }

    /// Makes the page of a status and of what the log says of the last days.
    init(of status: QueueStatus, at now: Timestamp, rows: [DayLog.HalfHours] = [], changes: [LogEvent] = []) {
        self.status = status
        self.now = now
        self.changes = changes
        path = absolutePath(status.queue)
        name = String(path.utf8.split(separator: UInt8(ascii: "/")).last.map(Substring.init) ?? "")
        groups = TroubleGroup.all(of: status)
        var common = DayStrip(endingAt: now)
        let runs = status.health.runs
        common.addTimesWithoutRuns(
            runs.times.isEmpty ? [(common.start, now)] : runs.gaps(before: now),
            attempted: Set(rows.lazy.flatMap(\.counts).map { $0[0] }))
        common.spans += Self.pauses(in: changes, of: nil, until: now, isPaused: status.health.pause?.since)
        empty = common
        let byName = Dictionary(rows.map { ($0.destination, $0) }, uniquingKeysWith: { first, _ in first })
        let byDestination = Dictionary(grouping: changes.filter { $0.destination != nil }) { $0.destination! }
        for (row, health) in zip(status.destinations, status.health.destinations) {
            var strip = common
            if let counts = byName[row.name] { strip.add(counts) }
            let own = byDestination[row.name] ?? []
            strip.spans += own.compactMap { event in
                switch event.kind {
                case .up: event.since.map { .init(band: .down, from: $0, to: event.at) }
                case .released: event.since.map { .init(band: .held, from: $0, to: event.at) }
                default: nil
                }
            }
            strip.spans += Self.pauses(in: own, of: row.name, until: now, isPaused: row.state.isPaused ? now : nil)
            if let since = health.since, health.isTrouble {
                strip.spans.append(.init(band: health.state == .held ? .held : .down, from: since, to: now))
            }
            strips[row.name] = strip
        }
    }

    /// Returns the pauses of the queue or of a destination. One that goes on began at `isPaused`, or at its event.
    private static func pauses(
        in changes: [LogEvent], of destination: String?, until now: Timestamp, isPaused: Timestamp?
    ) -> [DayStrip.Span] {
        var (spans, began): ([DayStrip.Span], Timestamp?) = ([], nil)
        for event in changes where event.destination == destination {
            if event.kind == .paused { began = began ?? event.at }
            if event.kind == .resumed, let start = began {
                spans.append(.init(band: .held, from: start, to: event.at))
                began = nil
            }
        }
        if let isPaused { spans.append(.init(band: .held, from: min(began ?? isPaused, isPaused), to: now)) }
        return spans
    }

    // MARK: - The page

    var html: String {
        // The page is made whole with the queue's full path in its commands.
        NamedPlace.$queueElsewhere.withValue(path) { page.source }
    }

    private var page: HTML {
        let words = status.words
        let (kind, sign) = (words.kind, words.kind.mark.sign)
        return """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">\
            <meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">\
            <title>\(sign) \(words.short) · \(name)</title>\(Self.icon(kind))
            <style>\(Self.style)</style></head><body>
            \(definitions)
            <header class="band \(kind.band)"><p>queue <b>\(name)</b> on \(Self.host)</p><h1><span role="img" \
            aria-label="\(kind.mark.word)">\(Self.sign(kind.band))</span>\(words.sentence)</h1><p>\(words.lede)</p></header>
            <main>\(facts)\(needs)\(destinations)\(incidents)</main>
            <footer><p>Made at \(clock(now, withSeconds: true)) UTC on \(date(now)); it does not renew itself. \(validity)</p>\
            <p>drainq \(programVersion), queue directory \(path). All times are UTC. The whole story:</p>\
            \(Self.command(pasted("log", "--since", "24h")))</footer></body></html>

            """
    }

    /// The icon of the tab: the sign of the sentence.
    private static func icon(_ kind: HealthWords.Kind) -> HTML {
        """
        <link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ccircle \
        cx='8' cy='8' r='8' fill='%23\(kind.mark.colour)'/%3E%3Ctext x='8' y='12' font-size='11' text-anchor='middle' \
        fill='%23fff'%3E\(kind.mark.sign)%3C/text%3E%3C/svg%3E">
        """
    }

    /// The signs and the grid, which the page uses many times.
    private var definitions: HTML {
        let signs = [
            ("ok", "M3 9l3.6 3.6L13.5 4"), ("warn", "M8 2v7.6M8 12.6v1.6"), ("bad", "M3.5 3.5l9 9m0-9l-9 9"),
            ("held", "M5.2 3v10M10.8 3v10"), ("idle", "M3.5 8h9"), ("work", "M4.5 3l7 5-7 5z"),
        ].map { name, path -> HTML in "<path id=\"i-\(name)\" class=\"i\" d=\"\(path)\"/>" }
        return """
            <svg width="0" height="0" style="position:absolute;width:0;height:0" aria-hidden="true"><defs><pattern id="n" \
            width="9" height="9" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path class="hatch" d="M0 0v9"/>\
            </pattern><path id="g" class="grid" d="\(empty.grid)"/>\(signs)</defs></svg>
            """
    }

    /// As of when, when the last run was and how often runs come, and the figures.
    private var facts: HTML {
        let health = status.health
        let last = health.runs.last(at: now)
        let delivered = strips.values.reduce(0) { $0 +| $1.total.delivered }
        var rows: [(String, HTML, String)] = [
            (
                "As of", "<time datetime=\"\(now.rfc3339.prefix(19) + "Z")\">\(clock(now, withSeconds: true))</time>",
                date(now) + ", UTC"
            ),
            (
                "Last run", last.map { "\(clock($0, withSeconds: true))" } ?? "none yet",
                health.findings == [.working] ? "at work since then" : last.map { "\(span(since: $0)) before" } ?? ""
            ),
            ("Runs come", "\(howOften.0)", howOften.1),
            ("Waiting", "\(InWords.grouped(health.waiting))", health.waiting == 1 ? "operation" : "operations"),
            (
                "Oldest waits", health.oldest.map { "\(span(since: $0))" } ?? "–",
                health.oldest.map { "since \(clock($0))" } ?? "nothing waits"
            ),
            ("Delivered in 24 h", "\(InWords.grouped(delivered))", "\(InWords.grouped(status.deliveredTotal)) in all"),
        ]
        for (state, words) in [(ShownState.failed, "Failed for good"), (.quarantined, "In quarantine")] {
            let count = health.states[state] ?? 0
            if count > 0 { rows.append((words, "\(InWords.grouped(count))", "")) }
        }
        let items = rows.map { name, value, more -> HTML in
            "<div><dt>\(name)</dt><dd><b>\(value)</b> <span>\(more)</span></dd></div>"
        }
        return "<dl class=\"facts\">\(items)</dl>"
    }

    private var howOften: (String, String) {
        let runs = status.health.runs
        guard let interval = runs.interval(at: now) else {
            return runs.times.isEmpty ? ("not yet", "nothing runs it") : ("not known", "one run so far")
        }
        let usual =
            interval.inSeconds >= 45 && interval.inSeconds < 90 ? "each minute" : "each \(InWords.rough(interval))"
        if status.health.areRunsMissing { return ("not now", "\(usual) before") }
        let expected = Int(saturating: (86_400 / max(interval.inSeconds, 1)).rounded())
        let came = runs.count(before: now)
        return (usual, came < expected ? "\(InWords.grouped(came)) in 24 h" : "\(InWords.grouped(came)) came in 24 h")
    }

    /// Until when the page is to be believed: it cannot know that it is old.
    private var validity: String {
        let runs = status.health.runs
        guard let interval = runs.interval(at: now), !status.health.areRunsMissing else { return "" }
        let until = now + max(interval * 3, .seconds(120))
        return "If your clock is past \(clock(until)), no run has come since, or this is an old copy."
    }

    // MARK: - Words

    func clock(_ time: Timestamp, withSeconds: Bool = false) -> String {
        withSeconds && time.rfc3339.prefix(10) == now.rfc3339.prefix(10)
            ? String(time.rfc3339.dropFirst(11).prefix(8)) : InWords.clock(time, at: now)
    }

    func span(since time: Timestamp) -> String { span(from: time, to: now) }

    /// A page needs no fractions of a second.
    func span(from start: Timestamp, to end: Timestamp) -> String {
        let length = end - start
        return InWords.rough(.seconds(Int(saturating: max(length.inSeconds.rounded(), 1))))
    }

    private func date(_ time: Timestamp) -> String { String(time.rfc3339.prefix(10)) }

    private static var host: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "this machine" }
        return String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func sign(_ kind: String) -> HTML {
        "<svg class=\"k\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><use href=\"#i-\(kind)\"/></svg>"
    }

    /// A command for a shell: one click selects all of it.
    static func command(_ text: String) -> HTML { "<pre tabindex=\"0\"><code>\(text)</code></pre>" }

    /// What a trouble is, what drainq does next and what a person does: subject, verb, object in each line.
    static func why(_ rows: [(String, HTML)]) -> HTML {
        let items = rows.filter { !$0.1.source.isEmpty }.map { name, value -> HTML in
            "<div><dt>\(name)</dt><dd>\(value)</dd></div>"
        }
        return "<dl class=\"why\">\(items)</dl>"
    }

    /// What the server said, in quotation marks, and never drainq's own words in them.
    static func said(_ cause: Cause) -> HTML {
        guard let status = cause.status else {
            guard let error = cause.error else { return "\(cause.words ?? "not known")" }
            let more: HTML = cause.words.map { "; \($0)" } ?? ""
            return "<b>\(error)</b>, \(CauseWords.meaning(ofError: error))\(more)"
        }
        let words: HTML = cause.words.map { ": <q>\($0)</q>" } ?? ""
        return "<b>\(status)</b>, \(CauseWords.meaning(ofStatus: status))\(words)"
    }
}

extension HealthWords.Kind {
    /// The class of the band, and the name of its sign.
    var band: String { self == .unknown ? "idle" : rawValue }

    /// The sign, the sign in a word, for a reader without eyes, and the colour of its circle.
    fileprivate var mark: (sign: String, word: String, colour: String) {
        switch self {
        case .ok: ("✓", "well", "17683e")
        case .idle: ("–", "no news", "4b525b")
        case .warn: ("!", "look at it", "b07a00")
        case .held: ("‖", "stopped", "5335b4")
        case .bad: ("✕", "trouble", "a81f14")
        case .unknown: ("?", "not known", "4b525b")
        }
    }
}
