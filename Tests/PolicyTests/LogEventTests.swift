import Testing

@testable import Policy

struct LogEventTests {
    private static let at = Timestamp(rfc3339: "2026-11-21T09:15:00.250Z")!

    /// An event with a value in every field of the table.
    private func full(_ kind: LogEvent.Kind) -> LogEvent {
        var event = LogEvent(kind, at: Self.at)
        for (index, field) in LogEvent.fields.enumerated() {
            switch field.value {
            case .text(let path): event[keyPath: path] = "\"é\\ \(index)\n"
            case .number(let path): event[keyPath: path] = index
            case .time(let path): event[keyPath: path] = Self.at - .seconds(index)
            }
        }
        event.ids = ["a", "b"]
        return event
    }

    @Test(arguments: LogEvent.Kind.allCases)
    func `an event is written to a single line and read back unchanged`(kind: LogEvent.Kind) {
        for event in [full(kind), LogEvent(kind, at: Self.at)] {
            let line = event.line
            #expect(line.count { $0 == 0x0A } == 1 && line.last == 0x0A)
            #expect(line.starts(with: #"{"at":"2026-11-21T09:15:00.250Z","event":"\#(kind.rawValue)""#.utf8))
            #expect(LogEvent(line: line.dropLast()) == event)
        }
    }

    @Test func `a line never exceeds the length of an atomic write`() {
        var event = LogEvent(.failed, at: Self.at, destination: String(repeating: "\u{1}", count: 9_000))
        event.cause = String(repeating: "é", count: 5_000)
        event.ids = (0..<40).map { _ in String(repeating: "\"", count: 300) }
        let read = LogEvent(line: event.line.dropLast())
        #expect(event.line.count <= LogEvent.longestLine)
        #expect(read?.kind == .failed && (read?.ids.count ?? 99) <= LogEvent.mostIDs)
    }

    @Test(arguments: [
        "", "{", #"{"at":"2026-11-21T09:15:00Z"}"#, #"{"at":"soon","event":"down"}"#,
        #"{"at":"2026-11-21T09:15:00Z","event":"of a newer version"}"#, "[1]", "\u{0}\u{0}",
        #"{"at":"2026-11-21T09:15:00Z","event":"failed","count":9007199254740993}"#,
        #"{"at":"2026-11-21T09:15:00Z","event":"failed","count":-1}"#,
        #"{"at":"2026-11-21T09:15:00Z","event":"attempts","delivered":9223372036854775808}"#,
    ])
    func `a line without a known event, or with an impossible number, is skipped`(line: String) {
        #expect(LogEvent(line: line.utf8) == nil)
    }

    @Test func `an unknown member is skipped, and a member of the wrong type counts as absent`() {
        let line =
            #"{"at":"2026-11-21T09:15:00Z","event":"down","count":"five","new":{"a":1},"destination":"d","ids":[1,"x"]}"#
        let event = LogEvent(line: line.utf8)
        #expect(event?.destination == "d" && event?.count == nil && event?.ids == ["x"])
    }

    // MARK: - The recorder

    @Test func `attempts are counted by destination and minute`() {
        var recorder = LogRecorder()
        let start = Timestamp(rfc3339: "2026-11-21T09:15:00Z")!
        for (outcome, destination, second) in [
            (Outcome.delivered, "a", 1), (.delivered, "a", 59), (.deferred, "b", 30), (.failed, "a", 60),
            (.held, "b", 31),
        ] {
            recorder.attempt(outcome, at: destination, start + .seconds(second))
        }
        let events = recorder.take()
        #expect(events.map(\.destination) == ["b", "a", "a"])
        #expect(events.map(\.delivered) == [nil, 2, nil])
        #expect(events.map(\.deferred) == [1, nil, nil] && events.map(\.held) == [1, nil, nil])
        #expect(events.map(\.failed) == [nil, nil, 1])
        #expect(events[1].since == start + .seconds(1) && events[1].at == start + .seconds(59))
        #expect(recorder.isEmpty && recorder.take().isEmpty)
    }

    @Test func `failures are counted by destination and cause, with the first ids`() {
        var recorder = LogRecorder()
        for number in 0..<25 {
            recorder.count(
                .failed, "\(number)", at: Self.at, destination: "a", type: number == 3 ? "x" : "y",
                cause: Cause(status: 404))
        }
        recorder.count(.failed, "z", at: Self.at, destination: "a", type: "y", cause: Cause(status: 410))
        let events = recorder.take()
        #expect(events.map(\.count) == [25, 1] && events.map(\.status) == [404, 410])
        #expect(events[0].ids == (0..<LogEvent.mostIDs).map(String.init))
        #expect(events.map(\.type) == [nil, "y"])
    }

    @Test func `quarantine reasons with different names and numbers share a line`() {
        var recorder = LogRecorder()
        let reasons = [
            "ids in conflict: 'a' in the name, 'b' in the header",
            "ids in conflict: 'c' in the name, 'd' in the header",
            "expected a value at byte 5", "expected a value at byte 17", "'x' is not a type",
        ]
        for (number, reason) in reasons.enumerated() {
            recorder.count(
                .quarantined, "\(number)", at: Self.at, cause: Cause(words: reason),
                group: LogRecorder.group(of: reason))
        }
        let events = recorder.take()
        #expect(events.map(\.count) == [2, 2, 1] && events.map(\.cause) == [reasons[0], reasons[2], reasons[4]])
    }

