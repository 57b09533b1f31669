import Policy
import Simulation
import Testing

/// Two kinds, `plain` at `one` and `other` at `two`, and a run with two attempts in flight.
private func story(concurrency: Int = 2) -> Story {
    var other = Setup.Kind(TypeName("other")!, host: "two")
    other.delays = [.seconds(1)]
    var story = Story(.plain, other)
    for label in 1...3 {
        story.accept(label)
        story.event(0, .names(label, story.name(label)))
    }
    var choice = RunChoice()
    choice.concurrency = concurrency
    story.event(1, .begins("run"))
    story.event(1, .runs(choice))
    story.event(1, .lists)
    return story
}

extension Story {
    /// Hands a request to an agent, and takes the answer in.
    fileprivate mutating func exchange(_ label: Label, status: Int, retryAfter: Int? = nil) {
        event(1, .submits([label]))
        send([label], by: 1, status: status, retryAfter: retryAfter)
        event(1, .takesIn(request: label))
    }
}

@Test(arguments: [1, 2])
func `prompt: a destination that delivers gets its next operation within two seconds`(concurrency: Int) {
    var story = story(concurrency: concurrency)
    story.exchange(1, status: 200)
    #expect(!story.then { $0.exchange(2, status: 200) }.broken.contains(.prompt))
    let rested = story.then {
        $0.wait(.seconds(3))
        $0.event(1, .submits([2]))
        $0.leave(2, in: "new")
        $0.leave(3, in: "new")
    }
    #expect(rested.broken.contains(.prompt) == (concurrency > 1))
}

@Test(arguments: [true, false])
func `turns: what had no request goes before what the server has limited`(isRepeated: Bool) {
    var story = story()
    story.exchange(1, status: 429, retryAfter: 1)
    story.report(.deferred(story.id(1), counted: false), by: 1)
    story.wait(.seconds(2))
    story.event(1, .lists)
    story.event(1, .submits([isRepeated ? 1 : 2]))
    for label in 1...3 { story.leave(label, in: "new") }
    #expect(story.broken.contains(.turns) == isRepeated)
}

@Test(arguments: [true, false])
func `turns: a delivery ends what a server has asked for once its run takes the answer in`(isLater: Bool) {
    var story = story()
    story.event(2, .begins("run"))
    story.event(2, .runs(RunChoice()))
    story.event(2, .submits([3]))
    story.send([3], by: 2)
    if !isLater { story.event(2, .takesIn(request: 1)) }
    story.event(1, .submits([1]))
    story.send([1], by: 1, status: 429, retryAfter: 1)
    story.report(.deferred(story.id(1), counted: false), by: 1)
    story.event(1, .endsRun(status: 75, leftDue: 0, waits: true))
    if isLater { story.event(2, .takesIn(request: 1)) }
    story.report(.delivered(story.id(3)), by: 2)
    story.event(2, .endsRun(status: 0, leftDue: 0, waits: false))
    story.wait(.seconds(2))
    story.beginRun(3)
    story.event(3, .lists)
    story.event(3, .submits([1]))
    for label in 1...2 { story.leave(label, in: "new") }
    #expect(story.broken.contains(.turns) == !isLater)
}
