import Policy
import Simulation
import Testing

/// Excuses of the model's sentences, and their limits.

@Test(arguments: [true, false])
func `liveness: operations wait behind a damaged file in quarantine as behind a dead letter`(holds: Bool) {
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
func `order: a run decides on a replacement when the replaced content is listed`(isBefore: Bool) {
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
func `order: a program with SpoolWriter does not report evictions`(isQuiet: Bool) {
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
func `atomic: a content without a name was not in the queue, even if its id is replaced later`(isNamed: Bool) {
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

@Test func `written times: a file named late keeps the time of its writing`() {
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
    // A file named behind an operation from the future comes later.
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
func `attempts: send may attempt an operation unseen as often as the schedule allows`(attempt: Int) {
    var kind = Setup.Kind.plain
    kind.delays = [.seconds(1), .seconds(1), .seconds(1)]
    var story = Story(kind)
    story.offer(1, way: .send)
    story.event(101, .answers(1, .accepted(story.name(1))))
    story.wait(.seconds(9))
    story.send([1], by: 2, attempt: attempt)
    #expect(story.broken.contains(.attempts) == (attempt > 5))
}

@Test(arguments: [true, false])
func `holds: a parked operation is sent again once another operation is delivered`(isDelivered: Bool) {
    var story = Story(.plain)
    story.accept(1, key: nil)
    story.accept(2, key: nil)
    story.event(1, .begins("run"))
    story.send([1], by: 1, status: 401)
    story.report(.parked(story.id(1)), by: 1)
    if isDelivered { story.send([2], by: 1) }
    story.send([1], by: 1)
    story.leave(2, in: "new")
    #expect(story.broken.contains(.holds) == !isDelivered)
}

@Test(arguments: [1, 2, 3])
func `attempts: a deferral during a retry counts before or after the retry`(attempt: Int) {
    var kind = Setup.Kind.plain
    kind.delays = [.seconds(1), .seconds(1), .seconds(1)]
    var story = Story(kind)
    story.accept(1)
    story.event(1, .begins("run"))
    story.event(2, .begins("an operator: retry"))
    var command = Command(.retry)
    command.ids = [story.id(1)]
    story.event(2, .commands(command))
    story.send([1], by: 1, status: 503, attempt: 1)
    story.report(.deferred(story.id(1), counted: true), by: 1)
    story.event(2, .changed(story.id(1)))
    story.event(2, .done)
    story.send([1], by: 3, attempt: attempt)
    #expect(story.broken.contains(.attempts) == (attempt > 2))
}

@Test(arguments: [true, false])
func `repeats: a run without a processor removes an operation later`(isStalled: Bool) {
    var story = Story(.plain)
    story.accept(1)
    story.event(1, .begins("run"))
    story.send([1], by: 1)
    story.report(.delivered(story.id(1)), by: 1)
    if isStalled { story.event(1, .stalled) }
    story.wait(.seconds(5))
    story.event(0, .cutPower)
    story.send([1], by: 2)
    #expect(story.broken.contains(.repeats) == !isStalled)
}

@Test(arguments: [true, false])
func `liveness: an operation in the queue has kept no value`(waits: Bool) {
    var creates = Setup.Kind.ordered(.key)
    creates.keeps = true
    var updates = Setup.Kind(TypeName("update")!, host: "one")
    (updates.order, updates.needsKept) = (.key, true)
    var story = Story(creates, updates)
    story.accept(1, type: updates.type)
    story.accept(2)
    story.send([2], by: 1, status: 200)
    story.history.endsCalmly = true
    story.leave(1, in: "new")
    if waits { story.leave(2, in: "new") }
    #expect(story.broken.contains(.liveness) == !waits)
}

@Test(arguments: [true, false])
func `kept: after a clock step, a report names the operation that replaced a dead letter`(isSaid: Bool) {
    var story = Story(.coalescing(.replace))
    story.event(0, .clockStepped(host: 0, by: .seconds(-3600)))
    story.accept(1)
    story.send([1], by: 1, status: 422)
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    story.offer(2, way: .send)
    story.send([2], by: 102)
    if isSaid { story.report(.superseded(story.id(1), by: story.id(2)), by: 102) }
    story.event(102, .answers(2, .delivered))
    #expect(story.broken.contains(.kept) == !isSaid)
}

@Test(arguments: [true, false])
func `written times: a file is named behind an operation dated ahead when the run was stopped`(isAhead: Bool) {
    var story = Story(.coalescing(.replace))
    var offer = Offer(label: 2, way: .foreign, type: story.history.setup.kinds[0].type, payload: story.payload(2))
    (offer.key, offer.createdAt) = ("k", story.history.began + (isAhead ? .seconds(9) : .zero))
    story.event(102, .offers(offer))
    story.event(102, .answers(2, .placed))
    story.offer(1, way: .foreign)
    story.event(101, .answers(1, .placed))
    story.wait(.seconds(20))
    for (label, time) in [(2, 9), (1, 10)] {
        var name = story.name(label)
        name.createdAt = story.history.began + .seconds(time)
        story.event(0, .names(label, name))
        story.leave(label, in: "new", name: name)
    }
    #expect(story.broken.contains(.writtenTimes) == !isAhead)
}
