import Foundation
import Testing

@testable import Policy

/// What hooks and the readers of mail are told, over many runs.
struct ReportLedgerTests {
    private static let a = "https://a.example"
    private static let b = "https://b.example"
    private let start = Timestamp(rfc3339: "2026-11-21T12:00:00Z")!
    private let all = Hooks(
        commands: Dictionary(uniqueKeysWithValues: Hooks.Event.allCases.map { ($0, ["notify"]) }))

    private func minutes(_ count: Int) -> Timestamp { start + .seconds(60 * count) }

    private func written(_ ledger: ReportLedger) throws -> ReportLedger {
        try JSONDecoder().decode(ReportLedger.self, from: JSONEncoder().encode(ledger))
    }

    // MARK: - Mail

    private let unprocessable = ReportLedger.Subject.mail(Cause(status: 422), at: a)
    private let absent = ReportLedger.Subject.mail(Cause(status: 404), at: a)

    private func failed(_ subject: ReportLedger.Subject, _ count: Int) -> ReportLedger {
        var run = ReportLedger()
        run.owe(News(.failed, subject.destination, reason: "no", count: count), to: subject)
        return run
    }

    /// A run without a terminal. Returns the numbers that its mail has for each cause, with the failures of the run.
    private func mail(_ ledger: inout ReportLedger, _ run: ReportLedger, at now: Timestamp) -> [String: Int] {
        ledger.add(run)
        let due = ledger.takeDueMail(at: now).map { ("\($0.subject)", $0.waited.owed?.count ?? 0) }
        return Dictionary(due) { $0 + $1 }
    }

    @Test func `a cause is mailed once an hour, with the count since`() {
        var ledger = ReportLedger()
        #expect(!ledger.isQuiet(unprocessable, at: start))
        #expect(mail(&ledger, failed(unprocessable, 1), at: start) == ["422": 1])
        for minute in 1...7 {
            #expect(ledger.isQuiet(unprocessable, at: minutes(minute)) && !ledger.hasDueMail(at: minutes(minute)))
            #expect(mail(&ledger, failed(unprocessable, 2), at: minutes(minute)) == [:])
        }
        #expect(!ledger.isQuiet(absent, at: minutes(8)))
        #expect(!ledger.hasDueMail(at: minutes(59)) && ledger.hasDueMail(at: minutes(60)))
        #expect(mail(&ledger, ReportLedger(), at: minutes(60)) == ["422": 14])
        // A mail without new failures begins a new hour.
        #expect(ledger.isQuiet(unprocessable, at: minutes(119)) && !ledger.hasDueMail(at: minutes(200)))
    }

    @Test func `the mail about a new failure includes the count since the last mail, and its time`() {
        var ledger = ReportLedger()
        _ = mail(&ledger, failed(unprocessable, 1), at: start)
        _ = mail(&ledger, failed(unprocessable, 3), at: minutes(1))
        ledger.add(failed(unprocessable, 1))
        let due = ledger.takeDueMail(at: minutes(61))
        #expect(due.map(\.waited.owed?.count) == [4] && due.map(\.waited.told) == [start])
        #expect(!ledger.hasDueMail(at: minutes(200)))
    }

