import Policy
import Testing

@testable import Simulation

extension Story {
    /// Notes what `status` says of the host `one`, with one operation that waits.
    fileprivate mutating func look(
        _ finding: Look.Finding, _ state: Look.Destination.State = .well, since: Duration? = nil, waiting: Int = 1,
        change: (inout Look) -> Void = { _ in }
    ) {
        var look = Look([finding])
        look.figures.waiting = waiting
        look.files.waiting = waiting
        look.destinations["one"] = Look.Destination(
            state, since: since.map { history.began + $0 }, waiting: waiting)
        change(&look)
        event(0, .looks(look))
    }

    /// A whole run with one request.
    fileprivate mutating func run(_ process: Int, _ label: Label, status: Int) {
        event(process, .begins("run"))
        event(process, .runs(RunChoice()))
        send([label], by: process, status: status)
        report(status == 200 ? .delivered(id(label)) : .deferred(id(label), counted: true), by: process)
        event(process, .endsRun(status: status == 200 ? 0 : 75, leftDue: 0, waits: status != 200))
    }

    /// Whether the history breaks the sentence.
    fileprivate func breaks(_ property: Property) -> Bool {
        !Contract.broken(by: history, of: [property]).isEmpty
    }
}

@Test func `figures: status counts each file`() {
    var story = Story(.plain)
    story.accept(1)
    #expect(!story.then { $0.look(.well) }.breaks(.figures))
    #expect(story.then { $0.look(.well) { $0.figures.waiting = 2 } }.breaks(.figures))
    #expect(story.then { $0.look(.well) { $0.figures.failed = 1 } }.breaks(.figures))
}

@Test func `last runs: status knows the last run, and knows no run that was not`() {
    var story = Story(.plain)
    story.accept(1)
    story.run(5, 1, status: 503)
    let began = story.history.began + .seconds(4)
    #expect(!story.then { $0.look(.well) { $0.lastRun = began } }.breaks(.lastRuns))
    #expect(story.then { $0.look(.well) }.breaks(.lastRuns))
    #expect(story.then { $0.look(.neverRun) { $0.lastRun = began } }.breaks(.lastRuns))
    #expect(story.then { $0.look(.notRunning) { $0.lastRun = began } }.breaks(.lastRuns))
    #expect(story.then { $0.look(.well) { $0.lastRun = began + .seconds(60) } }.breaks(.lastRuns))
    // The next run writes its time; a power cut may lose it.
    #expect(
        !story.then {
            $0.event(0, .cutPower)
            $0.look(.neverRun)
        }.breaks(.lastRuns))
}

@Test func `well is proven: nothing has failed, and the destination has not taken nothing for long`() {
    var story = Story(.plain)
    story.accept(1)
    story.run(5, 1, status: 500)
    #expect(story.then { $0.look(.well) { $0.files.failed = 1 } }.breaks(.wellIsProven))
    #expect(story.then { $0.look(.working) { $0.files.quarantined = 1 } }.breaks(.wellIsProven))
    story.wait(.seconds(1000))
    #expect(!story.then { $0.look(.well) }.breaks(.wellIsProven))
    story.run(6, 1, status: 500)
    #expect(story.then { $0.look(.well) }.breaks(.wellIsProven))
    #expect(!story.then { $0.look(.trouble, .down) }.breaks(.wellIsProven))
    #expect(
        !story.then {
            $0.run(7, 1, status: 200)
            $0.look(.well)
        }.breaks(.wellIsProven))
}

@Test func `well is proven: runs come if operations are due`() {
    var story = Story(.plain)
    story.run(5, 9, status: 200)
    story.accept(1)
    story.leave(1, in: "new")
    story.beginRun(6)
    story.event(6, .endsRun(status: 0, leftDue: 1, waits: false))
    #expect(!story.then { $0.look(.well) }.breaks(.wellIsProven))
    story.wait(.seconds(8 * 3600))
    #expect(story.then { $0.look(.well) }.breaks(.wellIsProven))
    #expect(!story.then { $0.look(.notRunning) }.breaks(.wellIsProven))
}

@Test func `troubles: a destination that takes nothing is in trouble until it takes an operation`() {
    var story = Story(.plain)
    story.accept(1)
    story.accept(2)
    story.run(5, 1, status: 500)
    story.wait(.seconds(1000))
    story.run(6, 1, status: 500)
    #expect(story.then { $0.look(.trouble, .missed) }.breaks(.troubles))
    #expect(!story.then { $0.look(.trouble, .down, since: .seconds(8)) }.breaks(.troubles))
    story.wait(.seconds(10))
    story.run(7, 1, status: 200)
    #expect(story.then { $0.look(.trouble, .down, since: .seconds(8)) }.breaks(.troubles))
    #expect(!story.then { $0.look(.well, .well) }.breaks(.troubles))
}

@Test(arguments: [true, false])
func `troubles: a clock that was set back makes the time without a delivery shorter`(isSetBack: Bool) {
    var story = Story(.plain)
    story.accept(1)
    story.run(5, 1, status: 500)
    if isSetBack { story.event(0, .clockStepped(host: 0, by: .seconds(-3600))) }
    story.wait(.seconds(1000))
    story.run(6, 1, status: 500)
    story.look(.trouble, .missed)
    #expect(story.breaks(.troubles) == !isSetBack)
}

@Test func `feed: a beginning and an end are told in turn, each once`() {
    var story = Story(.plain)
    story.accept(1)
    story.run(5, 1, status: 500)
    story.report(.tells(Told(.down, "one")), by: 5)
    #expect(!story.breaks(.feed))
    #expect(story.then { $0.report(.tells(Told(.down, "one")), by: 6) }.breaks(.feed))
    #expect(story.then { $0.report(.tells(Told(.up, "two")), by: 6) }.breaks(.feed))
    #expect(story.then { $0.report(.tells(Told(.up, "one")), by: 6) }.breaks(.feed))
    #expect(
        !story.then {
            $0.run(6, 1, status: 200)
            $0.report(.tells(Told(.up, "one")), by: 6)
        }.breaks(.feed))
    #expect(story.then { $0.report(.holdEnded("http://one"), by: 6) }.breaks(.feed))
}

@Test(arguments: [true, false])
func `feed: an answer that the run takes in after it told an outage ends the outage`(isLate: Bool) {
    var story = Story(.plain)
    for label in 1...2 { story.accept(label) }
    story.run(5, 1, status: 500)
    story.send([2], by: 6)
    if !isLate { story.event(6, .takesIn(request: 2)) }
    story.report(.tells(Told(.down, "one")), by: 6)
    if isLate { story.event(6, .takesIn(request: 2)) }
    story.report(.tells(Told(.up, "one")), by: 6)
    #expect(story.breaks(.feed) == !isLate)
}

@Test func `calls: a hook is called once for a beginning, and once for its end`() {
    var story = Story(.plain)
    story.accept(1)
    story.run(5, 1, status: 500)
    #expect(story.then { $0.event(5, .calls("up", host: "one")) }.breaks(.calls))
    story.event(5, .calls("down", host: "one"))
    #expect(!story.breaks(.calls))
    #expect(story.then { $0.event(6, .calls("down", host: "one")) }.breaks(.calls))
    #expect(!story.then { $0.event(6, .calls("up", host: "one")) }.breaks(.calls))
    story.event(6, .calls("up", host: "one"))
    #expect(
        story.then {
            $0.run(7, 1, status: 200)
            $0.event(7, .calls("down", host: "one"))
        }.breaks(.calls))
}
