import CSystem
import Policy
import Testing

@testable import Simulation

private let type = TypeName("a")!
private let id = OperationID("first")!
private let name = EntryName(
    createdAt: Timestamp(microseconds: 1_767_225_600_000_000), id: OperationID("first")!, type: TypeName("a")!)

/// An operation that is accepted, lost by a killed run, and nowhere at the end, amid other operations.
private func lossy() -> History {
    var history = History(setup: Setup(kinds: [Setup.Kind(type, host: "one")]))
    func note(_ milliseconds: Int, _ process: Int, _ what: Event.What) {
        history.events.append(Event(time: .milliseconds(milliseconds), process: ProcessID(process), what: what))
    }
    note(0, 1, .begins("drainq add"))
    func offer(_ label: Label) -> Offer { Offer(label: label, way: .add, type: type, payload: "{\"m\":\(label)}") }
    for label in 10..<30 { note(1, 1, .offers(offer(label))) }
    note(5, 1, .offers(offer(7)))
    note(1234, 1, .answers(7, .accepted(name)))
    for label in 10..<30 { note(1235, 1, .answers(label, .full)) }
    note(1300, 1, .ends(status: 0))
    note(1400, 2, .begins("drainq run"))
    var request = Request(number: 1, host: "one", bodies: [[10], [7]], text: "")
    request.sender = ProcessID(2)
    note(1500, 0, .receives(request))
    note(1501, 0, .replies(request: 1, Reply(kind: .lost, applied: [])))
    note(1502, 2, .refusedCall("rename", path: "claimed/x", ENOSPC))
    note(1600, 2, .killed)
    note(1700, 0, .cutPower)
    note(1800, 3, .begins("drainq status"))
    note(1900, 4, .reports(.superseded(id, by: nil)))
    note(61_000, 0, .calm)
    history.left = [
        LeftFile(path: "failed/\(name)", bytes: []), LeftFile(path: "state/lock", bytes: []),
    ]
    return history
}

@Test func `a story tells the events of the operation, marks the breach, and counts the rest`() {
    let history = lossy()
    let lost = history.events.firstIndex { $0.what == .answers(7, .accepted(name)) }!
    let killed = history.events.firstIndex { $0.what == .killed }!
    let lines = BreachStory(history, Breach(.kept, [lost, killed], "#7 is nowhere.")).lines()
    #expect(
        lines == [
            "  +0.000s p1 begins: drainq add",
            "  … 20 more of p1",
            "  +0.005s p1 hands in #7 by add: a, {\"m\":7}",
            "* +1.234s p1 answers for #7: accepted as \(name)",
            "  … 20 more of p1",
            "  +1.300s p1 ends with 0",
            "  +1.400s p2 begins: drainq run",
            "  +1.500s one receives request 1 of p2: #10, #7",
            "  +1.501s request 1 is answered: lost, no effect",
            "  +1.502s p2 gets from rename of claimed/x: \(Errno(ENOSPC))",
            "* +1.600s p2 is killed",
            "  +1.700s the power is cut",
            "  … 1 more of p3",
            "  +1.900s p4 reports: #7 is superseded",
            "  +61.000s the calm end begins",
            "  left: failed/\(name)",
            "broken: kept: #7 is nowhere.",
        ])
}

@Test func `a story is short however long the history is`() {
    var history = lossy()
    for time in 0..<500 {
        let request = Request(number: time + 10, host: "one", bodies: [[7]], text: "")
        history.events.append(Event(time: .seconds(100 + time), process: .world, what: .receives(request)))
    }
    let last = history.events.count - 1
    let lines = BreachStory(history, Breach(.repeats, [last], "#7 arrived twice.")).lines(most: 20)
    #expect(lines.count <= 22)
    #expect(lines.contains { $0.hasPrefix("* +599.000s one receives request 509") })
    #expect(lines.contains("  +0.005s p1 hands in #7 by add: a, {\"m\":7}"))
    #expect(lines.contains { $0.hasPrefix("  … ") && $0.hasSuffix("more of world") })
}

@Test func `a story without marked events tells the events of all, and the missing end`() {
    var history = lossy()
    history.isEndless = true
    let lines = BreachStory(history, Breach(.liveness, [], "It makes no end.")).lines()
    #expect(lines.contains("  +1.700s the power is cut"))
    #expect(lines.suffix(2) == ["  it made no end, and was broken off", "broken: liveness: It makes no end."])
}

@Test func `times of a story have milliseconds and a sign`() {
    #expect(BreachStory.time(.milliseconds(1234)) == "+1.234s")
    #expect(BreachStory.time(.milliseconds(5)) == "+0.005s")
    #expect(BreachStory.time(.milliseconds(-61_007)) == "-61.007s")
}