    @Test func `a new cause is mailed despite a recent cause with the same status, up to a limit`() throws {
        func cause(_ words: String) -> ReportLedger.Subject { .mail(Cause(status: 422, words: words), at: Self.a) }
        let (email, quota) = (cause(#"{"error":"invalid email","id":"a1"}"#), cause("quota of 7 used up"))
        #expect(email == cause(#"{"error":"invalid email","id":"b2-77"}"#), "ids and numbers do not count")
        #expect("\(email)" == "422 (error invalid email id)" && "\(quota)" == "422 (quota of used up)")
        var ledger = ReportLedger()
        _ = mail(&ledger, failed(email, 1), at: start)
        #expect(ledger.isQuiet(email, at: minutes(5)) && !ledger.isQuiet(quota, at: minutes(5)))
        _ = mail(&ledger, failed(quota, 1), at: minutes(5))
        // A server that names each operation in its answer makes at most three causes an hour.
        let names = ["user Ada is unknown", "user Bob is unknown", "user Eve is unknown"].map(cause)
        #expect(ledger.counted(names[0], in: ReportLedger()) == names[0])
        #expect(ledger.counted(names[1], in: failed(names[0], 1)) == email)
        #expect(ledger.counted(names[0], in: failed(names[0], 1)) == names[0])
        #expect(ledger.counted(absent, in: failed(names[0], 1)) == absent)
        #expect(try written(ledger) == ledger)
    }

    /// A ledger of destinations after these events at `a`, a minute apart.
    private func destinations(_ events: DestinationEvent...) -> DestinationLedger {
        var destinations = DestinationLedger()
        for (minute, event) in events.enumerated() {
            destinations.apply(event, to: Self.a, DestinationSettings(), at: minutes(minute))
        }
        return destinations
    }

    @Test func `a mail tells the end of a hold that a mail has told, whoever has ended it but an operator`() {
        var ledger = ReportLedger()
        ledger.beginHold(of: Self.a, storm: nil, at: start)
        #expect(ledger.hasTold(holdOf: Self.a) && !ledger.hasTold(holdOf: Self.b))
        let held = DestinationEvent.held(reason: "401", blamed: nil)
        #expect(ledger.endHolds(by: destinations(held)) == [] && ledger.hasTold(holdOf: Self.a))
        #expect(ledger.endHolds(by: destinations(.heldByHand(reason: "no"))) == [] && ledger.hasTold(holdOf: Self.a))
        #expect(ledger.endHolds(by: destinations()) == [Self.a] && !ledger.hasTold(holdOf: Self.a))
        #expect(ledger.endHolds(by: destinations()) == [])
        ledger.beginHold(of: Self.a, storm: nil, at: start)
        #expect(ledger.endHolds(by: destinations(held, .released)) == [] && !ledger.hasTold(holdOf: Self.a))
    }

    @Test func `a mail has told a hold if it is not older than the hold`() throws {
        var ledger = ReportLedger()
        func hold(_ minute: Int) -> DestinationState.Hold { .init(reason: "401", since: minutes(minute)) }
        #expect(!ledger.hasTold(hold(0), of: Self.a))
        var run = ReportLedger()
        run.beginHold(of: Self.a, storm: nil, at: start)
        ledger.add(run)
        ledger = try written(ledger)
        #expect(ledger.hasTold(hold(0), of: Self.a) && !ledger.hasTold(hold(0), of: Self.b))
        // An operator has released the first hold.
        #expect(!ledger.hasTold(hold(1), of: Self.a))
        _ = ledger.endHolds(by: destinations())
        #expect(!ledger.hasTold(hold(0), of: Self.a))
    }

    @Test func `a storm guard hold is mailed with its cause, not again in the same hour`() {
        var ledger = ReportLedger()
        _ = mail(&ledger, failed(unprocessable, 1), at: start)
        var run = failed(unprocessable, 4)
        run.beginHold(of: Self.a, storm: unprocessable, at: minutes(4))
        #expect(mail(&ledger, run, at: minutes(4)) == [:])
        // The hold's end is reported because its cause was, although its beginning was not.
        #expect(ledger.hasTold(holdOf: Self.a) && !ledger.hasDueMail(at: minutes(59)))
        var ended = ledger
        #expect(ended.endHolds(by: destinations()) == [Self.a])
        #expect(mail(&ended, ReportLedger(), at: minutes(30)) == [:])
        #expect(ended.takeDueMail(at: minutes(60)).map(\.waited.stands) == [false])
        let due = ledger.takeDueMail(at: minutes(60))
        #expect(due.map(\.waited.stands) == [true] && due.map(\.waited.owed?.count) == [4])
        #expect(!ledger.hasDueMail(at: minutes(200)) && ledger.hasTold(holdOf: Self.a))
    }

    @Test func `a storm guard hold is mailed even if its cause has no further failures`() {
        var ledger = ReportLedger()
        _ = mail(&ledger, failed(unprocessable, 1), at: start)
        var run = ReportLedger()
        run.beginHold(of: Self.a, storm: unprocessable, at: minutes(4))
        #expect(mail(&ledger, run, at: minutes(4)) == [:])
        #expect(mail(&ledger, ReportLedger(), at: minutes(90)) == ["422": 0])
    }

    @Test func `what keeps every run from its work is mailed once an hour`() {
        var ledger = ReportLedger()
        #expect(ledger.tell("line 3: no value", at: start) && !ledger.tell("line 3: no value", at: minutes(59)))
        #expect(ledger.tell("line 4: no value", at: minutes(1)) && ledger.tell("line 3: no value", at: minutes(60)))
    }

    // MARK: - Hooks

    private func failed(_ destination: String, _ ids: String...) -> News {
        News(.failed, destination, reason: "400", count: ids.count, ids: ids)
    }

    /// Returns the calls of a run that owes these reports, and after which these destinations are held.
    private func calls(
        _ ledger: inout ReportLedger, _ news: [News] = [], held: [String] = [], hooks: Hooks? = nil, at now: Timestamp
    ) -> [News] {
        for item in news { ledger.owe(item) }
        let held = Dictionary(uniqueKeysWithValues: held.map { ($0, HookCondition(reason: "401")) })
        return ledger.takeDue(by: hooks ?? all, [.held: held], at: now)
    }

    @Test func `the first news of each event and destination is reported at once`() {
        var ledger = ReportLedger()
        let news = [failed(Self.a, "1"), News(.quarantined, reason: "no JSON")]
        let held = [Self.a, Self.b].map { News(.held, $0, reason: "401") }
        #expect(calls(&ledger, news, held: [Self.b, Self.a], at: start) == [news[0]] + held + [news[1]])
    }

    @Test func `news within the minimum interval is reported later, together`() {
        var ledger = ReportLedger()
        #expect(calls(&ledger, [failed(Self.a, "1")], at: start).count == 1)
        #expect(calls(&ledger, [failed(Self.a, "2", "3")], at: start + .seconds(60)).isEmpty)
        #expect(calls(&ledger, [failed(Self.b, "4")], at: start + .seconds(61)) == [failed(Self.b, "4")])
        #expect(calls(&ledger, at: start + .seconds(3599)).isEmpty)
        #expect(calls(&ledger, [failed(Self.a, "5")], at: minutes(60)) == [failed(Self.a, "2", "3", "5")])
        #expect(calls(&ledger, at: start + .seconds(9000)).isEmpty)
    }

    @Test func `a condition is reported once at its beginning and once at its end`() {
        var ledger = ReportLedger()
        var hooks = all
        hooks.atMostEvery = .zero
        func told(_ event: Hooks.Event, _ present: [String: String]) -> [String] {
            let conditions = [event: present.mapValues { HookCondition(reason: $0) }]
            return ledger.takeDue(by: hooks, conditions, at: start).map { "\($0.event) \($0.destination ?? "")" }
        }
        #expect(told(.down, [Self.a: "timeout"]) == ["down \(Self.a)"])
        #expect(told(.down, [Self.a: "503"]) == [])
        #expect(told(.backlog, [Self.a: "old"]) == ["backlog \(Self.a)"])
        #expect(told(.down, [Self.b: "503"]) == ["down \(Self.b)", "up \(Self.a)"])
        #expect(told(.down, [:]) == ["up \(Self.b)"])
        #expect(told(.backlog, [:]) == ["cleared \(Self.a)"])
        #expect(told(.held, [Self.a: "401"]) == ["held \(Self.a)"])
        #expect(told(.held, [:]) == ["released \(Self.a)"])
        #expect(told(.down, [Self.a: "timeout"]) == ["down \(Self.a)"])
        // What was told before the hook was taken out is forgotten.
        hooks.commands = [:]
        #expect(told(.down, [Self.a: "timeout"]) == [] && ledger.isEmpty)
    }

    @Test func `a destination is down half an hour after the first attempt without a delivery since`() {
        var state = DestinationState()
        state.apply(.unreachable("timeout"), DestinationSettings(), at: start)
        let hooks = Hooks()
        #expect(state.outage(by: hooks, at: start + .seconds(1799)) == nil)
        let outage = HookCondition(reason: "timeout, since 2026-11-21T12:00:00Z")
        #expect(state.outage(by: hooks, at: start + .seconds(1800)) == outage)
        let missed = Incident(since: start, last: start, cause: Cause(status: 500, words: "maintenance"))
        for event in [DestinationEvent.answered, .missed(missed)] {
            state.apply(event, DestinationSettings(), at: start)
        }
        let answers = HookCondition(reason: "answers 500 \"maintenance\", since 2026-11-21T12:00:00Z")
        #expect(state.outage(by: hooks, at: start + .seconds(1801)) == answers)
        state.apply(.held(reason: "401", blamed: nil), DestinationSettings(), at: start)
        #expect(state.outage(by: hooks, at: start + .seconds(1801))?.mayBegin == false)
        state.apply(.delivered(began: start + .seconds(1802)), DestinationSettings(), at: start + .seconds(1802))
        #expect(state.outage(by: hooks, at: start + .seconds(9999)) == nil)
    }

    @Test func `a refusal that ends its operation is an outage only if others follow for a while`() {
        func refused(after times: [Duration]) -> DestinationState {
            var state = DestinationState()
            for time in times {
                var missed = Incident(since: start + time, last: start + time, cause: Cause(status: 422))
                missed.failedAll = true
                state.apply(.missed(missed), DestinationSettings(), at: start + time)
            }
            return state
        }
        let (hooks, day) = (Hooks(), start + .seconds(86_400))
        let one = refused(after: [.zero, .seconds(60)])
        #expect(!one.isDown(at: day) && one.outage(by: hooks, at: day) == nil)
        let many = refused(after: [.zero, .seconds(1800)])
        #expect(many.isDown(at: start + .seconds(1800)) && many.outage(by: hooks, at: day) != nil)
        var mixed = one
        mixed.apply(
            .missed(Incident(since: start, last: start, cause: Cause(status: 500))), DestinationSettings(), at: start)
        #expect(mixed.isDown(at: start + .seconds(900)), "the operation that got 500 waits")
    }

    @Test func `a hold by hand begins no report, and does not end one`() {
        var ledger = ReportLedger()
        func told(_ mayBegin: Bool) -> [Hooks.Event] {
            let present = [Self.a: HookCondition(reason: "401", mayBegin: mayBegin)]
            return ledger.takeDue(by: all, [.held: present], at: start).map(\.event)
        }
        #expect(told(false) == [] && told(true) == [.held] && told(false) == [])
        #expect(ledger.takeDue(by: all, [.held: [:]], at: start).map(\.event) == [.released])
    }

    @Test func `a report of a command waits for the next run`() {
        var ledger = ReportLedger()
        let item = News(.quarantined, reason: "no operation", ids: ["a"])
        ledger.owe(item)
        #expect(ledger.takeDue(by: Hooks(), at: start).isEmpty && ledger.takeDue(by: all, at: start).isEmpty)
        #expect(calls(&ledger, [item, item], at: start).map(\.count) == [2])
    }

    @Test func `a change undone before its report is not reported`() {
        var ledger = ReportLedger()
        #expect(calls(&ledger, held: [Self.a], at: start).map(\.event) == [.held])
        #expect(calls(&ledger, at: minutes(1)).map(\.event) == [.released])
        #expect(calls(&ledger, held: [Self.a], at: minutes(2)).isEmpty)
        #expect(calls(&ledger, at: minutes(3)).isEmpty)
        #expect(calls(&ledger, at: minutes(1440)).isEmpty && ledger.isEmpty)
    }

    @Test func `the last report always matches the latest state, though possibly late`() {
        var ledger = ReportLedger()
        var told: Hooks.Event = .released
        var isHeld = false
        var generator = SeededGenerator(seed: 7)
        var now = start
        for _ in 0..<2000 {
            now = now + .seconds(Int.random(in: 1...1200, using: &generator))
            if Bool.random(using: &generator) { isHeld.toggle() }
            for item in calls(&ledger, held: isHeld ? [Self.a] : [], at: now) {
                #expect(item.event != told, "told twice in a row")
                told = item.event
            }
            var hourLater = ledger
            let owed = calls(&hourLater, held: isHeld ? [Self.a] : [], at: now + .seconds(3600)).last?.event
            #expect((owed ?? told) == (isHeld ? .held : .released))
        }
    }

    @Test func `an event without a command is forgotten, and its opposite is told`() {
        var ledger = ReportLedger()
        let hooks = Hooks(commands: [.released: ["notify"]])
        #expect(calls(&ledger, [failed(Self.a, "1")], held: [Self.a], hooks: hooks, at: start) == [])
        #expect(calls(&ledger, hooks: hooks, at: minutes(1)).map(\.event) == [.released])
        #expect(calls(&ledger, held: [Self.a], hooks: hooks, at: minutes(2)) == [])
        #expect(calls(&ledger, hooks: hooks, at: minutes(3)) == [], "too soon")
        #expect(calls(&ledger, hooks: hooks, at: minutes(61)).map(\.event) == [.released])
    }

    @Test func `a clock set back silences no report`() {
        var ledger = ReportLedger()
        _ = mail(&ledger, failed(unprocessable, 1), at: minutes(600))
        #expect(!ledger.isQuiet(unprocessable, at: start))
        _ = calls(&ledger, [failed(Self.a, "1")], held: [Self.a], at: minutes(600))
        #expect(calls(&ledger, [failed(Self.a, "1")], held: [Self.a], at: start).map(\.event) == [.failed])
    }

    @Test func `news keeps ten ids, and its count does not overflow`() {
        var news = News(.failed, Self.a, reason: "400", count: .max, ids: (0..<20).map(String.init))
        #expect(news.ids.count == 10)
        news.add(failed(Self.a, "x"))
        #expect(news.count == .max && news.ids == (0..<10).map(String.init))
    }

    // MARK: - The log

    @Test func `the log is owed the last thousand lines until it has them`() throws {
        var ledger = ReportLedger()
        var run = ReportLedger()
        run.owe((0..<700).map { LogEvent(.run, at: minutes($0)) })
        run.counters.countRun(exitStatus: 0)
        for _ in 0..<2 { ledger.add(run) }
        #expect(ledger.lines.count == 1000 && ledger.lines.last?.at == minutes(699))
        #expect(try written(ledger) == ledger)
        ledger.haveLogged()
        #expect(ledger.lines.isEmpty && ledger.counters.runs == ["0": 2])
    }

    /// Returns the lines of a run that finds this ledger of destinations, and that the log takes.
    private func lines(_ ledger: inout ReportLedger, _ destinations: DestinationLedger, at now: Timestamp) throws
        -> [LogEvent]
    {
        ledger.oweChanges(to: destinations, at: now)
        let lines = ledger.lines
        ledger.haveLogged()
        ledger = try written(ledger)
        return lines
    }

    @Test func `a hold that the log lacks is a line of the next run, and so is its end`() throws {
        var ledger = ReportLedger()
        let held = DestinationEvent.held(reason: "401", status: 401, blamed: nil, cause: Cause(status: 401))
        let first = destinations(held)
        let told = try lines(&ledger, first, at: minutes(1))
        #expect(told.map(\.kind) == [.held] && told[0].status == 401 && told[0].destination == Self.a)
        #expect(try lines(&ledger, first, at: minutes(2)).isEmpty)
        // An operator has ended it, and another one begins.
        let second = destinations(.paused, .paused, .paused, held)
        #expect(try lines(&ledger, second, at: minutes(4)).map(\.kind) == [.held])
        #expect(try lines(&ledger, destinations(), at: minutes(5)).map(\.kind) == [.released])
        #expect(try lines(&ledger, destinations(), at: minutes(6)).isEmpty)
        #expect(try lines(&ledger, destinations(.heldByHand(reason: "no")), at: minutes(7)).isEmpty)
    }

    @Test func `an outage that the log lacks is a line of the next run, and so is its end`() throws {
        var ledger = ReportLedger()
        let missed = DestinationEvent.missed(Incident(since: start, last: start, cause: Cause(status: 503)))
        var down = destinations(missed)
        #expect(try lines(&ledger, down, at: minutes(1)).isEmpty)
        down.apply(.looked, to: Self.a, DestinationSettings(), at: minutes(20))
        #expect(try lines(&ledger, down, at: minutes(21)).map(\.kind) == [.down])
        #expect(try lines(&ledger, down, at: minutes(22)).isEmpty)
        #expect(try lines(&ledger, destinations(), at: minutes(23)).map(\.kind) == [.up])
        #expect(try lines(&ledger, destinations(), at: minutes(24)).isEmpty)
    }

    @Test func `the line of the process that has begun a hold is no second one, unless an operator has`() throws {
        var ledger = ReportLedger()
        let first = destinations(.held(reason: "401", blamed: nil))
        #expect(try lines(&ledger, first, at: minutes(1)).count == 1)
        var run = ReportLedger()
        var line = LogEvent(.held, at: start, destination: Self.a)
        run.owe([line])
        ledger.add(run)
        #expect(ledger.lines.isEmpty)
        line.user = "ada"
        run.owe([line])
        ledger.add(run)
        #expect(ledger.lines == [line])
        // A line of the process that comes first is told.
        var other = ReportLedger()
        other.add(run)
        #expect(other.lines.count == 2)
        other.haveLogged()
        #expect(try lines(&other, first, at: minutes(1)).isEmpty)
    }

    @Test func `more holds than the ledger remembers are not told again`() throws {
        var ledger = ReportLedger()
        var many = DestinationLedger()
        for number in 0..<1200 {
            many.apply(
                .held(reason: "401", blamed: nil), to: "https://\(number).example", DestinationSettings(), at: start)
        }
        ledger.oweChanges(to: many, at: minutes(1))
        ledger.haveLogged()
        #expect(try lines(&ledger, many, at: minutes(2)).isEmpty)
    }

    // MARK: - All

    @Test func `the ledger survives encoding, and a newer version is refused`() throws {
        var ledger = ReportLedger()
        var run = failed(unprocessable, 5)
        run.beginHold(of: Self.a, storm: unprocessable, at: start)
        for minute in 0...1 {
            _ = mail(&ledger, run, at: minutes(minute))
            let news = [failed(Self.a, "2"), News(.quarantined, reason: "x\n\u{0}")]
            _ = calls(&ledger, news, held: [Self.a], at: minutes(minute))
        }
        _ = ledger.tell("line 3: no value", at: start)
        #expect(try written(ledger) == ledger)
        let data = try JSONEncoder().encode(ledger)
        let newer = String(decoding: data, as: UTF8.self).replacing("\"version\":1", with: "\"version\":2")
        #expect(throws: NewerVersion(version: 2)) {
            try JSONDecoder().decode(ReportLedger.self, from: Data(newer.utf8))
        }
    }

    @Test func `the ledger keeps the latest reports, and conditions that go on, also after a reload`() throws {
        func names(_ run: Int) -> [String] { (0..<50).map { "https://\(99 - run).example:\($0 + 100)" } }
        var ledger = ReportLedger()
        for number in 0..<30 {
            var run = ReportLedger()
            for name in names(number) {
                run.beginHold(of: name, storm: nil, at: minutes(number))
                run.owe(News(.failed, name, reason: "no"), to: .mail(Cause(status: 422), at: name))
            }
            _ = mail(&ledger, run, at: minutes(number))
            // Each run reads the file of the previous run.
            ledger = try written(ledger)
        }
        #expect((0..<30).filter { names($0).allSatisfy(ledger.hasTold(holdOf:)) } == Array(10..<30))
        #expect(try JSONEncoder().encode(ledger).count < 200_000)
        // No hook is called again for a destination that was forgotten: there is no room for another one.
        let many = (0..<1500).map { "https://\($0).example" }
        #expect(calls(&ledger, held: many, at: start).count == 1000)
        #expect(calls(&ledger, held: many, at: minutes(90)).isEmpty)
    }
}

extension ReportLedger {
    /// Whether a mail has told of a hold, and none of its end.
    fileprivate func hasTold(holdOf destination: String) -> Bool {
        hasTold(DestinationState.Hold(reason: "", since: Timestamp(microseconds: 0)), of: destination)
    }
}
