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
    story.accept(1)
    story.event(0, .clockStepped(host: 0, by: .seconds(-3600)))
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

@Test(arguments: [true, false])
func `dead letter holds: the delivery of a newer value of its key ends the hold`(isDelivered: Bool) {
    var kind = Setup.Kind.coalescing(.replace)
    (kind.order, kind.holdsBehindFailed) = (.strict, true)
    var story = Story(kind)
    story.accept(1)
    story.send([1], by: 1, status: 422)
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    story.accept(2)
    story.accept(3, key: "other")
    if isDelivered { story.send([2], by: 2) } else { story.leave(2, in: "new") }
    story.send([3], by: 3)
    #expect(story.broken.contains(.deadLetterHolds) == !isDelivered)
}

@Test(arguments: [true, false])
func `kept: retention counts from the answer, and not from the report that the storm guard delays`(isLong: Bool) {
    var story = Story(.plain)
    story.history.setup.keepsFailed = .seconds(20)
    story.accept(1)
    story.event(1, .begins("run"))
    story.send([1], by: 1, status: 422)
    story.wait(.seconds(15))
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    story.wait(.seconds(isLong ? 10 : 1))
    #expect(story.broken.contains(.kept) == !isLong)
}

@Test(arguments: [true, false])
func `kept: what replaces an operation that failed after its export is a dead letter`(hasFailed: Bool) {
    var story = Story(.plain)
    story.history.setup.keepsFailed = .seconds(20)
    story.accept(1)
    story.replace(1, by: 2)
    if hasFailed {
        story.send([1], by: 1, status: 422)
        story.report(.failed(story.id(1), isExpired: false), by: 1)
    }
    story.event(102, .answers(2, .accepted(story.name(1))))
    story.wait(.seconds(60))
    #expect(story.broken.contains(.kept) == !hasFailed)
}

@Test(arguments: [true, false])
func `newest value wins: no newer patch replaces a dead letter, which goes alone when it is retried`(hasFailed: Bool) {
    var story = Story(.coalescing(.merge))
    story.accept(1)
    story.accept(2)
    if hasFailed {
        story.send([1], by: 1, status: 422)
        story.report(.failed(story.id(1), isExpired: false), by: 1)
    }
    story.send([2], by: 1)
    story.command(.retry, [1])
    story.send([1], by: 2)
    #expect(story.broken.contains(.newestValueWins) == !hasFailed)
}

@Test(arguments: [1, 2])
func `newest value wins: the parts of a document go alone after two deaths with it`(deaths: Int) {
    var story = Story(.coalescing(.merge))
    story.accept(1)
    story.accept(2)
    for process in 1...deaths {
        story.event(process, .begins("run"))
        story.send([1, 2], by: process, text: "{\"m1\":1,\"m2\":2}")
        story.event(process, .killed)
    }
    story.send([1], by: 3)
    #expect(story.broken.contains(.newestValueWins) == (deaths == 1))
}

@Test(arguments: [true, false])
func `limits: an operation that finds no room may be too long for a limit of bytes`(hasLimit: Bool) {
    var story = Story(.plain)
    (story.history.setup.operations, story.history.setup.bytes) = (9, hasLimit ? 100 : nil)
    story.offer(1)
    story.event(101, .answers(1, .full))
    #expect(story.broken.contains(.limits) == !hasLimit)
}

@Test(arguments: [true, false])
func `attempts: a run that met an error may have counted an attempt without telling of it`(metError: Bool) {
    var kind = Setup.Kind.plain
    kind.delays = [.seconds(1), .seconds(1), .seconds(1)]
    var story = Story(kind)
    story.accept(1)
    story.event(1, .begins("run"))
    story.send([1], by: 1, status: 503, attempt: 1)
    if metError { story.event(1, .refusedCall("unlink", path: "claimed/x", 28)) }
    story.event(1, .ends(status: 74))
    story.send([1], by: 2, attempt: 2)
    #expect(story.broken.contains(.attempts) == !metError)
}

@Test(arguments: [true, false])
func `expiry and not before: an attempt by a clock ahead counts, also where clocks are behind`(isAhead: Bool) {
    var kind = Setup.Kind.plain
    kind.expiresAfter = .seconds(30)
    var story = Story(kind)
    story.history.hosts[ProcessID(1)] = 1
    if isAhead { story.event(0, .clockStepped(host: 1, by: .seconds(7200))) }
    story.accept(1, notBefore: .seconds(3600))
    story.event(1, .begins("run"))
    story.event(1, .submits([1]))
    story.send([1], by: 1, status: 503)
    story.send([1], by: 2)
    #expect(story.broken.contains(.notBefore) == !isAhead)
}

@Test(arguments: [true, false])
func `expiry: the age counts from an attempt before the time of creation`(isBefore: Bool) {
    var kind = Setup.Kind.plain
    kind.expiresAfter = .seconds(30)
    var story = Story(kind)
    story.accept(300)
    if isBefore {
        story.event(1, .begins("run"))
        story.event(1, .submits([300]))
    }
    story.wait(.seconds(60))
    story.report(.failed(story.id(300), isExpired: true), by: 2)
    #expect(story.broken.contains(.expiry) == !isBefore)
}

@Test(arguments: [true, false])
func `kept: a command that died may have dropped what another command left alone`(isOther: Bool) {
    var story = Story(.plain)
    story.accept(1)
    var command = Command(.drop)
    command.ids = [story.id(1)]
    story.event(90, .begins("drop"))
    story.event(90, .commands(command))
    story.event(isOther ? 91 : 90, .leftAlone(story.id(1)))
    story.event(90, .killed)
    #expect(story.broken.contains(.kept) == !isOther)
}

@Test(arguments: [true, false])
func `liveness: a destination stays held while each probe meets a permanent status`(isPermanent: Bool) {
    var story = Story(.plain)
    story.accept(1)
    story.report(.destinationHeld("http://one"), by: 1)
    story.send([1], by: 2, status: isPermanent ? 422 : 401)
    story.history.endsCalmly = true
    story.leave(1, in: "new")
    #expect(story.broken.contains(.liveness) == !isPermanent)
}

@Test(arguments: [-5, 5])
func `written times: a time before 1970 is no time of writing`(time: Int) {
    var story = Story(.plain)
    var offer = Offer(label: 1, way: .foreign, type: story.history.setup.kinds[0].type, payload: story.payload(1))
    offer.createdAt = Timestamp(microseconds: Int64(time))
    story.event(101, .offers(offer))
    story.event(101, .answers(1, .placed))
    story.wait(.seconds(60))
    var name = story.name(1)
    name.createdAt = story.history.began + .seconds(60)
    story.event(0, .names(1, name))
    story.leave(1, in: "new", name: name)
    #expect(story.broken.contains(.writtenTimes) == (time > 0))
}

@Test(arguments: [nil, 503, 500])
func `newest first: while the destination is down an older operation keeps its schedule`(status: Int?) {
    var story = Story(.ordered(.newest))
    func accept(_ label: Label) {
        story.accept(label)
        story.event(0, .names(label, story.name(label)))
        story.event(100 + label, .ends(status: 0))
    }
    accept(1)
    story.beginRun(1)
    story.event(1, .submits([1]))
    if let status { story.send([1], by: 1, status: status) }
    story.report(.deferred(story.id(1), counted: true), by: 1)
    story.event(1, .endsRun(status: 75, leftDue: 0, waits: false))
    accept(2)
    story.beginRun(2)
    story.event(2, .submits([1]))
    #expect(story.broken.contains(.newestFirst) == (status == 500))
}
