import Delivery
import Spool
import Testing

@testable import Drain
@testable import DrainqCLI
@testable import Policy

/// Output for people: tables, the status, the progress line, bodies.
struct ReportTests {
    private static let now = Timestamp(rfc3339: "2026-11-21T12:00:00Z")!

    private func terminal(_ columns: Int?, colour: Bool = false) -> Terminal {
        Terminal(columns: columns, lines: 24, hasColour: colour)
    }

    @Test func `a newer value is not to be replaced, and an expired operation is edited before its retry`() {
        let newer = OperatorAction.Objection.isSuperseded(by: OperationID("new")!)
        #expect(newer.words == "'new' is a newer value of its key")
        #expect(
            newer.way(for: "old", in: .failed)
                == "the newer value replaces it when it is delivered; 'drainq retry --as-newest old' sends this older value instead"
        )
        #expect(
            newer.way(for: "old", in: .deferred)
                == "a run removes this older value; after 'drainq drop new' a run sends it")
        #expect(
            OperatorAction.Objection.hasExpired(isOwn: true).way(for: "a", in: .failed)
                == "drainq export a, another 'expiresAt', and drainq import --replace | drainq retry -")
        #expect(OperatorAction.Objection.isHeldBehind(OperationID("b")!).way(for: "a", in: .new) == "drainq retry b")
    }

    // MARK: - Tables

    private let table = Table(
        columns: ["ID", "TYPE", "COUNT"].map { Table.Column(title: $0, isNumber: $0 == "COUNT") },
        rows: [
            [Table.Cell("0123456789"), Table.Cell("顧客更新"), Table.Cell(7, .bad)],
            [Table.Cell("ab"), Table.Cell("a  \u{1B}]0;x"), Table.Cell("")],
        ],
        narrowings: [.shrink(column: 1, to: 5), .drop(column: 2)])

    @Test func `columns are aligned by display width, and cells are whole without a terminal`() {
        #expect(
            table.lines(for: terminal(nil)) == [
                "ID          TYPE          COUNT", "0123456789  顧客更新          7",
                "ab          a \\u{1b}]0;x      -",
            ])
    }

    @Test(arguments: [
        (32, ["ID          TYPE          COUNT", "0123456789  顧客更新          7", "ab          a \\u{1b}]0;x      -"]),
        (26, ["ID          TYPE     COUNT", "0123456789  顧客更…      7", "ab          a \\u{1…      -"]),
        (23, ["ID          TYPE  …", "0123456789  顧客更新", "ab          a \\u{1b…"]),
        (20, ["ID          TYPE  …", "0123456789  顧客…", "ab          a \\u…"]),
        (16, ["ID", "  TYPE     COUNT", "0123456789", "  顧客更…      7", "ab", "  a \\u{1…      -"]),
    ])
    func `columns give way in the given order, and the first column never does`(columns: Int, lines: [String]) {
        let shown = table.lines(for: terminal(columns))
        #expect(shown == lines)
        #expect(shown.allSatisfy { $0.displayWidth <= columns })
    }

    @Test func `colour adds nothing but colour`() {
        let plain = table.lines(for: terminal(32))
        let painted = table.lines(for: terminal(32, colour: true))
        #expect(painted[1].contains("\u{1B}[1;31m7\u{1B}[0m"))
        #expect(painted.map { $0.replacing(/\u{1B}\[[0-9;]*m/, with: "") } == plain)
    }

    @Test func `a screen shows the first lines, and counts a long line as the lines of its display`() {
        let screen = Terminal(columns: 10, lines: 4, hasColour: true)
        #expect(screen.visible(["a", "b", "c", "d"]) == ["a", "b", "c"])
        #expect(screen.visible(["0123456789a", "b", "c"]) == ["0123456789a", "b"])
        #expect(screen.visible([screen.painted("0123456789", .bad), "b", "c"]).count == 3)
    }

    @Test func `output to another program has no width and no colour, in any environment`() {
        guard !Terminal.isOnStandardOutput else { return }
        #expect(Terminal.forResults(["COLUMNS": "20", "TERM": "xterm"]) == .absent)
    }

    // MARK: - Status

    private var status: QueueStatus {
        var held = DestinationState()
        held.hold = .init(
            reason: "status 401: default 401 holds: {\"error\":\"no\"}",
            since: Timestamp(rfc3339: "2026-11-21T09:00:00Z")!, status: 401,
            cause: Cause(status: 401, words: "token expired"))
        var first = QueueCount.DestinationCount(
            Destination(named: "https://a.example"), held,
            .blocked(Availability.Block(.held, until: Self.now + .seconds(1800))))
        first.operations = [.deferred: 12, .held: 3, .failed: 2]
        first.countsByAge["1m"] = 2
        first.countsByAge["5m"] = 3
        first.countsByAge["1d"] = 9
        first.countsByAge["older"] = 1
        first.next = Timestamp(rfc3339: "2026-11-21T12:05:00Z")!
        var second = QueueCount.DestinationCount(
            Destination(named: "https://b.example"), DestinationState(), .available(atOnce: 1))
        second.operations = [.new: 20_000]
        second.countsByAge["5m"] = 20_000
        var status = QueueStatus(of: [first, second], at: Self.now)
        status.health.due = 20_000
        status.behind = 4
        return status
    }

    @Test func `a status begins with the work for an operator, followed by counts by state, destination and age`() {
        let lines = StatusReport(status: status, now: Self.now, terminal: terminal(100)).lines
        #expect(
            lines == [
                "1 of 2 destinations is in trouble: https://a.example is held",
                "https://a.example needs a person. 2 operations failed for good.",
                "https://a.example held since 09:00 UTC (3h): 401 \"token expired\"; 15 wait; put a valid token in",
                "  place; next probe in 30m; 'drainq release --destination https://a.example' ends it",
                "failed: 2; 'drainq list --state failed' lists them, 'drainq retry --state failed' sends again what",
                "  has not expired",
                "20000 new, 12 deferred, 3 held, 2 failed; 20000 due now, 4 behind older ones",
                "DESTINATION        TOTAL  <1m     5m  1h  6h  1d  3d  3d+  HELD  FAILED  NEXT   LAST SUCCESS",
                "TOTAL              20015    2  20003   0   0   9   0    1     3       2  in 5m  -",
                "https://a.example     15    2      3   0   0   9   0    1     3       2  in 5m  -",
                "https://b.example  20000    0  20000   0   0   0   0    0     0       0  -      -",
                "last run 5s ago, usually each 1m",
            ])
        var verbose = StatusReport(status: status, now: Self.now, terminal: terminal(nil))
        verbose.showsRules = true
        #expect(verbose.lines[2].hasSuffix("; by status 401: default 401 holds: {\"error\":\"no\"}"))
    }

    @Test(arguments: [120, 80, 60, 40, 30])
    func `a status fits the width of the terminal`(columns: Int) {
        let lines = StatusReport(status: status, now: Self.now, terminal: terminal(columns)).lines
        // A command is meant to be copied, and is never broken.
        #expect(lines.allSatisfy { $0.displayWidth <= columns || $0.hasPrefix("  'drainq ") }, "\(lines)")
        #expect(lines.contains { $0.contains("20015") })
        #expect(lines.contains { $0.hasSuffix("3d+") || $0.contains("3d+  ") })
    }

    @Test func `a queue without anything to do says that nothing has been sent, and all is well after a delivery`() {
        var empty = QueueStatus(of: [], at: Self.now)
        #expect(
            StatusReport(status: empty, now: Self.now, terminal: terminal(80)).lines == [
                "nothing has been sent yet", "Runs come, the last at 11:59 UTC.", "empty",
                "last run 5s ago, usually each 1m",
            ])
        empty.health.lastSuccess = Self.now - .seconds(60)
        #expect(empty.words.text == "all is well: nothing waits" && empty.words.level == .ok)
        #expect(empty.words.lede == "Last delivery: 11:59 UTC, 1m ago. Last run: 5s ago.")
    }

    @Test func `an operation whose create stands behind it is to be dropped and added again`() {
        var unserved = Unserved("id", of: EntryName(createdAt: Self.now, id: OperationID("u")!, type: .default))
        (unserved.count, unserved.behind) = (1, OperationID("c"))
        var status = QueueStatus(of: [], at: Self.now)
        status.health.unserved = unserved
        #expect(status.words.text == "1 operation waits for '{kept.id}', and the one that would leave it stands behind")
        #expect(status.words.lede == "Drop what waits, and add it again: it then stands behind the other one.")
        let sentence = WaitReason.unserved(unserved).sentence(Self.now, id: unserved.first, destination: "crm")
        #expect(sentence.contains("only 'c' leaves, and that one stands behind it: 'drainq drop u' removes this one"))
    }

    @Test func `what is due beside a failure waits for the next run, not for its time`() {
        var status = QueueStatus(of: [], at: Self.now)
        (status.health.newFailed, status.health.states) = (1, [.failed: 1, .new: 2])
        #expect(status.words.lede.hasSuffix("2 others wait for their time."), "\(status.words.lede)")
        status.health.due = 1
        #expect(status.words.lede.hasSuffix("2 others wait for the next run."), "\(status.words.lede)")
    }

    @Test func `what is paused beside a failure waits for no time`() {
        var row = QueueCount.DestinationCount(
            Destination(named: "crm"), DestinationState { $0.isPaused = true }, .blocked(Availability.Block(.paused)))
        row.operations = [.new: 2]
        var status = QueueStatus(of: [row], at: Self.now)
        (status.health.newFailed, status.health.states[.failed]) = (1, 1)
        #expect(status.words.lede.hasSuffix("2 others wait; crm is paused."), "\(status.words.lede)")
    }

    @Test func `a time ahead of the clock is no time that is over, and none to come`() {
        var status = QueueStatus(of: [], at: Self.now)
        let ahead = Self.now + .seconds(3 * 86_400)
        #expect(InWords.past(ahead, from: Self.now) == "24 Nov 12:00 UTC")
        #expect(InWords.past(Self.now + .seconds(5), from: Self.now) == "now")
        #expect(InWords.past(Self.now - .seconds(300), from: Self.now) == "5m ago")
        status.health.pause = (ahead, "ada")
        #expect(status.words.lede.hasPrefix("ada paused it at 24 Nov 12:00 UTC, by a clock that was ahead. "))
        (status.health.pause, status.health.due, status.health.runs) = (nil, 1, RunTimes([ahead]))
        #expect(
            status.words.text
                == "it is not known whether runs come: the clock says 12:00 UTC, and the last run came at 24 Nov 12:00 UTC"
        )
        #expect(status.words.level == .unknown)
    }

    @Test func `what a paused destination has waits for no time`() {
        var row = QueueCount.DestinationCount(
            Destination(named: "crm"), DestinationState { $0.isPaused = true }, .blocked(Availability.Block(.paused)))
        row.operations = [.new: 2]
        let status = QueueStatus(of: [row], at: Self.now)
        #expect(status.words.text == "nothing has been sent yet: 2 operations wait; crm is paused")
    }

    @Test func `a full queue is critical, and its limit is named`() {
        var status = QueueStatus(of: [], at: Self.now)
        status.health.fullLimit = .operations(100)
        #expect(status.words.text == "the queue is full (limits.operations 100): adds are refused")
        #expect(status.words.level == .critical)
        status.health.fullLimit = .minimumFree(100_000_000)
        status.health.newFailed = 1
        #expect(status.words.text == "the disk is full (limits.minimumFree 100MB): adds are refused")
        #expect(status.words.lede.hasPrefix("Free space on its file system, or lower the limit in drainq.json."))
    }

    @Test(arguments: [
        (120, "crm has taken nothing since 11:58 UTC: last answer 503; 2 wait; next attempt in 1m"),
        (
            1200,
            "crm has taken nothing since 11:40 UTC (20m): last answer 503; 2 wait; next attempt in 1m; "
                + "'drainq run --now --destination crm' sends at once"
        ),
    ])
    func `a destination that takes nothing is told with the time of its failures, and not of its operations`(
        seconds: Int, line: String
    ) {
        var state = DestinationState()
        let since = Self.now - .seconds(seconds)
        state.incident = Incident(since: since, last: Self.now, cause: Cause(status: 503))
        var row = QueueCount.DestinationCount(Destination(named: "crm"), state, .available(atOnce: 1))
        (row.operations, row.next) = ([.deferred: 2], Self.now + .seconds(60))
        let status = QueueStatus(of: [row], at: Self.now)
        let lines = StatusReport(status: status, now: Self.now, terminal: terminal(nil)).lines
        #expect(lines.contains(line), "\(lines)")
    }

    /// Returns the status of a destination that has taken nothing for 80 minutes.
    private func status(
        down cause: Cause, _ availability: Availability = .available(atOnce: 1),
        _ change: (inout DestinationState) -> Void = { _ in }
    ) -> (status: QueueStatus, line: String) {
        var state = DestinationState()
        state.incident = Incident(since: Self.now - .seconds(4800), last: Self.now, cause: cause)
        change(&state)
        var row = QueueCount.DestinationCount(Destination(named: "crm"), state, availability)
        (row.operations, row.next) = ([.deferred: 2], Self.now + .seconds(60))
        let status = QueueStatus(of: [row], at: Self.now)
        let lines = StatusReport(status: status, now: Self.now, terminal: terminal(nil)).lines
        return (status, lines.first { $0.hasPrefix("crm has taken nothing since 10:40 UTC (1h 20m): ") } ?? "")
    }

    private func failure(of source: SecretSource) throws -> Cause {
        let store = SecretStore(sources: ["api": source], environment: [:], base: "/")
        let reason = try #require(store.values(["api"]).failures["api"])
        return Cause(words: "\(RequestError.missingSecret("api", reason: reason))", code: .request)
    }

    @Test func `a destination whose command gives no credentials is not down: it needs them, not its server`() throws {
        let cause = try failure(of: .command(["/bin/sh", "-c", "exit 1"], ttl: nil))
        let (status, line) = status(down: cause)
        #expect(status.words.text == "1 of 1 destination is in trouble: crm waits for its credentials")
        #expect(status.words.lede == "crm needs its credentials; drainq goes on trying.")
        #expect(
            line.hasSuffix(
                ": no request: the secret 'api' comes from the command '/bin/sh', which exited with status 1; 2 wait; "
                    + "mend the command; next attempt in 1m; 'drainq run --now --destination crm' sends at once"))
    }

    @Test func `a hold for a secret's file says what ends it without a command`() throws {
        let remedy = "give '/no/token' its secret and mode 0600: the next run notices it"
        #expect(CauseWords.remedy(try failure(of: .file("/no/token"))) == remedy)
        #expect(CauseWords.remedy(try failure(of: .environment("TOKEN"))) == nil)
        let refused = "comes from the endpoint 'https://id.example/token', which answered 401: invalid_client"
        #expect(CauseWords.remedy(Cause(words: "the secret 'api' \(refused)", code: .request)) == nil)
    }

    @Test func `a parked operation needs a valid token, and the command beside it sends it`() throws {
        let id = try #require(OperationID("6f9619ff-8b86-4011-b42d-00cf4fc964ff"))
        let (status, line) = status(down: Cause(status: 401)) {
            $0.parking = Parking(entries: [
                .init(id: id, createdAt: Self.now, status: 401, credentials: "c", asked: Self.now)
            ])
        }
        #expect(status.words.lede == "crm needs a valid token; drainq goes on trying.")
        #expect(
            line.hasSuffix(
                ": last answer 401; 2 wait; put a valid token in place; next attempt in 1m; 'drainq run \(id)' sends at once"
            ))
    }

    @Test func `no command is named where a server has asked for time, because none sends at once`() {
        let until = Self.now + .seconds(60)
        let (_, line) = status(down: Cause(status: 429), .blocked(Availability.Block(.retryAfter, until: until))) {
            $0.notBefore = until
        }
        #expect(line.hasSuffix(": last answer 429; 2 wait; next attempt in 1m"))
    }

    // MARK: - Progress

    @Test(arguments: [
        (80, "9 of 40 done (7 delivered, 1 deferred, 1 failed), 4.5/s, 6.9s left"),
        (60, "9 of 40, 1 deferred, 1 failed, 4.5/s, 6.9s left"), (48, "9 of 40, 1 deferred, 1 failed, 6.9s left"),
        (40, "9 of 40, 1 deferred, 6.9s left"), (30, "9 of 40, 6.9s left"), (20, "9 of 40"), (12, "9 o…"),
    ])
    func `a progress line drops details that do not fit`(width: Int, line: String) {
        var count = ProgressCount(countsWhatIsLeft: false)
        count.choose(40, leftDue: 100)
        for _ in 0..<7 { count.add(.delivered) }
        count.add(.deferred)
        count.add(.failed)
        #expect(count.line(after: .seconds(2), width: width) == line)
        #expect(("drainq: " + line).displayWidth <= width)
    }

    @Test func `operations left due count in a run that goes on`() {
        var count = ProgressCount(countsWhatIsLeft: true)
        count.choose(40, leftDue: 100)
        #expect(count.total == 140)
        count.add(.held)
        count.choose(3, leftDue: 0)
        #expect(count.total == 4 && count.done == 1)
    }

    // MARK: - Bodies and answers

    @Test(arguments: [
        (
            #"{"n":1.10,"a":[],"b":{},"c":[1,{"x":"a,{\"b:"}]}"#,
            [
                "{", "  \"n\": 1.10,", "  \"a\": [],", "  \"b\": {},", "  \"c\": [", "    1,", "    {",
                "      \"x\": \"a,{\\\"b:\"", "    }", "  ]", "}",
            ], nil
        ),
        ("two\nlines\n", ["two", "lines"], nil), ("a,b\r\n1,2\r\n", ["a,b\\r", "1,2\\r"], nil),
        ("x\n\u{301}y\n", ["x", "\u{301}y"], nil), ("\u{1B}[2J", ["\\u{1b}[2J"], nil),
        (String(repeating: "a", count: 100), [String(repeating: "a", count: 77) + "…"], "lines are cut"),
        (String(repeating: "a\n", count: 50), Array(repeating: "a", count: 40), "10 more lines"),
    ])
    func `an excerpt shows the beginning of a body`(body: String, lines: [String], rest: String?) {
        let excerpt = BodyExcerpt(Array(body.utf8), terminal(80))
        #expect(excerpt.lines == lines)
        #expect(excerpt.rest == rest)
    }

    @Test func `an excerpt names the missing bytes of a long or binary body`() {
        #expect(BodyExcerpt([0xFF, 0xFE], .absent).rest == "2 bytes that are not text")
        let long = BodyExcerpt(Array(String(repeating: "é", count: 5000).utf8), .absent)
        #expect(long.rest == "5904 more bytes" && long.lines == [String(repeating: "é", count: 2048)])
    }

    @Test(arguments: [
        ("503", true), ("5xx", true), ("500-599", true), ("4xx", false), ("404", false), ("timeout", false),
    ])
    func `a pattern of a status or of a range matches an attempt by its status`(text: String, matches: Bool) throws {
        let record = AttemptRecord(at: Self.now, duration: .zero, outcome: .deferred, status: 503, rule: "r")
        #expect(try #require(AnswerPattern(text)).matches(Cause(record)) == matches)
    }

    @Test(arguments: [("timeout", "timeout"), ("UNAVAILABLE", "UNAVAILABLE")])
    func `a pattern of an error matches an attempt by its error`(text: String, error: String) throws {
        var record = AttemptRecord(at: Self.now, duration: .zero, outcome: .deferred, error: error, rule: "r")
        #expect(try #require(AnswerPattern(text)).matches(Cause(record)))
        record.error = "refused"
        #expect(try #require(AnswerPattern(text)).matches(Cause(record)) == false)
    }

    @Test(arguments: ["", "6xx", "99", "600", "599-500", "5x", "nonsense", "0xx"])
    func `an invalid pattern is refused`(text: String) {
        #expect(AnswerPattern(text) == nil)
        #expect(throws: UsageError.self) { try ParsedCommand(arguments: ["list", "--status", text]) }
    }
}
