import Drain
import Policy
import Spool

/// What is known of a queue in words: one sentence that answers whether something is broken, and a second one that
/// answers who has to act. The first line of `status`, the page, its title and `status --check` say the same.
struct HealthWords {
    /// The kind of a sentence: its sign, its colour, and the status of `status --check`.
    enum Kind: String {
        case ok, idle, warn, held, bad, unknown
    }

    /// The answer of `status --check`, as monitoring plugins give it.
    enum Level: String, CaseIterable {
        case ok, warning, critical, unknown
    }

    var level: Level {
        switch kind {
        case .ok, .idle: .ok
        case .unknown: .unknown
        case .warn: .warning
        case .bad: .critical
        case .held: finding == .paused ? .ok : finding == .trouble ? .critical : .warning
        }
    }

    let health: QueueHealth
    /// Why the configuration cannot be read; `nil` if it can.
    var brokenConfiguration: String?
    private let finding: QueueHealth.Finding
    private let troubles: [DestinationHealth]

    init(_ health: QueueHealth) {
        self.health = health
        finding = health.findings[0]
        troubles = health.troubles
    }

    private var now: Timestamp { health.at }

    var kind: Kind {
        if brokenConfiguration != nil { return .bad }
        return switch finding {
        case .unreadable, .clockSetBack: .unknown
        case .paused: .held
        case .notRunning, .failing, .full: .bad
        case .trouble: troubles.allSatisfy { $0.state == .held } ? .held : .bad
        case .neverRun, .offline, .failed, .quarantined, .unsent, .unserved: .warn
        case .heldAlone, .heldBehind: .held
        case .working, .well: .ok
        case .fresh: .idle
        }
    }

    /// The sentence of a page: a capital letter and a period.
    var sentence: String { text.prefix(1).uppercased() + text.dropFirst() + "." }

    /// The same for a line: `1 of 3 destinations is in trouble: crm is held`.
    var text: String {
        if let brokenConfiguration { return "the configuration cannot be read: \(brokenConfiguration)" }
        let waiting = health.waiting
        switch finding {
        case .unreadable(let files):
            return "it is not known how this queue is: \(Self.listed(files.map { "state/\($0)" })) cannot be read"
        case .clockSetBack(let last):
            return
                "it is not known whether runs come: the clock says \(clock(now)), and the last run came at \(clock(last))"
        case .full(let limit): return "\(limit.words): adds are refused"
        case .paused: return "the queue is paused: \(waits(waiting))"
        case .neverRun: return "no run has come yet: \(waits(waiting)) for the first"
        case .notRunning(let since): return "nobody runs this queue: no run for \(InWords.rough(now - since))"
        case .failing: return "runs end with an error and send nothing: \(waits(waiting))"
        case .offline(let reason): return "\(reason): \(waits(waiting))"
        case .trouble: return troubleText
        case .unsent: return unsentText
        case .failed:
            let newest = health.newFailed == 1 ? ": " : ", the newest one: "
            let cause = health.newestFailure.map { newest + escapedForDisplay($0).truncated(to: 100) }
            return "\(Self.count(health.newFailed, "operation")) failed for good\(cause ?? "")"
        case .quarantined: return quarantineText
        case .unserved: return unservedText
        case .heldAlone: return "\(heldAlone): a person decides"
        case .heldBehind: return heldBehind
        case .working: return "all is well: a run is at work, \(InWords.are(waiting, "operation")) left"
        case .well: return "all is well: " + (waiting == 0 ? "nothing waits" : waits(waiting, forTime: true))
        case .fresh:
            let isTried = health.destinations.contains { $0.state == .missed }
            return "nothing has been \(isTried ? "delivered" : "sent") yet"
                + (waiting == 0 ? "" : ": \(waits(waiting, forTime: true))")
        }
    }

