import Foundation
import Testing

@testable import Policy

struct RateLedgerTests {
    private let start = Timestamp(rfc3339: "2026-11-23T09:00:00Z")!

    @Test func `a run with a span keeps other runs away until the span ends`() {
        var ledger = RateLedger()
        #expect(ledger.acquire("one", every: .seconds(1), at: start) == .own(.seconds(1)))
        #expect(ledger.acquire("two", every: .milliseconds(10), at: start) == .own(.milliseconds(100)))
        #expect(
            ledger.acquire("one", every: .seconds(1), at: start + .milliseconds(400)) == .others(.milliseconds(600)))
        #expect(ledger.acquire("one", every: .seconds(1), at: start + .seconds(1)) == .own(.seconds(1)))
    }

    @Test func `a run with a single attempt takes only its interval and respects a whole span`() {
        var ledger = RateLedger()
        #expect(ledger.acquire("one", every: .milliseconds(10), isOnly: true, at: start) == .own(.milliseconds(10)))
        let next = start + .milliseconds(10)
        #expect(ledger.acquire("one", every: .milliseconds(10), at: next) == .own(.milliseconds(100)))
        #expect(ledger.acquire("one", every: .milliseconds(10), isOnly: true, at: next) == .others(.milliseconds(100)))
    }

    @Test func `a slightly late run begins at the end of the last span, and a later run makes up for nothing`() {
        var ledger = RateLedger()
        _ = ledger.acquire("one", every: .seconds(1), at: start)
        #expect(
            ledger.acquire("one", every: .seconds(1), at: start + .milliseconds(1020)) == .own(.milliseconds(980)))
        #expect(
            ledger.acquire("one", every: .seconds(1), at: start + .milliseconds(1999)) == .others(.milliseconds(1)))
        #expect(ledger.acquire("one", every: .seconds(1), at: start + .milliseconds(2100)) == .own(.seconds(1)))
    }

    @Test func `a clock set back or a higher rate does not make a run wait for long`() {
        var ledger = RateLedger()
        _ = ledger.acquire("one", every: .seconds(3600), at: start)
        #expect(
            ledger.acquire("one", every: .seconds(3600), at: start + .seconds(-7200)) == .own(.seconds(3600)))
        #expect(ledger.acquire("one", every: .seconds(1), at: start + .seconds(-7200)) == .own(.seconds(1)))
    }

    @Test(arguments: [(20, 1, 100), (1000, 1, 100), (7, 1, 142), (1, 60, 60_000), (12, 1, 83)])
    func `a span is a tenth of a second or a single attempt`(count: Int, seconds: Int, milliseconds: Int) {
        let span = RateLedger.span(of: Rate(count: count, per: .seconds(seconds)).interval)
        #expect(span.wholeMicroseconds / 1000 == milliseconds)
    }

    @Test func `the encoded ledger has the ends of spans and forgets past spans`() throws {
        var ledger = RateLedger()
        _ = ledger.acquire("https://one", every: .seconds(1), at: start)
        _ = ledger.acquire("https://two", every: .seconds(1), at: start + .seconds(2))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let bytes = try encoder.encode(ledger)
        #expect(
            String(decoding: bytes, as: UTF8.self) == #"{"until":{"https://two":"2026-11-23T09:00:03Z"},"version":1}"#)
        #expect(try JSONDecoder().decode(RateLedger.self, from: bytes) == ledger)
        let newer = Data(#"{"until":{"https://two":"2026-11-23T09:00:03Z"},"version":2}"#.utf8)
        #expect(throws: NewerVersion(version: 2)) { try JSONDecoder().decode(RateLedger.self, from: newer) }
    }
}
