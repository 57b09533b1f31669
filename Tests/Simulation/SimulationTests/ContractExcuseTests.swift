import Policy
import Simulation
import Testing

/// What the sentences of the model excuse, and what they do not.

@Test(arguments: [true, false])
func `liveness: behind a damaged file in quarantine waits what a dead letter would hold`(holds: Bool) {
    var kind = Setup.Kind.ordered(.key)
    kind.holdsBehindFailed = holds
    var story = Story(kind)
    story.accept(1)
    story.accept(2)
    story.event(0, .damaged(1))
    story.history.endsCalmly = true
    story.leave(2, in: "new")
    story.history.left.append(LeftFile(path: "quarantine/\(story.name(1)).json", bytes: Array("{\"drinq\"".utf8)))
    #expect(story.broken == (holds ? [] : [.liveness]))
}

@Test(arguments: [true, false])
func `order: a content that takes another's place was decided when that one was listed`(isBefore: Bool) {
    var story = Story(.ordered(.strict))
    story.accept(2)
    story.event(1, .begins("run"))
    if !isBefore { story.event(1, .lists) }
    story.accept(1)
    if isBefore { story.event(1, .lists) }
    story.replace(2, by: 3)
    story.event(0, .names(3, story.name(2)))
    story.event(103, .answers(3, .accepted(story.name(2))))
    story.send([3], by: 1, key: "id2")
    story.send([1], by: 1)
    #expect(story.broken == (isBefore ? [.order] : []))
}

@Test(arguments: [true, false])
func `order: a program with SpoolWriter does not say whom it has evicted`(isQuiet: Bool) {
    var story = Story(.ordered(.strict))
    (story.history.setup.operations, story.history.setup.dropsOldest) = (2, true)
    story.accept(1)
    story.accept(2)
    var offer = Offer(label: 3, way: .writer, type: story.history.setup.kinds[0].type, payload: story.payload(3))
    offer.isQuiet = isQuiet
    story.event(103, .begins("a program with SpoolWriter"))
    story.event(103, .offers(offer))
    story.event(103, .answers(3, .accepted(story.name(3))))
    story.send([2], by: 1)
    story.send([3], by: 1)
    #expect(story.broken == (isQuiet ? [] : [.kept, .order]))
}

@Test(arguments: [true, false])
func `atomic: a content that never had its name was not in the queue, whatever replaced its id later`(isNamed: Bool) {
    var story = Story(.plain)
    story.accept(9)
    story.offer(1, way: .atomic(batch: 7))
    var offer = Offer(
        label: 2, way: .atomic(batch: 7), type: story.history.setup.kinds[0].type, payload: story.payload(2))
    (offer.id, offer.createdAt, offer.isReplacing) = (story.id(9), story.name(9).createdAt, true)
    story.event(101, .offers(offer))
    if isNamed { story.event(0, .names(2, story.name(9))) }
    story.event(101, .killed)
    story.replace(9, by: 4)
    story.event(0, .names(4, story.name(9)))
    story.event(104, .answers(4, .accepted(story.name(9))))
    story.leave(4, in: "new", name: story.name(9))
    #expect(story.broken == (isNamed ? [.atomic] : []))
}

@Test func `written times: a file that is named late keeps the time at which it was written`() {
    var story = Story(.coalescing(.replace))
    story.wait(.seconds(10))
    story.offer(1, way: .foreign)
    story.event(101, .answers(1, .placed))
    story.wait(.seconds(20))
    func named(_ time: Timestamp) -> Story {
        story.then {
            var name = $0.name(1)
            name.createdAt = time
            $0.event(0, .names(1, name))
            $0.leave(1, in: "new", name: name)
        }
    }
    let began = story.history.began
    #expect(named(began + .seconds(11)).broken.isEmpty)
    #expect(named(began + .seconds(20)).broken == [.writtenTimes])
    // Behind an operation from the future it comes later.
    story.accept(100)
    #expect(named(began + .seconds(101)).then { $0.leave(100, in: "new") }.broken.isEmpty)
}

@Test(arguments: [true, false])
func `due times: a power cut takes a deferral only before the end of its run`(hasEnded: Bool) {
    var kind = Setup.Kind.plain
    kind.delays = [.seconds(10), .seconds(10)]
    var story = Story(kind)
    story.accept(1)
    story.event(1, .begins("run"))
    story.send([1], by: 1, status: 503, attempt: 1)
    story.report(.deferred(story.id(1), counted: true), by: 1)
    if hasEnded { story.event(1, .ends(status: 75)) }
    story.event(0, .cutPower)
    story.send([1], by: 2, attempt: 1)
    #expect(story.broken.contains(.dueTimes) == hasEnded)
}

@Test(arguments: [1, 2, 5, 6])
func `attempts: what send attempts itself is seen by nobody, and is no more than its schedule allows`(attempt: Int) {
    var kind = Setup.Kind.plain
    kind.delays = [.seconds(1), .seconds(1), .seconds(1)]
    var story = Story(kind)
    story.offer(1, way: .send)
    story.event(101, .answers(1, .accepted(story.name(1))))
    story.wait(.seconds(9))
    story.send([1], by: 2, attempt: attempt)
    #expect(story.broken.contains(.attempts) == (attempt > 5))
}