    /// The second sentence: who has to act, or the evidence; empty if there is nothing to add.
    var lede: String {
        if brokenConfiguration != nil { return "Runs send nothing until it can be read." }
        var parts: [String] = []
        switch finding {
        case .unreadable:
            parts = [
                "A file of a newer drainq needs that drainq; '\(pasted("check", "--repair"))' moves a damaged one aside."
            ]
        case .paused:
            let since = health.pause.map { " at \(moment($0.since))" } ?? ""
            parts = [
                "\(health.pause?.user ?? "Somebody") paused it\(since).",
                "Runs come and send nothing until somebody resumes it.",
            ]
        case .clockSetBack: parts = ["The clock has been set back. The next run makes its time known."]
        case .full(let limit): parts = [limit.remedy.prefix(1).uppercased() + limit.remedy.dropFirst() + "."]
        case .neverRun: parts = ["drainq sends only while something runs it: your hand, cron or a timer."]
        case .notRunning:
            let age = health.oldest.map { ", the oldest for \(InWords.rough(max(now - $0, .seconds(1))))" } ?? ""
            parts = [
                "\(Self.count(health.due, "operation")) \(health.due == 1 ? "is" : "are") due\(age).",
                "A run that cannot begin or is killed does not count: '\(pasted("run"))' prints its error.",
            ]
        case .failing: parts = ["'\(pasted("run"))' prints the error on standard error."]
        case .trouble: parts = troubleLede
        case .offline: break
        case .failed:
            let left = health.waiting - health.heldAlone - health.heldBehind
            parts = ["drainq does not try \(health.newFailed == 1 ? "it" : "them") again by itself."]
            if left > 0 {
                parts.append(waits(left, "other", forTime: true) + ".")
            } else if health.waiting == 0 {
                parts.append("Nothing else waits.")
            }
        case .unsent:
            parts = Self.rest(of: health.unsent?.reason, after: unsentText)
            parts += ["Runs come, and go on without \(health.unsent?.count == 1 ? "it" : "them")."]
        case .unserved where health.unserved?.behind != nil && health.unserved?.failed == nil:
            parts = ["Drop what waits, and add it again: it then stands behind the other one."]
        case .unserved: parts = ["drainq keeps what waits until somebody adds, retries or drops an operation."]
        case .quarantined: parts = Self.rest(of: health.quarantineReason, after: quarantineText)
        case .heldAlone: break
        case .heldBehind: parts = ["Runs send them once those are retried or dropped."]
        case .working, .well: parts = [proof]
        case .fresh:
            parts = [health.runs.last(at: now).map { "Runs come, the last at \(clock($0))." } ?? "No run has come yet."]
        }
        return (parts + others).joined(separator: " ")
    }

    /// The title of the page.
    var short: String {
        if brokenConfiguration != nil { return "the configuration is broken" }
        return switch finding {
        case .unreadable, .clockSetBack: "not known"
        case .full: "full"
        case .paused: "paused"
        case .neverRun: "no run yet"
        case .notRunning: "nobody runs it"
        case .failing: "runs fail"
        case .offline: "cannot send"
        case .trouble: "\(troubles.count) of \(health.named.count) in trouble"
        case .unsent: "\(InWords.grouped(health.unsent?.count ?? 0)) not sent"
        case .failed: "\(InWords.grouped(health.newFailed)) failed"
        case .quarantined: "\(InWords.grouped(health.newQuarantined)) in quarantine"
        case .unserved: "\(InWords.grouped(health.unserved?.count ?? 0)) wait in vain"
        case .heldAlone: "\(InWords.grouped(health.heldAlone)) held"
        case .heldBehind: "\(InWords.grouped(health.heldBehind)) held"
        case .working: "well, a run is at work"
        case .well: "well"
        case .fresh: "nothing sent yet"
        }
    }

    // MARK: - Parts

    /// What is found besides the first finding, in a few words each.
    private var others: [String] {
        health.findings.dropFirst().compactMap { finding -> String? in
            switch finding {
            case .unreadable, .clockSetBack, .neverRun, .working, .well, .fresh, .paused: nil
            case .full(let limit): "\(limit.words.prefix(1).uppercased())\(limit.words.dropFirst()): adds are refused."
            case .notRunning(let since): "No run came for \(InWords.rough(now - since))."
            case .failing: "Runs end with an error and send nothing."
            case .offline(let reason): reason.prefix(1).uppercased() + reason.dropFirst() + "."
            case .trouble: troubleText.prefix(1).uppercased() + troubleText.dropFirst() + "."
            case .unsent: unsentText.prefix(1).uppercased() + unsentText.dropFirst() + "."
            case .unserved: unservedText.prefix(1).uppercased() + unservedText.dropFirst() + "."
            case .failed: "\(Self.count(health.newFailed, "operation")) failed for good."
            case .quarantined: quarantineText + "."
            case .heldAlone: heldAlone + "."
            case .heldBehind: heldBehind + "."
            }
        }
    }