    // MARK: - Changes of a destination

    private func changes(_ events: [(DestinationEvent, second: Int)], _ settings: DestinationSettings = .init())
        -> [String]
    {
        var ledger = DestinationLedger()
        return events.flatMap { event, second in
            let (before, now) = (ledger, Self.at + .seconds(second))
            ledger.apply(event, to: "d", settings, at: now)
            return before.changes(to: ledger, of: ["d", "other"], at: now).map { change in
                "\(second) \(change.kind) \(change.status.map { "\($0)" } ?? change.error ?? change.cause ?? "-") \(change.count ?? 0)"
                    + (change.since.map { " since \(Int(($0 - Self.at).inSeconds))" } ?? "")
            }
        }
    }

    @Test func `a destination is down from the fifth failure in a row until a delivery`() {
        let failures = (0..<7).map { (DestinationEvent.unreachable("timeout"), second: $0) }
        let told = ["4 down timeout 5 since 0", "61 up timeout 0 since 0"]
        #expect(changes(failures + [(.answered, 60), (.delivered(began: Self.at), 61)]) == told)
        #expect(changes(Array(failures.prefix(4)) + [(.delivered(began: Self.at), 60)]) == [])
        var never = DestinationSettings()
        never.circuitBreaker = 0
        #expect(changes(failures + [(.answered, 60), (.delivered(began: Self.at), 61)], never) == told)
    }

    private func missed(_ status: Int, at second: Int) -> (DestinationEvent, second: Int) {
        let time = Self.at + .seconds(second)
        return (.missed(Incident(since: time, last: time, cause: Cause(status: status))), second)
    }

    @Test func `a destination is down after a quarter of an hour without a delivery, whatever it answers`() {
        let answers = [500, 408, 409, 200].enumerated().map { missed($1, at: $0 * 299) }
        #expect(changes(answers) == [])
        #expect(changes(answers + [missed(500, at: 900)]) == ["900 down 500 5 since 0"])
        #expect(changes(answers + [(.looked, 899), (.looked, 900), (.looked, 901)]) == ["900 down 200 4 since 0"])
        #expect(
            changes(answers + [missed(500, at: 900), (.delivered(began: Self.at), 1000), missed(500, at: 1001)])
                == ["900 down 500 5 since 0", "1000 up 500 5 since 0"])
    }

    @Test func `a destination that is held is not told to be down`() {
        let held = DestinationEvent.held(reason: "401: no", status: 401, blamed: nil)
        #expect(changes([missed(401, at: 0), (held, 0), (.looked, 900)]).allSatisfy { $0.contains(" held ") })
        #expect(changes([missed(401, at: 0), (held, 0), (.looked, 900)]).count == 1)
    }

    @Test func `a server that asks for time is in trouble after an hour`() {
        let asked = (DestinationEvent.retryAfter(until: Self.at + .seconds(60)), second: 0)
        let answers = [asked, missed(429, at: 0), missed(429, at: 901), missed(429, at: 3599)]
        #expect(changes(answers) == [])
        #expect(changes(answers + [missed(429, at: 3600)]) == ["3600 down 429 4 since 0"])
    }

    @Test func `an incident that no route and no operation names ends without a delivery, with a hold of runs`() {
        let held = DestinationEvent.held(reason: "401: no", status: 401, blamed: nil)
        var ledger = DestinationLedger()
        ledger.apply(missed(500, at: 0).0, to: "d", .init(), at: Self.at)
        for event in [.looked, held, .paused] { ledger.apply(event, to: "d", .init(), at: Self.at + .seconds(900)) }
        let before = ledger
        ledger.apply(.unnamed, to: "d", .init(), at: Self.at + .seconds(901))
        let events = before.changes(to: ledger, of: ["d"], at: Self.at + .seconds(901))
        #expect(events.map(\.kind) == [.up, .released] && events.first?.ended == "forgotten")
        #expect(ledger["d"].isPaused && ledger["d"].hold == nil && ledger["d"].incident == nil)
        ledger.apply(.heldByHand(reason: "mine"), to: "d", .init(), at: Self.at)
        ledger.apply(.unnamed, to: "d", .init(), at: Self.at)
        #expect(ledger["d"].hold?.reason == "mine")
    }

    @Test func `a hold, a pause and their ends make an event each, even if runs repeat them`() {
        let held = DestinationEvent.held(reason: "401: no", status: 401, blamed: nil)
        #expect(
            changes([
                (held, 1), (held, 2), (.probed, 3), (.paused, 4), (.paused, 5), (.resumed, 6),
                (.delivered(began: Self.at + .seconds(6)), 7),
                (.heldByHand(reason: "hand"), 8), (.released, 9), (.released, 10),
            ]) == [
                "1 held 401: no 0", "4 paused - 0", "6 resumed - 0", "7 released 401: no 0 since 1", "8 held hand 0",
                "9 released hand 0 since 8",
            ])
    }

    @Test func `an operator's hold over an existing hold is logged`() {
        let held = DestinationEvent.held(reason: "401", status: 401, blamed: nil)
        #expect(changes([(held, 1), (.heldByHand(reason: "hand"), 2)]) == ["1 held 401 0", "2 held hand 0"])
    }
}
