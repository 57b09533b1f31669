import Policy
import Simulation
import Testing

/// Histories that break the sentences on choice, places and interruptions, and similar histories that break nothing.

@Test func `choice: a run sends only operations that its options name, and no more than its limit`() {
    var other = Setup.Kind.plain
    other.type = TypeName("other")!
    func broken(_ labels: [Label], _ change: (inout RunChoice, Story) -> Void) -> Set<Property> {
        var story = Story(.plain, other)
        for label in 1...2 { story.accept(label, key: nil) }
        var choice = RunChoice()
        change(&choice, story)
        story.event(1, .begins("run"))
        story.event(1, .runs(choice))
        for label in labels { story.send([label], by: 1) }
        for label in 1...2 where !labels.contains(label) { story.leave(label, in: "new") }
        return story.broken
    }
    #expect(broken([1]) { choice, _ in choice.types = [other.type] } == [.choice])
    #expect(broken([1]) { choice, _ in choice.types = [Setup.Kind.plain.type] }.isEmpty)
    #expect(broken([1]) { choice, _ in choice.limit = 1 }.isEmpty)
    #expect(broken([1, 2]) { choice, _ in choice.limit = 1 } == [.choice])
    #expect(broken([1]) { $0.ids = [$1.id(2)] } == [.choice])
    #expect(broken([2]) { $0.ids = [$1.id(2)] }.isEmpty)
}

@Test func `places: a dead letter has failed, and a copy was delivered`() {
    var story = Story(.plain)
    story.accept(1)
    #expect(story.then { $0.leave(1, in: "delivered") }.broken.contains(.places))
    #expect(story.then { $0.leave(1, in: "failed") }.broken == [.places])
    let failed = story.then {
        $0.send([1], by: 1, status: 404)
        $0.report(.failed($0.id(1), isExpired: false), by: 1)
        $0.leave(1, in: "failed")
    }
    #expect(failed.broken.isEmpty)
    let killed = story.then {
        $0.send([1], by: 1, status: 404)
        $0.event(1, .killed)
        $0.leave(1, in: "failed")
    }
    #expect(killed.broken.isEmpty)
}

@Test func `left in flight: a command does not change what a request carries`() {
    var story = Story(.plain)
    story.accept(1)
    let number = story.receive([1], by: 1)
    let changed = story.then {
        $0.command(.retry, [1])
        $0.reply(number, [1], to: 1)
    }
    #expect(changed.broken.contains(.inFlight))
    let later = story.then {
        $0.reply(number, [1], status: 503, to: 1)
        $0.report(.deferred($0.id(1), counted: true), by: 1)
        $0.command(.retry, [1])
        $0.leave(1, in: "new")
    }
    #expect(later.broken.isEmpty)
}

@Test func `sent apart: parts of a refused document fail by a request of their own`() {
    var story = Story(.coalescing(.merge))
    story.accept(1)
    story.accept(2)
    story.send([1, 2], by: 1, status: 422, text: #"{"m1":1,"m2":2}"#)
    let together = story.then {
        $0.report(.failed($0.id(1), isExpired: false), by: 1)
        $0.leave(1, in: "failed")
        $0.leave(2, in: "new")
    }
    #expect(together.broken == [.sentApart])
    let apart = story.then {
        $0.send([1], by: 1, status: 422)
        $0.report(.failed($0.id(1), isExpired: false), by: 1)
        $0.leave(1, in: "failed")
        $0.leave(2, in: "new")
    }
    #expect(apart.broken.isEmpty)
}

@Test func `interruptions: after the deaths of five runs an operation is not sent again`() {
    var story = Story(.plain)
    story.accept(1)
    for process in 1...5 {
        story.event(process, .begins("run"))
        _ = story.receive([1], by: process)
        story.event(process, .killed)
    }
    #expect(story.then { $0.leave(1, in: "quarantine") }.broken.isEmpty)
    let again = story.then {
        $0.event(6, .begins("run"))
        $0.send([1], by: 6)
    }
    #expect(again.broken.contains(.interruptions))
}

@Test func `run status: a run until the queue is empty waits for operations due later`() {
    var story = Story(.plain)
    var choice = RunChoice()
    choice.isUntilEmpty = true
    story.event(1, .begins("run"))
    story.event(1, .runs(choice))
    #expect(story.then { $0.event(1, .endsRun(status: 0, leftDue: 0, waits: true)) }.broken == [.runStatus])
    #expect(story.then { $0.event(1, .endsRun(status: 0, leftDue: 0, waits: false)) }.broken.isEmpty)
    #expect(
        story.then {
            $0.event(1, .interrupted)
            $0.event(1, .endsRun(status: 0, leftDue: 0, waits: true))
        }.broken.isEmpty)
}

@Test func `order: a delivered operation does not come back behind a newer operation`() {
    var story = Story(.ordered(.key))
    story.accept(1)
    story.accept(2)
    story.event(1, .begins("run"))
    story.send([1], by: 1)
    let back = story.then {
        $0.send([2], by: 1)
        $0.event(0, .cutPower)
        $0.event(2, .begins("run"))
        $0.send([1], by: 2)
    }
    #expect(back.broken.contains(.order))
    let repeated = story.then {
        $0.event(0, .cutPower)
        $0.event(2, .begins("run"))
        $0.send([1], by: 2)
        $0.send([2], by: 2)
    }
    #expect(!repeated.broken.contains(.order))
}