    private var heldAlone: String { "\(InWords.are(health.heldAlone, "operation")) held one by one" }

    private var heldBehind: String {
        "\(InWords.are(health.heldBehind, "operation")) held behind failed or quarantined ones"
    }

    private var proof: String {
        let last = health.runs.last(at: now).map { ago($0) } ?? "not known"
        guard let delivery = health.lastSuccess else { return "Last run: \(last)." }
        let run = finding == .working ? "at work" : last
        return "Last delivery: \(moment(delivery)). Last run: \(run)."
    }

    /// `1 operation is due since 21:10 UTC, and runs do not send it: …`. A long reason stands in the second sentence.
    private var unsentText: String {
        guard let unsent = health.unsent else { return "" }
        let (be, them) = unsent.count == 1 ? ("is", "it") : ("are", "them")
        let way = unsent.reason == nil ? "no run takes \(them)" : "runs do not send \(them)"
        let text = "\(Self.count(unsent.count, "operation")) \(be) due since \(clock(unsent.since)), and \(way)"
        return Self.sentence(text, unsent.reason)
    }

    /// `1 file is in quarantine: …`.
    private var quarantineText: String {
        Self.sentence("\(InWords.are(health.newQuarantined, "file")) in quarantine", health.quarantineReason)
    }

    private static func sentence(_ text: String, _ reason: String?) -> String {
        let whole = reason.map { "\(text): \($0)" } ?? text
        return whole.count <= longest ? whole : text
    }

    /// Returns a reason that is too long for its sentence, as a sentence of its own.
    private static func rest(of reason: String?, after sentence: String) -> [String] {
        guard let reason, !sentence.hasSuffix(reason) else { return [] }
        return [reason.prefix(1).uppercased() + reason.dropFirst() + "."]
    }

    /// `1 operation waits for '{kept.id}', and the one that would leave it failed`.
    private var unservedText: String {
        guard let unserved = health.unserved else { return "" }
        let why =
            unserved.failed != nil
            ? "the one that would leave it failed"
            : unserved.behind != nil ? "the one that would leave it stands behind" : "nothing in the queue leaves it"
        return "\(waits(unserved.count)) for '{kept.\(unserved.name)}', and \(why)"
    }

    private var troubleText: String {
        let (count, all) = (troubles.count, health.named.count)
        let head =
            "\(InWords.grouped(count)) of \(Self.count(all, "destination")) \(count == 1 ? "is" : "are") in trouble"
        if count == 1 {
            let text = "\(head): \(Self.state(troubles[0]))"
            return text.count <= Self.longest ? text : "\(head): \(Self.state(troubles[0], as: "it"))"
        }
        if let cause = commonCause {
            let state = troubles[0].state == .held ? "held" : "down"
            return
                "\(InWords.grouped(count)) of \(Self.count(all, "destination")) are \(state) for one cause: \(CauseWords.plain(cause))"
        }
        let named = "\(head): " + Self.listed(troubles.map { Self.state($0) })
        if count <= 3, named.count <= Self.longest { return named }
        let kinds: [(Int, String, String)] = [
            (troubles.count { $0.state == .held }, "is held", "are held"),
            (
                troubles.count { $0.state == .down && !$0.answersWithoutTaking && !$0.lacksCredentials }, "is down",
                "are down"
            ),
            (troubles.count { $0.lacksCredentials }, "waits for its credentials", "wait for their credentials"),
            (troubles.count { $0.answersWithoutTaking }, "answers errors", "answer errors"),
        ]
        return "\(head): "
            + Self.listed(kinds.filter { $0.0 > 0 }.map { "\(InWords.grouped($0.0)) \($0.0 == 1 ? $0.1 : $0.2)" })
    }

