import Testing

@testable import Policy

struct AmbiguityTests {
    static let created = Timestamp(rfc3339: "2026-11-21T09:00:00Z")!
    static let ttl = Duration.seconds(86_400)

    private func record(
        at: Duration, _ error: NetworkError? = nil, status: Int? = nil, outcome: Outcome = .deferred, rule: String = ""
    ) -> AttemptRecord {
        AttemptRecord(
            at: Self.created + at, duration: .zero, outcome: outcome, status: status, error: error?.rawValue,
            rule: rule,
            ruleCode: outcome == .held ? .ambiguous : nil,
            counted: outcome == .deferred && error != .cancelled && error != .proxy)
    }

    private func rule(
        _ records: [AttemptRecord], attempts: Int, interruptions: Int = 0, keyTTL: Duration? = ttl, after: Duration
    ) -> String? {
        let id = OperationID("a")!
        let operation = Operation(
            header: OperationHeader(id: id, createdAt: Self.created), body: [], attempts: records)
        let name = EntryName(createdAt: Self.created, id: id, attempts: attempts, interruptions: interruptions)
        return Route(keyTTL: keyTTL).ambiguity(of: operation, name: name, now: Self.created + after)?.description
    }

    private let text =
        "ambiguous: the attempt at 2026-11-21T09:01:00Z may have been received, and the server forgets keys after 1d; "
        + "drainq retry sends it again"

    @Test func `a possibly received attempt is ambiguous once the server has forgotten its key`() {
        let records = [record(at: .seconds(60), .timeout)]
        let forgotten = Self.ttl + .seconds(60)
        #expect(rule(records, attempts: 1, after: forgotten) == text)
        #expect(rule(records, attempts: 1, after: forgotten - .microseconds(1)) == nil)
        #expect(rule(records, attempts: 1, keyTTL: nil, after: forgotten) == nil)
        #expect(rule([], attempts: 0, after: forgotten) == nil)
    }

    @Test(arguments: NetworkError.allCases)
    func `an attempt is doubtful unless its error proves the request unsent`(error: NetworkError) {
        // An attempt that does not count is doubtful too: a cancelled request was sent.
        let attempts = error == .cancelled || error == .proxy ? 0 : 1
        let found = rule([record(at: .seconds(60), error)], attempts: attempts, after: .seconds(1_000_000))
        #expect((found != nil) == !error.provesNotSent)
    }

    @Test func `an answered attempt is not doubtful, and the first doubtful attempt counts`() {
        let answered = [record(at: .zero, status: 503), record(at: .seconds(30), .dns)]
        #expect(rule(answered, attempts: 2, after: .seconds(1_000_000)) == nil)
        let records = answered + [record(at: .seconds(60), .reset), record(at: .seconds(90_000), .reset)]
        #expect(rule(records, attempts: 4, after: .seconds(90_000)) == text)
    }

    @Test func `attempts before an operator's retry do not count`() {
        let records = [record(at: .seconds(60), .timeout), record(at: .seconds(90), status: 500)]
        #expect(rule(records, attempts: 0, after: .seconds(1_000_000)) == nil)
        #expect(rule(records, attempts: 1, after: .seconds(1_000_000)) == nil)
        #expect(rule(records, attempts: 2, after: .seconds(1_000_000)) == text)
    }

    /// A person's command resets what counts towards quarantine, and changes nothing that has happened.
    @Test func `a request whose end nobody knows may have arrived, until an edit makes another request of it`() {
        let id = OperationID("a")!
        var operation = Operation(header: OperationHeader(id: id, createdAt: Self.created), body: [])
        var name = EntryName(createdAt: Self.created, id: id)
        #expect(!operation.mayHaveArrived(name))
        name.unknowns = 1
        #expect(operation.mayHaveArrived(name))
        operation.header.edited = OperationHeader.Edit(attempts: 0, interruptions: 0, unknowns: 1)
        #expect(!operation.mayHaveArrived(name))
        name.unknowns = 2
        #expect(operation.mayHaveArrived(name))
    }

    @Test func `an ambiguous operation is sent again after an operator's retry`() {
        let held = record(at: .seconds(100), outcome: .held, rule: text)
        let before = [record(at: .seconds(60), .cancelled), held]
        #expect(rule(before, attempts: 0, after: .seconds(1_000_000)) == nil)
        #expect(rule([record(at: .seconds(60), .timeout), held], attempts: 1, after: .seconds(1_000_000)) == nil)
        let again = before + [record(at: .seconds(200), .timeout)]
        #expect(rule(again, attempts: 1, after: .seconds(1_000_000))?.contains("09:03:20Z") == true)
    }

    @Test func `an interrupted attempt is dated after the last record or the creation`() {
        let interrupted =
            "ambiguous: an attempt interrupted after 2026-11-21T09:00:30Z may have been received, and the server forgets "
            + "keys after 1d; drainq retry sends it again"
        let records = [record(at: .seconds(30), status: 503)]
        #expect(rule(records, attempts: 1, interruptions: 1, after: Self.ttl + .seconds(30)) == interrupted)
        #expect(rule(records, attempts: 1, interruptions: 1, after: Self.ttl) == nil)
        #expect(
            rule([], attempts: 0, interruptions: 2, after: Self.ttl)?.contains("after 2026-11-21T09:00:00Z") == true)
    }

    @Test func `an interruption counts although a later answer has come, and an unknown end from the creation`() {
        var answered = record(at: .seconds(60), status: 503)
        answered.interruptions = 1
        let records = [record(at: .seconds(30), status: 503), answered]
        let found = rule(records, attempts: 2, after: Self.ttl + .seconds(30))
        #expect(found?.contains("after 2026-11-21T09:00:30Z") == true)
        #expect(rule(records, attempts: 0, after: Self.ttl + .seconds(30)) == nil, "a person has decided")
        let id = OperationID("a")!
        let header = OperationHeader(id: id, createdAt: Self.created)
        let name = EntryName(createdAt: Self.created, id: id, attempts: 1, unknowns: 1)
        func isAmbiguous(_ attempts: [AttemptRecord], _ name: EntryName) -> Bool {
            Route(keyTTL: Self.ttl).ambiguity(
                of: Operation(header: header, body: [], attempts: attempts), name: name, now: Self.created + Self.ttl)
                != nil
        }
        #expect(isAmbiguous([record(at: .seconds(30), status: 503)], name))
        let held = record(at: .seconds(100), outcome: .held, rule: text)
        #expect(!isAmbiguous([record(at: .seconds(30), status: 503), held], name), "a person has decided")
    }

    @Test func `ambiguity holds the operation and is recorded in its file`() throws {
        let id = OperationID("a")!
        let operation = Operation(
            header: OperationHeader(id: id, createdAt: Self.created), body: [],
            attempts: [record(at: .seconds(60), .timeout)])
        let name = EntryName(createdAt: Self.created, id: id, attempts: 1)
        let now = Self.created + .seconds(100_000)
        let settled = try #require(
            Settlement.decide(onAmbiguityOf: operation, name: name, route: Route(keyTTL: Self.ttl), now: now))
        #expect(settled.disposition == .held)
        #expect(settled.isRecorded)
        #expect(settled.record == AttemptRecord(at: now, duration: .zero, outcome: .held, rule: text))
        #expect(settled.record.ruleCode == .ambiguous && !settled.record.counted)
        #expect(Settlement.decide(onAmbiguityOf: operation, name: name, route: Route(), now: now) == nil)
    }
}
