import Foundation
import Testing

@testable import Policy

struct ParkingTests {
    private static let start = Timestamp(rfc3339: "2026-11-21T12:00:00Z")!
    private let settings = DestinationSettings()

    private func at(_ seconds: Int) -> Timestamp { Self.start + .seconds(seconds) }

    private func operation(_ id: String, createdAt: Timestamp = Self.start) -> Age {
        Age(createdAt: createdAt, id: OperationID(id)!)
    }

    /// Returns the state after a story. `a403` is a refusal, and `a403:other` names its credentials. `200` is a
    /// delivery, and `before200` a delivery by an attempt begun before the story. `a!` is unparked.
    private func state(_ story: String, blamed: String = "print") -> DestinationState {
        var state = DestinationState()
        for (index, word) in story.split(separator: " ").enumerated() {
            let parts = word.split(separator: ":")
            let credentials = parts.count > 1 ? String(parts[1]) : "token"
            let event: DestinationEvent =
                if word.hasSuffix("!") {
                    .unparked(operation(String(word.dropLast())))
                } else if parts[0].hasSuffix("200") {
                    .witnessed(credentials: credentials, began: at(parts[0] == "200" ? index : -1))
                } else {
                    .parked(refusal(String(word), blamed: blamed), at: at(index))
                }
            state.apply(event, settings, at: at(index))
        }
        return state
    }

    private func refusal(_ word: String, blamed: String = "print") -> Parking.Refusal {
        let parts = word.split(separator: ":")
        return Parking.Refusal(
            operation: operation(String(parts[0].prefix(1))), status: Int(parts[0].dropFirst())!,
            credentials: parts.count > 1 ? String(parts[1]) : "token", blamed: blamed)
    }

    @Test(
        arguments: [
            ("", "a403", .park),
            ("a403", "a403", .park),
            ("a403", "b403", .hold),
            ("a403", "b401", .park),
            ("a403 b401", "c401", .hold),
            ("a403:other", "b403", .park),
            ("a403 200", "a403", .fail),
            ("a403 200:other", "a403", .park),
            ("a403 before200", "a403", .park),
            ("a403 before200", "b403", .hold),
            ("a403 200", "b403", .park),
            ("a403 200 b403", "c403", .hold),
            ("a403 a!", "b403", .park),
            ("a403 200 a403", "a403", .park),
        ] as [(String, String, Parking.Decision)])
    func `earlier results decide whether a refusal parks, fails or holds`(
        story: String, answer: String, decision: Parking.Decision
    ) {
        #expect(state(story).parking.decision(on: refusal(answer)) == decision)
    }

    @Test func `operations with credentials of their own never hold, and their credentials are asked once a wait`() {
        var parking = Parking()
        func refused(_ id: String, at seconds: Int) {
            var refusal = refusal("\(id)401:own")
            refusal.areOwn = true
            #expect(parking.decision(on: refusal) == .park)
            parking.park(refusal, at: at(seconds))
        }
        func withheld(_ id: String, _ credentials: String = "own", at seconds: Int) -> Bool {
            parking.withholds(credentials, from: operation(id), settings, at: at(seconds))
        }
        refused("a", at: 0)
        #expect(withheld("a", at: 1) && !withheld("b", at: 1) && !withheld("a", "renewed", at: 1))
        refused("b", at: 1)
        #expect(withheld("c", at: 2) && !withheld("c", "renewed", at: 2) && !withheld("c", at: 302))
        // They are not among those that wait whatever their credentials are.
        #expect(parking.waits(settings, at: at(2)).isEmpty)
        refused("c", at: 302)
        parking.witness("own", began: at(303))
        #expect(!withheld("a", at: 304) && !withheld("d", at: 304))
    }

    @Test func `a changed fingerprint voids earlier refusals`() {
        #expect(state("a403").parking.decision(on: refusal("b403", blamed: "other")) == .park)
        #expect(state("a403 200").parking.decision(on: refusal("a403", blamed: "other")) == .park)
        var state = state("a403 b401")
        state.apply(.parked(refusal("c403", blamed: "other"), at: at(9)), settings, at: at(9))
        #expect(state.parking.entries.map(\.id.description) == ["c"])
        state.apply(.blameChanged(since: "other"), settings, at: at(10))
        #expect(state.parking.isEmpty)
    }

