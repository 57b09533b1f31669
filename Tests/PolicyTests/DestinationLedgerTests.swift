import Foundation
import Testing

@testable import Policy

struct DestinationLedgerTests {
    static let now = Timestamp(rfc3339: "2026-11-21T09:15:00.250Z")!
    static let settings = DestinationSettings()

    private func text(_ ledger: DestinationLedger) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(ledger), as: UTF8.self)
    }

    private func ledger(_ text: String) throws -> DestinationLedger {
        try JSONDecoder().decode(DestinationLedger.self, from: Data(text.utf8))
    }

    @Test func `an empty ledger encodes its version and no destination`() throws {
        #expect(try text(DestinationLedger()) == #"{"destinations":{},"version":1}"#)
        #expect(try ledger(try text(DestinationLedger())) == DestinationLedger())
    }

    @Test func `every field is encoded under its name and decoded again`() throws {
        var ledger = DestinationLedger()
        ledger.apply(.delivered(began: Self.now), to: "https://a.example", Self.settings, at: Self.now)
        ledger.apply(
            .held(reason: "status 401", status: 401, blamed: "12345-abcde"), to: "https://a.example", Self.settings,
            at: Self.now)
        ledger.apply(.probed, to: "https://a.example", Self.settings, at: Self.now + .seconds(1))
        for _ in 0..<5 { ledger.apply(.unreachable("dns"), to: "office", Self.settings, at: Self.now) }
        ledger.apply(.retryAfter(until: Self.now + .seconds(60)), to: "office", Self.settings, at: Self.now)
        ledger.apply(.paused, to: "office", Self.settings, at: Self.now)
        ledger.apply(.overloaded(inFlight: 9), to: "office", Self.settings, at: Self.now)
        ledger.apply(.overloaded(inFlight: 4), to: "office", Self.settings, at: Self.now)
        ledger.apply(.sustained(inFlight: 3), to: "office", Self.settings, at: Self.now)
        ledger.apply(.heldByHand(reason: "ma\"ñana"), to: "b", Self.settings, at: Self.now)
        let expected =
            #"{"destinations":{"#
            + #""b":{"hold":{"byHand":true,"reason":"ma\"ñana","since":"2026-11-21T09:15:00.250Z"}},"#
            + #""https://a.example":{"hold":{"blamed":"12345-abcde","lastProbe":"2026-11-21T09:15:01.250Z","#
            + #""reason":"status 401","since":"2026-11-21T09:15:00.250Z","status":401},"#
            + #""lastSuccess":"2026-11-21T09:15:00.250Z","window":1},"#
            + #""office":{"asked":"2026-11-21T09:15:00.250Z","coolDownUntil":"2026-11-21T09:15:01.250Z","coolDowns":1,"downSince":"2026-11-21T09:15:00.250Z","failures":5,"#
            + #""incident":{"cause":{"error":"dns"},"down":true,"last":"2026-11-21T09:15:00.250Z","since":"2026-11-21T09:15:00.250Z"},"#
            + #""lastFailure":"dns","lastFailureAt":"2026-11-21T09:15:00.250Z","#
            + #""notBefore":"2026-11-21T09:16:00.250Z","overload":{"at":"2026-11-21T09:15:00.250Z","inFlight":5,"times":1},"#
            + #""paused":true,"#
            + #""window":1}},"version":1}"#
        #expect(try text(ledger) == expected)
        #expect(try self.ledger(expected) == ledger)
    }

    @Test func `a blank destination has no entry`() throws {
        var ledger = DestinationLedger()
        ledger.apply(.answered, to: "a", Self.settings, at: Self.now)
        ledger.apply(.paused, to: "a", Self.settings, at: Self.now)
        #expect(ledger["a"].isPaused)
        ledger.apply(.resumed, to: "a", Self.settings, at: Self.now)
        #expect(ledger == DestinationLedger())
        #expect(ledger["never met"].isBlank)
        #expect(try self.ledger(#"{"version":1,"destinations":{"a":{}}}"#) == DestinationLedger())
    }

    @Test(arguments: [
        "[]", "7", "null", #""text""#, "{}", #"{"version":0,"salt":"x","destinations":{"a":{"paused":true}}}"#,
        #"{"version":"1","destinations":{"a":{"paused":true}}}"#, #"{"version":1,"destinations":[]}"#,
        #"{"version":1,"destinations":{"a":7}}"#, #"{"version":1,"offline":7}"#,
        #"{"version":1,"destinations":{"a":{"hold":[],"paused":true}}}"#,
        #"{"version":1,"destinations":{"a":{"hold":{"since":"long ago"}}}}"#,
        #"{"version":1,"destinations":{"a":{"paused":"yes"}}}"#,
        #"{"version":1,"destinations":{"a":{"failures":2.5}}}"#,
    ])
    func `a document of an unknown version or form is not a ledger`(text: String) {
        #expect(throws: DecodingError.self) { try ledger(text) }
    }

    @Test func `decoding a document of a newer version throws an error`() {
        #expect(throws: NewerVersion(version: 2)) {
            try ledger(#"{"version":2,"salt":"x","destinations":{"a":{"paused":true}}}"#)
        }
    }

    @Test func `unknown keys are ignored, and a number out of range is bounded or counts as absent`() throws {
        let ledger = try ledger(
            #"""
            {"version":1,"new":true,"destinations":{
              "a":{"paused":null,"failures":-3,"window":1e9,"coolDowns":99999999999,"more":{}},
              "b":{"window":0,"notBefore":"2026-11-21T09:15:00.250Z"},
              "c":{"hold":{}}, "d":{}}}
            """#)
        #expect(ledger.destinations.keys.sorted() == ["a", "b", "c"])
        #expect(ledger["a"] == DestinationState(coolDowns: 1_000_000, window: 64))
        #expect(ledger["b"] == DestinationState(notBefore: Self.now))
        #expect(ledger["c"].availability(Self.settings, at: Self.now) == .probe)
    }

    @Test func `an overload ends after the server has sustained as many requests`() {
        var ledger = DestinationLedger()
        ledger.apply(.overloaded(inFlight: 4), to: "a", Self.settings, at: Self.now)
        ledger.apply(.sustained(inFlight: 4), to: "a", Self.settings, at: Self.now)
        #expect(ledger == DestinationLedger())
    }

    @Test func `a destination without recent attempts is forgotten, unless an operator or a hold keeps the entry`() {
        var ledger = DestinationLedger()
        let long = Self.now + .seconds(31 * 86_400)
        ledger.apply(.delivered(began: Self.now), to: "old", Self.settings, at: Self.now)
        ledger.apply(.unreachable("dns"), to: "dead", Self.settings, at: Self.now)
        ledger.apply(.delivered(began: long - .seconds(60)), to: "recent", Self.settings, at: long - .seconds(60))
        ledger.apply(.paused, to: "paused", Self.settings, at: Self.now)
        ledger.apply(.held(reason: "tls", blamed: nil), to: "held", Self.settings, at: Self.now)
        ledger.apply(.released, to: "released", Self.settings, at: Self.now)
        ledger.apply(.released, to: "released lately", Self.settings, at: long - .seconds(60))
        ledger.forgetStale(at: long)
        #expect(ledger.destinations.keys.sorted() == ["held", "paused", "recent", "released lately"])
    }

    @Test func `the ledger keeps at most 10,000 destinations, the most recent`() {
        var ledger = DestinationLedger()
        ledger.apply(.paused, to: "paused", Self.settings, at: Self.now)
        for index in 0..<10_050 {
            ledger.apply(
                .delivered(began: Self.now + .seconds(index)), to: "https://h\(index)", Self.settings,
                at: Self.now + .seconds(index))
        }
        ledger.forgetStale(at: Self.now + .seconds(20_000))
        #expect(ledger.destinations.count == 10_000)
        #expect(ledger["paused"].isPaused)
        #expect(ledger["https://h50"].isBlank)
        #expect(!ledger["https://h51"].isBlank)
    }

    @Test func `the entry of a failing destination outlives many entries of successful destinations`() {
        var ledger = DestinationLedger()
        for _ in 0..<5 { ledger.apply(.unreachable("refused"), to: "away", Self.settings, at: Self.now) }
        ledger.apply(.failed(status: 404), to: "stormy", Self.settings, at: Self.now)
        for index in 0..<10_050 {
            ledger.apply(
                .delivered(began: Self.now + .seconds(60)), to: "https://h\(index)", Self.settings,
                at: Self.now + .seconds(60))
        }
        ledger.forgetStale(at: Self.now + .seconds(60))
        #expect(ledger.destinations.count == 10_000)
        #expect(ledger["away"].coolDowns == 1 && ledger["stormy"].storm?.count == 1)
    }
}
