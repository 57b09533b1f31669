import Drain
import Policy
import Spool

/// What needs a person and is no destination's, and what people and servers did.
extension QueuePage {
    /// The blocks above the table: each with what it is, what drainq does and what a person does.
    var needs: HTML {
        var blocks: [HTML] = []
        for finding in status.health.findings {
            switch finding {
            case .paused: blocks.append(paused)
            case .neverRun: blocks.append(neverRun)
            case .notRunning(let since): blocks.append(notRunning(since))
            case .full(let limit): blocks.append(full(limit))
            case .unsent: blocks += status.destinations.compactMap { row in row.unsent.map { unsent($0, row.name) } }
            case .unserved: if let unserved = status.health.unserved { blocks.append(self.unserved(unserved)) }
            case .unreadable, .clockSetBack, .failing, .offline, .trouble, .failed, .quarantined, .heldAlone,
                .heldBehind, .working,
                .well,
                .fresh:
                break
            }
        }
        if let broken = status.brokenConfiguration {
            blocks.insert(
                block(
                    "bad", "The configuration is broken",
                    [
                        ("Cause", "\(broken)"), ("drainq will", "send nothing until the file can be read."),
                        ("You", "mend it, and look whether it is valid:\(Self.command(pasted("check")))"),
                    ]), at: 0)
        }
        blocks += deadLetters.prefix(10).map(failed)
        let quarantined = status.health.states[.quarantined] ?? 0
        if quarantined > 0 {
            let list = Self.command(pasted("list", "--state", "quarantined"))
            blocks.append(
                block(
                    "warn", "\(HealthWords.count(quarantined, "file")) in quarantine",
                    [
                        ("drainq will", "keep the bytes, and send nothing of them."),
                        ("You", "see the reasons, and correct what wrote them:\(list)"),
                    ]))
        }
        let held = [
            (
                status.health.heldAlone, "one by one",
                "not send them: a person has held them, or nobody knows whether their server has received them.",
                "look at them, and send them (release) or take them out (drop)"
            ),
            (
                status.health.heldBehind, "behind failed or quarantined ones", "send them once those are gone.",
                "retry those or drop them; the list names them"
            ),
        ]
        for (count, how, will, what) in held where count > 0 {
            let list = Self.command(pasted("list", "--state", "held"))
            let head = "\(HealthWords.count(count, "operation")) held \(how)"
            blocks.append(block("held", head, [("drainq will", "\(will)"), ("You", "\(what):\(list)")]))
        }
        return "\(blocks)"
    }

    private func block(_ kind: String, _ head: String, _ rows: [(String, HTML)]) -> HTML {
        "<section class=\"todo \(kind)\"><h2>\(Self.sign(kind)) \(head)</h2>\(Self.why(rows))</section>"
    }

    private var waiting: HTML {
        guard let oldest = status.health.oldest else { return "" }
        return
            "\(HealthWords.count(status.health.waiting, "operation")), the oldest since \(clock(oldest)) (\(span(since: oldest)))"
    }

    private var paused: HTML {
        let pause = status.health.pause
        return block(
            "held", "Paused",
            [
                ("Since", pause.map { "\(clock($0.since))\($0.user.map { ", by \($0)" } ?? "")" } ?? ""),
                ("Waiting", waiting), ("drainq will", "send nothing, and go on with the first run after the resume."),
                ("You", "resume it when the work is done that it was paused for:\(Self.command(pasted("resume")))"),
            ])
    }

    private func full(_ limit: FullLimit) -> HTML {
        block(
            "bad", "Adds are refused",
            [
                ("Cause", "\(limit.words)."), ("Waiting", waiting),
                ("drainq will", "add nothing until there is room."),
                ("You", "\(limit.remedy):\(Self.command(pasted("list")))"),
            ])
    }

    private var neverRun: HTML {
        let line =
            "{ crontab -l; echo '* * * * * \(pasted("run", "--wait", "3s", "--max-time", "50s"))'; } 2>/dev/null | crontab -"
        return block(
            "warn", "Waiting for a first run",
            [
                ("Waiting", waiting), ("drainq will", "nothing by itself: it is no service that stays."),
                (
                    "You",
                    """
                    send them now, and see what the server says:\(Self.command(pasted("run", "--verbose")))then let cron do \
                    it each minute:\(Self.command(line))
                    """
                ),
            ])
    }

    private func notRunning(_ since: Timestamp) -> HTML {
        let usual = status.health.runs.interval(at: now).map { "runs came each \(InWords.rough($0))" } ?? "one run came"
        let last = status.lastRun.map { "; the last with work ended with status \($0.circumstances.exitStatus)" } ?? ""
        let run = status.health.due > 100 ? pasted("run", "--until-empty") : pasted("run")
        return block(
            "bad", "No run since \(clock(since))",
            [
                ("Before", "\(usual)\(last)."), ("Waiting", waiting),
                ("drainq will", "nothing: no run comes to its end. The operations stay where they are."),
                (
                    "You",
                    """
                    look whether what ran it still lives:\(Self.command("systemctl list-timers 'drainq*'"))\
                    \(Self.command("crontab -l"))and send what is due by hand:\(Self.command(run))
                    """
                ),
            ])
    }

