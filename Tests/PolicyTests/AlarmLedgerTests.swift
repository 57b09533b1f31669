import Foundation
import Testing

@testable import Policy

/// Failures and recoveries that unattended runs report, over many runs.
struct AlarmLedgerTests {
    private let start = Timestamp(rfc3339: "2026-11-21T12:00:00Z")!
    private let cause = AlarmLedger.Cause(destination: "https://a.example", cause: "422")
    private let other = AlarmLedger.Cause(destination: "https://a.example", cause: "404")

    private func minutes(_ count: Int) -> Timestamp { start + .seconds(60 * count) }

    @Test func `a cause is reported once an hour, with the count since`() {
        var ledger = AlarmLedger()
        #expect(!ledger.isQuiet(cause, at: start))
        ledger.record(failed: [cause: 1], held: [], released: [], at: start)
        for minute in 1...7 {
            #expect(ledger.isQuiet(cause, at: minutes(minute)))
            #expect(ledger.owed(at: minutes(minute)).isEmpty)
            ledger.record(failed: [cause: 2], held: [], released: [], at: minutes(minute))
        }
        #expect(!ledger.isQuiet(other, at: minutes(8)))
        #expect(ledger.owed(at: minutes(59)).isEmpty)
        let owed = ledger.owed(at: minutes(60))
        #expect(owed.map(\.count) == [14] && owed.map(\.since) == [start] && owed.map(\.cause) == [cause])
        // A report without new failures begins a new hour.
        ledger.record(failed: [:], held: [], released: [], at: minutes(60))
        #expect(ledger.isQuiet(cause, at: minutes(119)) && ledger.owed(at: minutes(200)).isEmpty)
    }

