import Drain
import Policy

/// The table of destinations: a row for each, trouble opened below it, and destinations with one cause together.
extension QueuePage {
    /// The most rows of destinations that are well.
    private static var mostWell: Int { 200 }

    var destinations: HTML {
        let health = Dictionary(
            status.health.destinations.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        let shown = status.destinations.filter { health[$0.name]?.state != .unnamed || $0.count(of: .failed) > 0 }
        if shown.isEmpty { return "" }
        let opened = groups.map { self.opened($0, health) }
        let troubled = Set(groups.flatMap { $0.rows.map(\.name) })
        // Rows of a wall display do not jump: by name, those with failed operations first.
        let rest = shown.filter { !troubled.contains($0.name) }.sorted { left, right in
            (left.count(of: .failed) > 0 ? 0 : 1, left.name) < (right.count(of: .failed) > 0 ? 0 : 1, right.name)
        }
        let rows = rest.prefix(Self.mostWell).map { row($0, health[$0.name]) }
        let more: HTML =
            rest.count > Self.mostWell
            ? "<p class=\"soft\">and \(InWords.grouped(rest.count - Self.mostWell)) more destinations</p>" : ""
        let body: HTML = "\(opened)\(rows.isEmpty ? "" : "<tbody>\(rows)</tbody>" as HTML)"
        return """
            <section><h2 id="dest">Destinations</h2><table class="dest" aria-labelledby="dest"><thead><tr>\
            <th scope="col">destination</th><th scope="col" class="s"><span class="ax"><span class="v">24 hours</span>\
            \(ticks)<i class="now">now</i></span></th><th scope="col" class="n">waiting</th><th scope="col" class="n">\
            oldest</th><th scope="col" class="n">delivered<span class="v"> in 24 h</span></th></tr></thead>\(body)</table>\
            \(more)\(key(of: body.source))</section>
            """
    }

    private var ticks: [HTML] {
        // The last one would stand in the place of "now".
        empty.ticks.filter { $0.part < 86 }.map { part, hour in
            let left = "\((part * 10).rounded() / 10)%"
            return "<i style=\"left:\(left)\">\(hour)<u>:00</u></i>"
        }
    }

    /// The key of the strips has only the kinds that the page has.
    private func key(of body: String) -> HTML {
        let kinds = [
            ("ok", "delivered (higher is more)", "M7 24v-12M22 24v-22"),
            ("late", "put off, to be tried again", "M7 24v-20M22 24v-20"),
            ("bad", "failed for good", "M7 27v5M22 27v5"), ("down", "down", "M0 2h30v22h-30z"),
            ("held", "held or paused", "M0 5h30M0 21h30"), ("none", "no run came", "M1 3h28v20h-28z"),
            ("q", "nothing to send", "M0 25h30"),
        ]
        let items = kinds.filter { body.contains("<path class=\"\($0.0)\"") }.map { kind, words, path -> HTML in
            let line: HTML = kind == "bad" ? "<path class=\"q\" d=\"M0 25h30\"/>" : ""
            return
                "<li><svg viewBox=\"0 0 30 32\" aria-hidden=\"true\">\(line)<path class=\"\(kind)\" d=\"\(path)\"/></svg>\(words)</li>"
        }
        return "<ul class=\"key\" aria-label=\"Key of the strips\">\(items)<li>a bar is half an hour</li></ul>"
    }

    // MARK: - Rows

    private func row(_ row: QueueCount.DestinationCount, _ health: DestinationHealth?, member: Bool = false) -> HTML {
        let (kind, state) = words(row, health)
        let strip = strips[row.name] ?? empty
        let text: HTML = member ? "" : " <span>\(state)</span>"
        let classes = kind + (member ? " m" : "") + (member && row.name.count > 13 ? " long" : "")
        let oldest: HTML =
            row.oldest.map { "<td class=\"n\">\(span(since: $0))</td>" } ?? "<td class=\"n z\">–</td>"
        return """
            <tr class="\(classes)"><th scope="row">\(Self.sign(kind)) <b>\(row.name)</b>\(text)</th><td class="s">\
            \(strip.picture(withTitles: status.destinations.count <= 12))</td>\(cell(row.waiting))\(oldest)\
            \(cell(strip.total.delivered))</tr>
            """
    }

    private func cell(_ number: Int) -> HTML {
        "<td class=\"n\(number == 0 ? " z" : "")\">\(InWords.grouped(number))</td>"
    }

    /// The class of a row and its state in words. "Well" stands only beside its evidence.
    private func words(_ row: QueueCount.DestinationCount, _ health: DestinationHealth?) -> (String, String) {
        let last = row.state.lastSuccess.map { "last delivery \(clock($0))" } ?? "nothing sent yet"
        func lasting(_ word: String) -> String {
            health?.since.map { "\(word) since \(clock($0)), \(span(since: $0))" } ?? word
        }
        switch health?.state {
        case .held: return ("held", lasting("held"))
        case .down: return ("bad", lasting(health?.answersWithoutTaking == true ? "delivers nothing" : "down"))
        case .paused: return ("held", "paused; \(last)")
        case .missed:
            if row.waiting == 0, let wanting = wanting(row) { return ("warn", "\(wanting); \(last)") }
            let cause = health?.cause.map { ": \(CauseWords.plain($0))" } ?? ""
            return ("warn", "\(lasting("no delivery"))\(cause)")
        case .asked(let until): return ("held", "waits until \(clock(until)), as the server asked; \(last)")
        case .unnamed: return ("idle", "not in use; \(last)")
        case .fresh, nil: return (row.unsent == nil ? "idle" : "warn", wanting(row) ?? "nothing sent yet")
        case .well:
            if let wanting = wanting(row) { return ("warn", "\(wanting); \(last)") }
            if status.health.areRunsMissing, row.waiting > 0 { return ("idle", "not known; \(last)") }
            if let up = row.state.upSince, row.count(of: .deferred) > 0, let end = row.last, end > now {
                let waiting =
                    "\(InWords.grouped(row.count(of: .deferred))) wait for their time, the last until \(clock(end))"
                return ("ok", "up again since \(clock(up)); \(waiting)")
            }
            return ("ok", "well, \(last)")
        }
    }

    /// What failed for good, or is not sent.
    private func wanting(_ row: QueueCount.DestinationCount) -> String? {
        let parts = [(row.count(of: .failed), "failed for good"), (row.unsent?.count ?? 0, "not sent")]
        let words = parts.filter { $0.0 > 0 }.map { "\(InWords.grouped($0.0)) \($0.1)" }
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    // MARK: - Troubles

    /// The destinations with one cause: one block, in which members are short rows.
    private func opened(_ group: TroubleGroup, _ health: [String: DestinationHealth]) -> HTML {
        let kind = group.state == .held ? "held" : "bad"
        let first = health[group.rows[0].name]
        if group.rows.count == 1 {
            return """
                <tbody class="open \(kind)">\(row(group.rows[0], first))<tr class="d"><td colspan="5">\
                \(why(group, first))</td></tr></tbody>
                """
        }
        let state = group.state == .held ? "held" : first?.answersWithoutTaking == true ? "delivering nothing" : "down"
        let rows = group.rows.map { row($0, health[$0.name], member: true) }
        return """
            <tbody class="open \(kind)"><tr class="\(kind) g"><th colspan="5" scope="rowgroup">\(Self.sign(kind)) <b>\
            \(group.rows.count) destinations are \(state) for one cause</b></th></tr><tr class="d"><td colspan="5">\
            \(why(group, first))</td></tr>\(rows)</tbody>
            """
    }

    private func why(_ group: TroubleGroup, _ health: DestinationHealth?) -> HTML {
        let one = group.rows.count == 1
        var rows: [(String, HTML)] = [(group.cause.status == nil ? "Cause" : "Server said", Self.said(group.cause))]
        if !one {
            rows.append(("Since", group.since.map { "\(clock($0)), for \(span(since: $0))" } ?? ""))
            let oldest = group.oldest.map { ", the oldest since \(clock($0))" } ?? ""
            rows.append(("Waiting", "\(HealthWords.count(group.waiting, "operation")) in all\(oldest)"))
        }
        let command = Self.command(group.command ?? "")
        let next = group.next.map { $0 > now ? "at \(clock($0))" : "with the next run" } ?? "when it is time"
        if group.state == .held {
            let isByHand = group.rows[0].state.hold?.isByHand == true
            rows.append(
                (
                    "drainq will",
                    isByHand
                        ? "send nothing there until a person releases it."
                        : "try one operation\(one ? "" : " of each") \(next); if it is delivered, the others follow."
                ))
            let isRefused = group.cause.status.map(AnswerRule.refusingCredentials.contains) ?? false
            let notice = isRefused ? "; a run notices a changed secret by itself" : ""
            let remedy = CauseWords.remedy(group.cause).map { "\($0)\(notice). Or, when" } ?? "when"
            rows.append(("You", "\(remedy) the cause is gone:\(command)"))
        } else if let remedy = CauseWords.remedy(group.cause) {
            rows.append(("drainq will", "go on trying, the next time \(next)."))
            let now: HTML = group.command == nil ? "" : " If nothing should wait then:\(command)"
            rows.append(("You", "\(remedy).\(now)"))
        } else if health?.answersWithoutTaking == true {
            let attempts = group.rows.reduce(0) { $0 +| ($1.state.incident?.attempts ?? 0) }
            let stop = Self.command(pasted(["hold"] + group.rows.flatMap { ["--destination", $0.name] }))
            rows.append(
                (
                    "drainq will",
                    "go on trying: each operation by its own schedule, \(HealthWords.count(attempts, "attempt")) so far, the next \(next)."
                ))
            rows.append(("You", "tell its people. Stop the trying until it is mended, if it does harm there:\(stop)"))
        } else {
            rows.append(("drainq will", "try one operation \(next); when the server answers, the others follow."))
            let now: HTML = group.command == nil ? "" : " If it is up again and should not wait:\(command)"
            rows.append(("You", "have nothing to do here but to tell its people.\(now)"))
        }
        return Self.why(rows)
    }
}
