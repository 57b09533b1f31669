import Foundation
import Testing

@testable import Policy

/// The news that hooks get, over many runs.
struct HookLedgerTests {
    private static let a = "https://a.example"
    private static let b = "https://b.example"
    private let start = Timestamp(rfc3339: "2026-11-21T12:00:00Z")!
    private let all = Hooks(
        commands: Dictionary(uniqueKeysWithValues: Hooks.Event.allCases.map { ($0, ["notify"]) }))

    private func failed(_ destination: String, _ ids: String...) -> HookNews {
        HookNews(.failed, destination, reason: "400", count: ids.count, ids: ids)
    }

    private func held(_ destination: String = a, reason: String = "401") -> HookNews {
        HookNews(.held, destination, reason: reason)
    }

    private func released(_ destination: String = a) -> HookNews {
        HookNews(.released, destination, reason: "delivered")
    }

    @Test func `the first news of each event and destination is reported at once`() {
        var ledger = HookLedger()
        let news = [held(Self.b), failed(Self.a, "1"), HookNews(.quarantined, reason: "no JSON"), held()]
        #expect(ledger.take(news, hooks: all, at: start) == [news[1], news[3], news[0], news[2]])
    }

    @Test func `news within the minimum interval is reported later, together`() {
        var ledger = HookLedger()
        #expect(ledger.take([failed(Self.a, "1")], hooks: all, at: start).count == 1)
        #expect(ledger.take([failed(Self.a, "2", "3")], hooks: all, at: start + .seconds(60)).isEmpty)
        #expect(ledger.take([failed(Self.b, "4")], hooks: all, at: start + .seconds(61)) == [failed(Self.b, "4")])
        #expect(ledger.take([], hooks: all, at: start + .seconds(3599)).isEmpty)
        let later = ledger.take([failed(Self.a, "5")], hooks: all, at: start + .seconds(3600))
        #expect(later == [failed(Self.a, "2", "3", "5")])
        #expect(ledger.take([], hooks: all, at: start + .seconds(9000)).isEmpty)
    }

    @Test func `an outage and a backlog are reported once at their beginning and once at their end`() {
        var ledger = HookLedger()
        var hooks = all
        hooks.atMostEvery = .zero
        func told(_ event: Hooks.Event, _ present: [String: String]) -> [String] {
            let news = ledger.changes(of: event, to: present, hooks: hooks)
            return ledger.take(news, hooks: hooks, at: start).map { "\($0.event) \($0.destination ?? "")" }
        }
        #expect(told(.down, [Self.a: "timeout"]) == ["down \(Self.a)"])
        #expect(told(.down, [Self.a: "503"]) == [])
        #expect(told(.backlog, [Self.a: "old"]) == ["backlog \(Self.a)"])
        #expect(told(.down, [Self.b: "503"]) == ["down \(Self.b)", "up \(Self.a)"])
        #expect(told(.down, [:]) == ["up \(Self.b)"])
        #expect(told(.backlog, [:]) == ["cleared \(Self.a)"])
        hooks.commands = [:]
        #expect(told(.down, [Self.a: "timeout"]) == [])
    }

    @Test func `a destination is down half an hour after a failure without an answer since`() {
        var state = DestinationState()
        state.apply(.unreachable("timeout"), DestinationSettings(), at: start)
        let hooks = Hooks()
        #expect(state.outage(by: hooks, at: start + .seconds(1799)) == nil)
        #expect(state.outage(by: hooks, at: start + .seconds(1800)) == "timeout, since 2026-11-21T12:00:00Z")
        state.apply(.answered, DestinationSettings(), at: start + .seconds(1801))
        #expect(state.outage(by: hooks, at: start + .seconds(9999)) == nil)
    }

    @Test func `news undone before its report is not reported`() {
        var ledger = HookLedger()
        _ = ledger.take([held()], hooks: all, at: start)
        #expect(ledger.take([released()], hooks: all, at: start + .seconds(60)) == [released()])
        #expect(ledger.take([held()], hooks: all, at: start + .seconds(120)).isEmpty)
        #expect(ledger.take([released()], hooks: all, at: start + .seconds(180)).isEmpty)
        #expect(ledger.take([], hooks: all, at: start + .seconds(86_400)).isEmpty)
    }

