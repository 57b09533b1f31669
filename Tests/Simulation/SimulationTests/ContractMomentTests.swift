import Policy
import Simulation
import Testing

/// Gaps of sentences about the moment at which something counts. Each story has a twin that breaks the sentence.

@Test(arguments: [true, false])
func `nothing from nowhere: a request counts from its hand-over, and not from its arrival`(isBefore: Bool) {
    var story = Story(.plain)
    story.accept(1)
    story.event(90, .commands(Command(.pause)))
    if isBefore { story.event(1, .submits([1])) }
    story.event(90, .done)
    story.wait(.seconds(9))
    if !isBefore { story.event(1, .submits([1])) }
    story.send([1], by: 1)
    #expect(story.broken.contains(.nothingFromNowhere) == !isBefore)
}

@Test(arguments: [true, false])
func `kept: a dead letter that may have been created anew overwrites the newer parts of its document`(insists: Bool) {
    var story = Story(.coalescing(.merge))
    story.accept(1, member: "m")
    story.send([1], by: 1, status: 422)
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    story.accept(2, member: "m")
    var command = Command(.retry)
    command.insists = insists
    story.event(90, .commands(command))
    story.event(90, .killed)
    story.send([1], by: 2, text: story.payload(1, "m"))
    #expect(story.broken.contains(.kept) == !insists)
}

@Test(arguments: ["k", "q"], [true, false])
func `limits: a value of a key that an operator has put back counts with it while it waits`(key: String, waits: Bool) {
    var story = Story(.coalescing(.replace))
    story.history.setup.operations = 2
    story.accept(1)
    story.send([1], by: 1, status: 422)
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    for (label, key) in [(2, "y"), (3, "z")] { story.accept(label, key: key) }
    story.command(.retry, [1])
    if !waits { story.send([1], by: 2) }
    story.accept(4, key: key)
    for label in 2...4 { story.leave(label, in: "new") }
    #expect(story.broken.contains(.limits) == (key != "k" || !waits))
}

@Test(arguments: [true, false])
func `liveness: a replacement whose import died has the hold of the replaced content`(isHeld: Bool) {
    var story = Story(.plain)
    story.accept(1)
    var name = story.name(1)
    name.isHeld = isHeld
    story.replace(1, by: 2)
    story.event(0, .names(2, name))
    story.event(102, .killed)
    story.event(0, .calm)
    story.wait(.seconds(4000))
    story.history.endsCalmly = true
    story.leave(2, in: "new", name: name)
    #expect(story.broken.contains(.liveness) == !isHeld)
}

@Test(arguments: [true, false])
func `due times: a dead letter that may have been created anew may be the newest part of its document`(insists: Bool) {
    var kind = Setup.Kind.coalescing(.merge)
    kind.delays = [.seconds(60), .seconds(60)]
    var story = Story(kind)
    story.accept(1)
    story.send([1], by: 1, status: 422)
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    story.accept(2)
    story.send([2], by: 2, status: 503, attempt: 1)
    story.report(.deferred(story.id(2), counted: true), by: 2)
    var command = Command(.retry)
    (command.ids, command.insists) = ([story.id(1)], insists)
    story.event(90, .commands(command))
    story.event(90, .killed)
    story.send([1, 2], by: 3)
    #expect(story.broken.contains(.dueTimes) == !insists)
}

@Test(arguments: ["cannot lock 'state/names.lock': busy", "cannot read 'new'"], [1, 60])
func `settled: a run that has waited for a lock tells of a delivery once it has given up`(words: String, late: Int) {
    var story = Story(.plain)
    story.accept(1)
    story.beginRun(1)
    story.send([1], by: 1)
    story.event(1, .takesIn(request: 1))
    story.wait(.seconds(5))
    story.report(.error(words), by: 1)
    story.event(1, .reports(.delivered(story.id(1))), after: .seconds(late))
    story.event(1, .endsRun(status: 74, leftDue: 0, waits: false))
    #expect(story.broken.contains(.settled) == (late > 1 || !words.contains("lock")))
}

@Test(arguments: [true, false])
func `settled: a run that has waited for a lock of a process without a processor tells once it is woken`(wakes: Bool) {
    var story = Story(.plain)
    story.accept(1)
    story.beginRun(1)
    story.event(7, .stalled)
    story.send([1], by: 1)
    story.event(1, .takesIn(request: 1))
    story.wait(.seconds(5))
    if wakes { story.event(7, .woken) }
    story.report(.delivered(story.id(1)), by: 1)
    story.event(1, .endsRun(status: 0, leftDue: 0, waits: false))
    #expect(story.broken.contains(.settled) == !wakes)
}

@Test(arguments: [true, false])
func `newest value wins: after two deaths with a later document each of its hidden parts goes alone`(isKilled: Bool) {
    var story = Story(.coalescing(.merge))
    for label in 1...2 { story.accept(label, member: "m") }
    let number = story.receive([2], by: 1, text: story.payload(2, "m"))
    story.reply(number, [2], status: nil, applies: true, to: 1)
    story.report(.deferred(story.id(2), counted: true), by: 1)
    story.event(1, .endsRun(status: 75, leftDue: 0, waits: false))
    story.accept(3, member: "m")
    for process in 2...3 {
        _ = story.receive([3], by: process, text: story.payload(3, "m"))
        if isKilled { story.event(process, .killed) }
    }
    story.send([1], by: 4, text: story.payload(1, "m"))
    #expect(story.broken.contains(.newestValueWins) == !isKilled)
}

