import Drain
import Policy
import Spool

/// The status of a queue as one page of HTML, for a browser, a wall or a printer: it needs no script, no font and no
/// file from elsewhere.
struct QueuePage {
    private let status: QueueStatus
    private let now: Timestamp
    private let name: String
    /// The last changes, the newest first.
    private var changes: [LogEvent] = []
    private var strips: [String: DayStrip] = [:]
    private let troubles: [String: DestinationTrouble]

    /// The most changes that are shown, the most cards of destinations that are well, and the most rows of the others.
    private static let (mostChanges, mostWell, mostRows) = (40, 10, 200)

    init(of queue: OpenQueue, at now: Timestamp) throws {
        try self.init(of: QueueStatus(of: queue, at: now), at: now)
        let start = Array((now - DayStrip.length * DayStrip.count).rfc3339.utf8)
        let head = Array(#"{"at":""#.utf8)
        try queue.spool.forEachLogLine { line in
            // A line begins with its time, and times sort as text: most lines of a long log need not be read.
            if line.starts(with: head), line.dropFirst(head.count).lexicographicallyPrecedes(start) { return }
            guard let event = LogEvent(line: line) else { return }
            add(event)
        }
        changes.reverse()
    }

    /// Makes the page of a status, without what happened before.
    init(of status: QueueStatus, at now: Timestamp) {
        self.status = status
        self.now = now
        name = String(status.queue.utf8.split(separator: UInt8(ascii: "/")).last.map(Substring.init) ?? "")
        troubles = Dictionary(
            DestinationTrouble.all(of: status).map { ($0.destination, $0) }, uniquingKeysWith: { first, _ in first })
        for row in status.destinations {
            var strip = DayStrip(endingAt: now)
            if let since = row.state.downSince {
                strip.mark(from: since, to: now, \.isDown)
            }
            strips[row.name] = strip
        }
        for hold in status.holds {
            strips[hold.destination]?.mark(from: hold.hold.since, to: now, \.isHeld)
        }
    }

    mutating func add(_ event: LogEvent) {
        if let destination = event.destination { strips[destination]?.add(event) }
        if event.kind == .attempts || event.kind == .run { return }
        changes.append(event)
        if changes.count > Self.mostChanges * 2 { changes.removeFirst(Self.mostChanges) }
    }

    // MARK: - The page

    var html: String {
        let isWell = status.verdict == DestinationTrouble.allIsWell
        let page: HTML = """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8">\
            <meta name="viewport" content="width=device-width, initial-scale=1">\
            <meta name="color-scheme" content="light dark"><title>\(title)</title>
            <style>\(Self.style)</style></head><body>
            <header><p>queue <b>\(name)</b>, \(clock(now)) UTC</p>\
            <h1 class="\(isWell ? "well" : "bad")">\(status.verdict)</h1></header>
            \(figures)\(forPeople)
            <main>\(cards)\(others)</main>
            \(story)
            <footer>drainq \(programVersion). A bar is a quarter of an hour, and its height grows with the deliveries. \
            Times are UTC. <code>\(pasted("log", "--since", "24h"))</code> tells all of it.</footer></body></html>

            """
        return page.source
    }

    private var title: String {
        troubles.isEmpty
            ? "\(status.verdict): \(name)" : "\(troubles.count) of \(status.destinations.count) in trouble: \(name)"
    }

    private var figures: HTML {
        let waiting = status.destinations.reduce(0) { $0 + $1.waiting }
        let oldest = status.oldest.map { InWords.rough(max(now - $0, .zero)) }
        let delivered = strips.values.reduce(0) { $0 + $1.delivered }
        let items = [
            (InWords.grouped(waiting), "waiting"), (oldest ?? "-", "the oldest"),
            (InWords.grouped(count(.failed)), "failed"),
            (InWords.grouped(count(.quarantined)), "in quarantine"), (InWords.grouped(delivered), "delivered in 24 h"),
        ].map { figure, word -> HTML in "<li><b>\(figure)</b> \(word)</li>" }
        return "<ul class=\"sum\">\(items)</ul>"
    }

    /// What a person has to do that is no destination's: with the command for it.
    private var forPeople: HTML {
        var rows: [(String, String)] = []
        if status.paused { rows.append(("the queue is paused", pasted("resume"))) }
        if count(.failed) > 0 {
            rows.append(("\(count(.failed)) failed for good", pasted("list", "--state", "failed")))
        }
        if count(.quarantined) > 0 {
            rows.append(("\(count(.quarantined)) files in quarantine", pasted("list", "--state", "quarantined")))
        }
        if status.heldByThemselves > 0 {
            rows.append(("\(status.heldByThemselves) held individually", pasted("list", "--state", "held")))
        }
        if rows.isEmpty { return "" }
        let items = rows.map { words, command -> HTML in
            "<li>\(words): <code>\(command)</code></li>"
        }
        return "<section aria-labelledby=\"todo\"><h2 id=\"todo\">For a person</h2><ul>\(items)</ul></section>"
    }

    // MARK: - Destinations

    /// The destinations in the order of their cards: in trouble, the worst first, and then the busiest.
    private var order: [QueueCount.DestinationCount] {
        let rows = Dictionary(status.destinations.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let bad = DestinationTrouble.all(of: status).compactMap { rows[$0.destination] }
        let well = status.destinations.filter { troubles[$0.name] == nil }.sorted { left, right in
            let (leftDelivered, rightDelivered) = (delivered(left), delivered(right))
            return (right.waiting, rightDelivered, left.name) < (left.waiting, leftDelivered, right.name)
        }
        return bad + well
    }

    private func delivered(_ row: QueueCount.DestinationCount) -> Int { strips[row.name]?.delivered ?? 0 }

    private var cards: HTML {
        let shown = order.prefix(troubles.count + Self.mostWell).enumerated().map { card($1, id: "d\($0)") }
        return shown.isEmpty ? "" : "<div class=\"cards\">\(shown)</div>"
    }

    private var others: HTML {
        let rest = order.dropFirst(troubles.count + Self.mostWell)
        if rest.isEmpty { return "" }
        let rows = rest.prefix(Self.mostRows).map { row -> HTML in
            "<tr><th scope=\"row\">\(row.name)</th><td>\(row.waiting)</td><td>\(row.count(of: .failed))</td><td>\(ago(row.state.lastSuccess))</td></tr>"
        }
        let left = rest.count - min(rest.count, Self.mostRows)
        let more: HTML = left > 0 ? "<p class=\"small\">and \(left) more</p>" : ""
        return """
            <section aria-labelledby="others"><h2 id="others">Other destinations</h2><table><thead><tr>\
            <th scope="col">destination</th><th scope="col">waiting</th><th scope="col">failed</th>\
            <th scope="col">last delivery</th></tr></thead><tbody>\(rows)</tbody></table>\(more)</section>
            """
    }

    private func card(_ row: QueueCount.DestinationCount, id: String) -> HTML {
        let trouble = troubles[row.name]
        let (kind, mark) =
            switch trouble?.kind {
            case .held: ("held", "‖")
            case .down: ("down", "✕")
            case .paused: ("paused", "◼")
            case nil: ("ok", "✓")
            }
        let state = trouble.map(words) ?? "well, last delivery \(ago(row.state.lastSuccess))"
        let says: HTML = trouble.map { $0.cause.isEmpty ? "" : "<p class=\"says\"><q>\($0.cause)</q></p>" } ?? ""
        let command = remedy(row, trouble)
        let mending: HTML =
            command.map { "<p>when the cause is mended:</p><pre tabindex=\"0\"><code>\($0)</code></pre>" } ?? ""
        let strip = strips[row.name] ?? DayStrip(endingAt: now)
        return """
            <section class="card \(kind)" aria-labelledby="\(id)"><h2 id="\(id)"><span class="mark" aria-hidden="true">\
            \(mark)</span> \(row.name)</h2><p class="state">\(state)</p>\(says)\
            <p class="small">\(next(row))\(InWords.grouped(delivered(row))) delivered in 24 h</p>
            <h3>last 24 hours</h3>\(strip.picture("\(row.name), the last 24 hours: \(state)"))\(strip.axis)\
            \(ages(row))\(mending)</section>
            """
    }

    private func words(_ trouble: DestinationTrouble) -> String {
        guard let since = trouble.since else { return "\(trouble.kind)" }
        return "\(trouble.kind) since \(clock(since)) (\(InWords.rough(max(now - since, .zero))))"
    }

    private func remedy(_ row: QueueCount.DestinationCount, _ trouble: DestinationTrouble?) -> String? {
        switch trouble?.kind {
        case .held: pasted("release", "--destination", row.name)
        case .paused: pasted("resume", "--destination", row.name)
        case .down, nil: nil
        }
    }

    private func next(_ row: QueueCount.DestinationCount) -> String {
        guard row.waiting > 0, let due = row.next else { return "" }
        return "next attempt \(InWords.moment(due, from: now)); "
    }

    /// What waits, by age: a bar, and its figures in words.
    private func ages(_ row: QueueCount.DestinationCount) -> HTML {
        let groups = QueueCount.ageGroups.compactMap { group -> (words: String, count: Int)? in
            let count = row.countsByAge[group.word] ?? 0
            return count > 0 ? (group.word == "older" ? "older than 3d" : "under \(group.word)", count) : nil
        }
        if groups.isEmpty { return "" }
        let sum = groups.reduce(0) { $0 + $1.count }
        var left = 0
        let bars = groups.enumerated().map { index, group -> HTML in
            let width = max(3, 672 * group.count / sum)
            defer { left += width }
            return """
                <rect class="a\(min(2, index))" x="\(min(left, 669))" y="0" width="\(width)" height="10" rx="2">\
                <title>\(group.count) \(group.words)</title></rect>
                """
        }
        let words = groups.map { "\(InWords.grouped($0.count)) \($0.words)" }.joined(separator: ", ")
        return """
            <h3>waiting</h3><svg class="ages" viewBox="0 0 672 10" role="img" aria-label="waiting by age: \(words)" \
            preserveAspectRatio="none">\(bars)</svg><p class="small">\(words)</p>
            """
    }

    // MARK: - What happened

    private var story: HTML {
        if changes.isEmpty { return "" }
        let rows = changes.prefix(Self.mostChanges).map { event -> HTML in
            "<tr><td class=\"t\">\(clock(event.at))</td><td class=\"e-\(event.kind.rawValue)\">\(LogStory.words(event))</td></tr>"
        }
        return """
            <section class="events" aria-labelledby="ev"><h2 id="ev">What happened</h2><table><thead><tr>\
            <th scope="col">when</th><th scope="col">what</th></tr></thead><tbody>\(rows)</tbody></table></section>
            """
    }

    // MARK: - Words

    private func count(_ state: ShownState) -> Int { status.states[state.rawValue] ?? 0 }

    private func ago(_ time: Timestamp?) -> String {
        time.map { InWords.moment($0, from: now) } ?? "never"
    }

    /// The time of day, with the date if that is not today's.
    private func clock(_ time: Timestamp) -> String {
        let (text, today) = (time.rfc3339, now.rfc3339.prefix(10))
        let day = text.prefix(10) == today && time != now ? "" : "\(text.prefix(10)) "
        return day + text.dropFirst(11).prefix(5)
    }
}