    private func unsent(_ unsent: Unsent, _ name: String) -> HTML {
        block(
            "warn", "\(HealthWords.count(unsent.count, "operation")) for \(name) not sent",
            [
                (
                    "Cause",
                    "\(unsent.reason ?? "no run takes this type or destination: each may have a --type or --destination of its own")"
                ),
                ("Since", "\(clock(unsent.since)), for \(span(since: unsent.since))"),
                ("drainq will", "go on without \(unsent.count == 1 ? "it" : "them"), and try again with each run."),
                ("You", "see what it is, and mend the cause:\(Self.command(pasted("show", unsent.first.description)))"),
            ])
    }

    private func unserved(_ unserved: Unserved) -> HTML {
        let command = unserved.failed.map { pasted("retry", $0.description) }
        return block(
            "warn", "\(HealthWords.waiting(unserved.count)) in vain for {kept.\(unserved.name)}",
            [
                (
                    "Cause",
                    unserved.failed != nil
                        ? "the operation that would leave it failed."
                        : unserved.behind != nil
                            ? "the operation that would leave it stands behind them."
                            : "no operation of the queue leaves this value."
                ), ("drainq will", "keep them until an operation of their key leaves it."),
                (
                    "You",
                    """
                    \(command == nil ? "see what waits" : "mend the failed one, and send it again"):\
                    \(Self.command(command ?? pasted("show", unserved.first.description)))
                    """
                ),
            ])
    }

    private func failed(_ group: DeadLetterGroup) -> HTML {
        var choice = ["--destination", group.destination]
        if let answer = group.cause.status.map({ "\($0)" }) ?? group.cause.error { choice += ["--status", answer] }
        func command(_ words: [String]) -> HTML { Self.command(pasted(words + choice)) }
        let few = status.health.states[.failed] ?? 0 > DeadLetterGroup.most ? "at least " : ""
        return block(
            "warn", "\(few)\(HealthWords.count(group.count, "operation")) failed for good at \(group.destination)",
            [
                (group.cause.status == nil ? "Cause" : "Server said", Self.said(group.cause)),
                ("When", "\(clock(group.first)) to \(clock(group.last))"),
                ("drainq will", "keep them, and not try them again."),
                (
                    "You",
                    """
                    see what was sent:\(command(["list", "--state", "failed"]))If it is mended (there, or in a route), send \
                    them again, slowly:\(command(["retry", "--state", "failed", "--rate", "5/s"]))If nobody wants them any \
                    more, keep a copy and take them out:\
                    \(command(["export", "--state", "failed", "--to", "failed.ndjson", "--then-drop"]))
                    """
                ),
            ])
    }

    // MARK: - What happened

    /// The most rows of incidents, and of what people did.
    private static var mostIncidents: Int { 20 }
    private static var mostActs: Int { 15 }

    /// The incidents, the latest first: a cause at a destination from failure to delivery. Then what people did.
    var incidents: HTML {
        let rows = Incidents(changes, status.health, at: now).rows.prefix(Self.mostIncidents).map { one -> HTML in
            let end = one.to.map { clock($0) } ?? "now"
            let length = (one.to == nil ? "still going, " : "") + span(from: one.from, to: one.to ?? now)
            return """
                <tr class="\(one.kind)\(one.to == nil ? " on" : "")"><th scope="row">\(Self.sign(one.kind)) \(one.what)</th>\
                <td>\(clock(one.from)) to \(end)<span class="l"> \(length)</span></td><td>\(one.cause)</td>\
                <td>\(one.effect)</td></tr>
                """
        }
        let acts = changes.filter { $0.user != nil }.suffix(Self.mostActs).reversed().map { event -> HTML in
            "<li><b>\(clock(event.at))</b> \(LogStory.words(event))</li>"
        }
        let did: HTML = acts.isEmpty ? "" : "<h3>What people did</h3><ul class=\"acts\">\(acts)</ul>"
        if rows.isEmpty {
            if status.health.runs.times.isEmpty, acts.isEmpty { return "" }
            return "<section><h2>Incidents</h2><p class=\"soft\">None in the last 7 days.</p>\(did)</section>"
        }
        return """
            <section><h2 id="inc">Incidents, 7 days</h2><table class="inc" aria-labelledby="inc"><thead><tr>\
            <th scope="col">what</th><th scope="col">when</th><th scope="col">cause</th><th scope="col">effect</th></tr>\
            </thead><tbody>\(rows)</tbody></table>\(did)</section>
            """
    }
}