@Test(arguments: [898, 880])
func `last runs: a run that began in the middle of a second is missing within the second before`(wait: Int) {
    var story = Story(.plain)
    story.beginRun(1)
    story.event(1, .endsRun(status: 0, leftDue: 0, waits: false))
    story.wait(.seconds(wait))
    var look = Look([.notRunning])
    look.lastRun = story.history.began + .seconds(1)
    story.event(0, .looks(look), after: .milliseconds(500))
    #expect(story.broken.contains(.lastRuns) == (wait < 890))
}

@Test(arguments: [true, false])
func `retry after: a request counts from its hand-over, and not from its arrival`(isBefore: Bool) {
    var story = Story(.plain)
    for label in 1...2 { story.accept(label, key: nil) }
    story.beginRun(1)
    if isBefore { story.event(1, .submits([2])) }
    story.send([1], by: 1, status: 429, retryAfter: 600)
    story.event(1, .takesIn(request: 1))
    story.wait(.seconds(4))
    if !isBefore { story.event(1, .submits([2])) }
    story.send([2], by: 1)
    story.report(.deferred(story.id(1), counted: false), by: 1)
    story.event(1, .endsRun(status: 75, leftDue: 0, waits: false))
    #expect(story.broken.contains(.retryAfter) == !isBefore)
}

@Test(arguments: [true, false])
func `nothing from nowhere: a power cut may undo the failure of an operation before its replacement`(isCut: Bool) {
    var story = Story(.plain)
    story.accept(1)
    story.beginRun(1)
    story.send([1], by: 1, status: 422)
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    if isCut { story.event(0, .cutPower) }
    story.replace(1, by: 2)
    story.event(0, .names(2, story.name(1)))
    story.event(102, .answers(2, .accepted(story.name(1))))
    story.event(102, .ends(status: 0))
    story.send([2], by: 2)
    #expect(story.broken.contains(.nothingFromNowhere) == !isCut)
}

@Test(arguments: [true, false])
func `atomic: a document with a newer value of a member does not say whether the older one was there`(isCarried: Bool) {
    var story = Story(.coalescing(.merge))
    story.offer(1, way: .atomic(batch: 7), member: "m")
    story.offer(2, key: "z", way: .atomic(batch: 7))
    for label in 1...2 { story.event(100 + label, .answers(label, .full)) }
    story.offer(3, way: .send, member: "m")
    story.send(isCarried ? [1, 3] : [3], by: 103, text: story.payload(3, "m"))
    story.event(103, .answers(3, .delivered))
    // Clocks that differ leave the time of creation of a `send` unknown.
    story.history.hosts[ProcessID(9)] = 1
    story.event(0, .clockStepped(host: 1, by: .seconds(5)))
    #expect(story.broken.contains(.atomic) == isCarried)
}

@Test(arguments: [Offer.Way.send, .sendUnqueued], [true, false])
func `liveness: a value that a send keeps is there once the send has answered`(way: Offer.Way, isAnswered: Bool) {
    var (creates, updates) = (Setup.Kind.plain, Setup.Kind(TypeName("update")!, host: "one"))
    (creates.keeps, updates.needsKept) = (true, true)
    var story = Story(creates, updates)
    story.accept(1, type: updates.type)
    story.offer(2, way: way)
    story.send([2], by: 102)
    if isAnswered { story.event(102, .answers(2, .delivered)) }
    story.event(0, .cutPower)
    story.history.endsCalmly = true
    story.leave(1, in: "new")
    #expect(story.broken.contains(.liveness) == isAnswered)
}

@Test(arguments: [Command.Verb.holdDestination, .pause])
func `holds: an operator may hold a destination while the probe of a run's hold is in flight`(verb: Command.Verb) {
    var story = Story(.plain)
    story.accept(1)
    story.beginRun(5)
    story.send([1], by: 5, status: 401)
    story.report(.putBack(story.id(1)), by: 5)
    story.report(.destinationHeld("http://one"), by: 5)
    story.event(5, .endsRun(status: 69, leftDue: 0, waits: false))
    story.wait(.seconds(3600))
    story.beginRun(6)
    let probe = story.receive([1], by: 6)
    var command = Command(verb)
    command.host = "one"
    story.event(90, .commands(command))
    story.event(90, .done)
    story.reply(probe, [1], to: 6)
    story.event(6, .endsRun(status: 0, leftDue: 0, waits: false))
    #expect(story.broken.contains(.holds) == (verb == .pause))
}

@Test(arguments: [Command.Verb.release, .hold])
func `nothing from nowhere: a run may send what a release finds in flight`(verb: Command.Verb) {
    var story = Story(.plain)
    story.accept(1)
    story.command(.hold, [1])
    story.event(91, .commands(Command(verb)))
    story.event(91, .leftAlone(story.id(1)))
    story.event(91, .done)
    story.send([1], by: 1)
    #expect(story.broken.contains(.nothingFromNowhere) == (verb == .hold))
}

@Test(arguments: [true, false])
func `order: an import that failed may have replaced an older operation`(isThere: Bool) {
    var story = Story(.ordered(.key))
    for label in 1...2 { story.accept(label) }
    story.replace(1, by: 3)
    story.event(103, .ends(status: 74))
    story.send([2], by: 1)
    if isThere { story.leave(1, in: "new") }
    #expect(story.broken.contains(.order) == isThere)
}