    @Test func `the last report always matches the latest state, though possibly late`() {
        var ledger = HookLedger()
        var told: Hooks.Event = .released
        var isHeld = false
        var generator = SeededGenerator(seed: 7)
        var now = start
        for _ in 0..<2000 {
            now = now + .seconds(Int.random(in: 1...1200, using: &generator))
            var news: [HookNews] = []
            if Bool.random(using: &generator) {
                isHeld.toggle()
                news = [isHeld ? held() : released()]
            }
            for item in ledger.take(news, hooks: all, at: now) {
                #expect(item.event != told, "told twice in a row")
                told = item.event
            }
            var hourLater = ledger
            let owed = hourLater.take([], hooks: all, at: now + .seconds(3600)).last?.event
            #expect((owed ?? told) == (isHeld ? .held : .released))
        }
    }

    @Test func `an event without a command is forgotten and cancels its opposite`() {
        var ledger = HookLedger()
        var hooks = Hooks(commands: [.held: ["notify"]])
        #expect(ledger.take([failed(Self.a, "1"), held()], hooks: hooks, at: start) == [held()])
        #expect(ledger.take([released(), held(Self.b)], hooks: hooks, at: start + .seconds(1)) == [held(Self.b)])
        #expect(ledger.take([held()], hooks: hooks, at: start + .seconds(2)).isEmpty)
        #expect(ledger.take([released()], hooks: hooks, at: start + .seconds(3)).isEmpty)
        hooks.atMostEvery = .zero
        #expect(ledger.take([], hooks: hooks, at: start + .seconds(4)).isEmpty)
        #expect(ledger.take([held()], hooks: hooks, at: start + .seconds(4)) == [held()])
        #expect(ledger.take([held()], hooks: hooks, at: start + .seconds(4)) == [held()])
    }

    @Test func `a clock set back silences no news`() {
        var ledger = HookLedger()
        _ = ledger.take([held()], hooks: all, at: start + .seconds(86_400))
        #expect(ledger.take([held(reason: "403")], hooks: all, at: start) == [held(reason: "403")])
    }

    @Test func `news keeps ten ids, and its count does not overflow`() {
        var news = HookNews(.failed, Self.a, reason: "400", count: .max, ids: (0..<20).map(String.init))
        #expect(news.ids.count == 10)
        news.add(failed(Self.a, "x"))
        #expect(news.count == .max && news.ids == (0..<10).map(String.init))
    }

    @Test func `the ledger survives encoding, and a newer version is refused`() throws {
        var ledger = HookLedger()
        _ = ledger.take([held(), failed(Self.a, "1")], hooks: all, at: start)
        _ = ledger.take([failed(Self.a, "2"), HookNews(.quarantined, reason: "x\n\u{0}")], hooks: all, at: start)
        let data = try JSONEncoder().encode(ledger)
        #expect(try JSONDecoder().decode(HookLedger.self, from: data) == ledger)
        let newer = String(decoding: data, as: UTF8.self).replacing("\"version\":1", with: "\"version\":2")
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(HookLedger.self, from: Data(newer.utf8)) }
    }

    @Test func `a file with too many destinations is read, and their ends are reported`() throws {
        let names = (0..<1200).map { "https://\($0).example" }
        let list = names.map { "\"\($0)\"" }.joined(separator: ",")
        let file = #"{"version":1,"entries":{},"standing":{"down":[\#(list)]}}"#
        var ledger = try JSONDecoder().decode(HookLedger.self, from: Data(file.utf8))
        var present = Dictionary(uniqueKeysWithValues: names.map { ($0, "503") })
        present["https://new.example"] = "503"
        #expect(ledger.changes(of: .down, to: present, hooks: all).isEmpty)
        let kept = names.prefix(999) + ["https://new.example"]
        let changes = ledger.changes(
            of: .down, to: Dictionary(uniqueKeysWithValues: kept.map { ($0, "503") }), hooks: all)
        #expect(changes.count(where: { $0.event == .up }) == 201)
        #expect(changes.filter { $0.event == .down }.map(\.destination) == ["https://new.example"])
    }

    @Test func `the ledger keeps the thousand destinations reported last`() throws {
        var ledger = HookLedger()
        for number in 0..<1500 {
            _ = ledger.take([held("https://\(number).example")], hooks: all, at: start + .milliseconds(number))
        }
        let text = String(decoding: try JSONEncoder().encode(ledger), as: UTF8.self)
        #expect(text.matches(of: /"told"/).count == 1000)
        #expect(text.contains("1499.example") && !text.contains("/499.example"))
    }
}