    @Test func `a parked operation waits five minutes, then an hour, until a witness`() {
        func waits(_ story: String, _ settings: DestinationSettings = DestinationSettings()) -> Duration? {
            let state = state(story)
            return state.parking.waits(settings, at: at(10))[operation("a")].map { $0 - Self.start }
        }
        #expect(waits("a403") == .seconds(300))
        #expect(waits("a403 a403") == .seconds(3601))
        #expect(waits("a403 200") == nil)
        #expect(waits("a403 200 a403") == .seconds(3602))
        #expect(waits("a403", DestinationSettings(holdProbe: .seconds(60))) == .seconds(60))
        #expect(waits("a403", DestinationSettings(holdProbe: nil)) == .seconds(300))
        #expect(state("a403").parking.waits(settings, at: at(301)).isEmpty)
        // The clock has jumped back.
        #expect(state("a403").parking.waits(settings, at: at(-10)).isEmpty)
    }

    @Test func `a new operation with the id of a parked one is not parked, and its refusal takes the other's place`() {
        var parking = state("a403").parking
        let later = operation("a", createdAt: at(5))
        #expect(parking[later] == nil && parking.waits(settings, at: at(10)).count == 1)
        var refusal = refusal("a403")
        refusal.operation = later
        #expect(parking.decision(on: refusal) == .park)
        (refusal.credentials, refusal.areOwn) = ("own", true)
        parking.park(refusal, at: at(11))
        #expect(parking.entries.map(\.times) == [1])
        #expect(parking.withholds("own", from: later, settings, at: at(12)))
        #expect(!parking.withholds("own", from: operation("a"), settings, at: at(12)))
        parking.forget(operation("a"))
        #expect(parking.entries.map(\.operation) == [later])
    }

    @Test func `a hold and a release end the parking`() {
        for event in [DestinationEvent.held(reason: "x", blamed: nil), .released] {
            var state = state("a403")
            state.apply(event, settings, at: at(1))
            #expect(state.parking.isEmpty)
        }
    }

    @Test func `parking is bounded and forgets old entries`() {
        var state = DestinationState()
        for number in 0..<250 {
            let refusal = Parking.Refusal(operation: operation("i\(number)"), status: 403, credentials: "", blamed: "x")
            state.apply(.parked(refusal, at: at(number)), settings, at: at(number))
        }
        #expect(state.parking.entries.count == Parking.capacity)
        #expect(state.parking.entries.first?.id == OperationID("i150"))
        state.apply(.parked(refusal("z403", blamed: "x"), at: at(3 * 86_400)), settings, at: at(3 * 86_400))
        #expect(state.parking.entries.map(\.id.description) == ["z"])
    }

    @Test func `parking survives encoding, and a state with a damaged entry cannot be read`() throws {
        let before = state("a403 200 b401:other b401:other")
        let bytes = try JSONEncoder().encode(before)
        #expect(try JSONDecoder().decode(DestinationState.self, from: bytes) == before)
        let read = try JSONDecoder().decode(
            DestinationState.self,
            from: Data(
                #"""
                {"parked":{"operations":[
                    {"id":"a","asked":"2026-11-21T12:00:00Z","status":403},
                    {"id":"b","createdAt":"2026-11-21T11:00:00Z","asked":"2026-11-21T12:00:00Z","status":403}]}}
                """#.utf8))
        // An entry of an earlier version has no time of creation.
        #expect(read.parking.entries.map(\.id.description) == ["b"] && read.parking.blamed == nil)
        for damaged in [
            #"{"parked":{"operations":[1]}}"#, #"{"parked":{"operations":[{"id":"a"}]}}"#, #"{"parked":7}"#,
        ] {
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(DestinationState.self, from: Data(damaged.utf8))
            }
        }
    }
}