    private var troubleLede: [String] {
        let held = troubles.filter { $0.state == .held }
        let down = troubles.filter { $0.state == .down }
        if troubles.count > 1, commonCause != nil {
            let well = health.named.count { $0.state == .well }
            return [
                "One repair helps all \(troubles.count)"
                    + (down.isEmpty ? ": they need a person." : "; drainq goes on trying."),
                well == 0 ? "" : "\(InWords.grouped(well)) \(well == 1 ? "other is" : "others are") well.",
            ].filter { !$0.isEmpty }
        }
        func name(_ few: [DestinationHealth], _ many: String) -> String {
            few.count == 1 ? (few[0].name.count <= 40 ? few[0].name : "One") : many
        }
        var parts: [String] = []
        if !held.isEmpty {
            let who = name(held, down.isEmpty ? "They" : "The \(held.count) held")
            parts.append("\(who) \(held.count == 1 ? "needs" : "need") a person.")
        }
        let needs = Dictionary(grouping: down) { CauseWords.need($0.cause).one }
        for (_, few) in needs.sorted(by: { ($1.value.count, $0.key) < ($0.value.count, $1.key) }) {
            let who = name(few, few.count == troubles.count ? "They" : "\(few.count) others")
            let need = CauseWords.need(few[0].cause)
            parts.append("\(who) \(few.count == 1 ? "needs \(need.one)" : "need \(need.many)"); drainq goes on trying.")
        }
        return parts
    }

    /// The one cause of all troubles; `nil` if there are several.
    private var commonCause: Cause? {
        guard let first = troubles.first, let cause = first.cause, cause.status != nil || cause.error != nil,
            troubles.allSatisfy({ $0.state == first.state && $0.cause?.group == cause.group })
        else { return nil }
        return cause
    }

    static func waiting(_ count: Int, _ noun: String = "operation") -> String {
        "\(Self.count(count, noun)) \(count == 1 ? "waits" : "wait")"
    }

    private func waits(_ count: Int, _ noun: String = "operation", forTime: Bool = false) -> String {
        if !forTime { return Self.waiting(count, noun) }
        let stopped = health.destinations.filter { $0.state == .paused && $0.waiting > 0 }
        let paused = stopped.map(\.name)
        let time = count == 1 ? " for its time" : " for their time"
        let what = health.due > 0 ? " for the next run" : count > stopped.reduce(0) { $0 + $1.waiting } ? time : ""
        return Self.waiting(count, noun) + what
            + (paused.isEmpty ? "" : "; \(Self.listed(paused)) \(paused.count == 1 ? "is" : "are") paused")
    }

    private func ago(_ time: Timestamp) -> String { InWords.past(time, from: now) }
    /// Both forms of a time in the past: `03:10 UTC, 5m ago`.
    private func moment(_ time: Timestamp) -> String {
        let (time, ago) = (clock(time), ago(time))
        return time == ago ? "\(time), by a clock that was ahead" : "\(time), \(ago)"
    }
    private func clock(_ time: Timestamp) -> String { InWords.utc(time, at: now) }

    /// The most characters of a sentence with names.
    private static let longest = 100

    static func state(_ one: DestinationHealth, as name: String? = nil) -> String {
        let name = name ?? one.name
        switch one.state {
        case .held: return "\(name) is held"
        case .down where one.answersWithoutTaking: return "\(name) answers \(one.cause?.status ?? 0) to everything"
        case .down where one.lacksCredentials: return "\(name) waits for its credentials"
        case .down: return "\(name) is down"
        case .paused: return "\(name) is paused"
        case .missed, .asked, .well, .fresh, .unnamed: return name
        }
    }

    static func count(_ count: Int, _ noun: String) -> String {
        "\(InWords.grouped(count)) \(noun)\(count == 1 ? "" : "s")"
    }

    static func listed(_ parts: [String]) -> String {
        parts.count < 2 ? parts.first ?? "" : parts.dropLast().joined(separator: ", ") + " and " + parts.last!
    }
}

extension FullLimit {
    /// The limit in words: `the queue is full (limits.operations 100)`.
    var words: String {
        switch self {
        case .operations(let count): "the queue is full (limits.operations \(count))"
        case .bytes(let bytes): "the queue is full (limits.bytes \(ByteCount(bytes)))"
        case .minimumFree(let bytes): "the disk is full (limits.minimumFree \(ByteCount(bytes)))"
        case .operationBytes, .headerBytes: description
        }
    }

    /// What makes room.
    var remedy: String {
        if case .minimumFree = self { return "free space on its file system, or lower the limit in drainq.json" }
        return "let runs deliver, raise the limit in drainq.json, or drop what is not wanted"
    }
}