    @Test func `a new cause is reported despite a recent cause with the same status, up to a limit`() throws {
        func cause(_ excerpt: String) -> AlarmLedger.Cause {
            AlarmLedger.Cause(destination: "https://a.example", cause: "422", excerpt: excerpt)
        }
        let (email, quota) = (cause(#"{"error":"invalid email","id":"a1"}"#), cause("quota of 7 used up"))
        #expect(email == cause(#"{"error":"invalid email","id":"b2-77"}"#), "ids and numbers do not count")
        #expect("\(email)" == "422 (error invalid email id)" && "\(quota)" == "422 (quota of used up)")
        var ledger = AlarmLedger()
        ledger.record(failed: [email: 1], held: [], released: [], at: start)
        #expect(ledger.isQuiet(email, at: minutes(5)) && !ledger.isQuiet(quota, at: minutes(5)))
        ledger.record(failed: [quota: 1], held: [], released: [], at: minutes(5))
        // A server that names each operation in its answer makes at most three causes an hour.
        let names = ["user Ada is unknown", "user Bob is unknown", "user Eve is unknown"].map(cause)
        #expect(ledger.counted(names[0], besides: []) == names[0])
        #expect(ledger.counted(names[1], besides: [names[0]]) == email)
        #expect(ledger.counted(names[0], besides: names) == names[0] && ledger.counted(other, besides: names) == other)
        let read = try JSONDecoder().decode(AlarmLedger.self, from: JSONEncoder().encode(ledger))
        #expect(read == ledger)
    }

    @Test func `the report of a new failure includes and clears the owed count`() {
        var ledger = AlarmLedger()
        ledger.record(failed: [cause: 1], held: [], released: [], at: start)
        ledger.record(failed: [cause: 3], held: [], released: [], at: minutes(1))
        ledger.record(failed: [cause: 1], held: [], released: [], at: minutes(61))
        #expect(ledger.owed(at: minutes(62)).isEmpty && ledger.isQuiet(cause, at: minutes(62)))
    }

    @Test func `a clock set back does not keep a cause quiet`() {
        var ledger = AlarmLedger()
        ledger.record(failed: [cause: 1], held: [], released: [], at: minutes(600))
        #expect(!ledger.isQuiet(cause, at: start))
    }

    @Test func `the ledger remembers a reported hold until its release`() {
        var ledger = AlarmLedger()
        ledger.record(failed: [:], held: ["a"], released: [], at: start)
        #expect(ledger.hasTold(holdOf: "a") && !ledger.hasTold(holdOf: "b"))
        ledger.record(failed: [:], held: [], released: ["a"], at: minutes(1))
        #expect(!ledger.hasTold(holdOf: "a"))
    }

    @Test func `a storm guard hold is reported with its cause, not again in the same hour`() {
        var ledger = AlarmLedger()
        ledger.record(failed: [cause: 1], held: [], released: [], at: start)
        ledger.record(failed: [cause: 4], held: [], storms: [cause], released: [], at: minutes(4))
        #expect(ledger.owed(at: minutes(59)).isEmpty)
        #expect(ledger.owed(at: minutes(60)) == [.init(cause: cause, count: 4, since: start, isHeld: true)])
        // The hold's end is reported because its cause was, although its beginning was not.
        #expect(ledger.hasTold(holdOf: cause.destination))
        var ended = ledger
        ended.record(failed: [:], held: [], released: [cause.destination], at: minutes(30))
        #expect(ended.owed(at: minutes(60)) == [.init(cause: cause, count: 4, since: start, isHeld: false)])
        // The ledger reports the hold only once.
        ledger.record(failed: [:], held: [], released: [], at: minutes(60))
        #expect(ledger.owed(at: minutes(200)).isEmpty && ledger.hasTold(holdOf: cause.destination))
    }

    @Test func `a storm guard hold is owed even if its cause has no owed failures`() {
        var ledger = AlarmLedger()
        ledger.record(failed: [cause: 1], held: [], released: [], at: start)
        ledger.record(failed: [:], held: [], storms: [cause], released: [], at: minutes(4))
        #expect(ledger.owed(at: minutes(90)) == [.init(cause: cause, count: 0, since: start, isHeld: true)])
        // A hold in the run of its failures is reported at once.
        var atOnce = AlarmLedger()
        atOnce.record(failed: [cause: 5], held: [], storms: [cause], released: [], at: start)
        #expect(atOnce.owed(at: minutes(90)).isEmpty && atOnce.hasTold(holdOf: cause.destination))
    }

    @Test func `the ledger survives encoding and stays small`() throws {
        var ledger = AlarmLedger()
        ledger.record(failed: [cause: 1, other: 2], held: ["a", "b"], released: [], at: start)
        ledger.record(failed: [cause: 5], held: [], storms: [cause], released: [], at: minutes(1))
        #expect(try JSONDecoder().decode(AlarmLedger.self, from: JSONEncoder().encode(ledger)) == ledger)
        for run in 0..<30 {
            let names = (0..<100).map { "https://\(run * 100 + $0).example" }
            ledger.record(
                failed: Dictionary(uniqueKeysWithValues: names.map { (.init(destination: $0, cause: "422"), 1) }),
                held: Set(names), released: [], at: minutes(2))
        }
        #expect(try JSONEncoder().encode(ledger).count < 300_000)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(AlarmLedger.self, from: Data(#"{"version":2,"failures":[],"holds":[]}"#.utf8))
        }
    }

    @Test func `the ledger forgets the holds reported first if they are too many, also after a reload`() throws {
        func names(_ run: Int) -> Set<String> { Set((0..<50).map { "https://\(99 - run).example:\($0 + 100)" }) }
        var ledger = AlarmLedger()
        for run in 0..<30 {
            ledger.record(failed: [:], held: names(run), released: [], at: minutes(run))
            // Each run reads the file of the previous run.
            ledger = try JSONDecoder().decode(AlarmLedger.self, from: JSONEncoder().encode(ledger))
        }
        #expect((0..<30).filter { names($0).allSatisfy(ledger.hasTold(holdOf:)) } == Array(10..<30))
        // A repeated report moves a hold to the end. Among the holds of a run, the first by name is forgotten first.
        ledger.record(failed: [:], held: names(10), released: [], at: minutes(30))
        ledger.record(failed: [:], held: ["https://one.example"], released: [], at: minutes(31))
        #expect(names(10).allSatisfy(ledger.hasTold(holdOf:)) && !ledger.hasTold(holdOf: names(11).min()!))
        #expect(names(11).count(where: ledger.hasTold(holdOf:)) == 49)
    }

    @Test func `the ledger forgets the same failures each time if a run has too many`() {
        func causes() -> [AlarmLedger.Cause: Int] {
            Dictionary(uniqueKeysWithValues: (0..<1500).map { (.init(destination: "d", cause: "\(1000 + $0)"), 1) })
        }
        var ledger = AlarmLedger()
        ledger.record(failed: causes(), held: [], released: [], at: start)
        let quiet = (0..<1500).filter {
            ledger.isQuiet(.init(destination: "d", cause: "\(1000 + $0)"), at: minutes(1))
        }
        #expect(quiet == Array(500..<1500))
    }
}
