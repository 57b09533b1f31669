import Policy
import Simulation
import Testing

/// Gaps of sentences that read histories have shown. Each story has a twin that breaks the sentence.

@Test(arguments: [true, false])
func `dead letter holds: what expires after a power cut has taken its failure holds nothing`(isCut: Bool) {
    var kind = Setup.Kind.ordered(.key)
    kind.holdsBehindFailed = true
    var story = Story(kind)
    story.accept(1)
    story.accept(2)
    story.send([1], by: 1, status: 400)
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    if isCut { story.event(0, .cutPower) }
    story.report(.failed(story.id(1), isExpired: true), by: 2)
    story.send([2], by: 2)
    #expect(story.broken.contains(.deadLetterHolds) == !isCut)
}

@Test(arguments: [true, false])
func `nothing from nowhere: between a link and an unlink a damaged file has two names`(isSame: Bool) {
    var story = Story(.plain)
    story.accept(1, durable: false)
    story.event(0, .cutPower)
    for (path, text) in [("claimed/run/admitting-1", "{\"drinq\""), ("quarantine/1", isSame ? "{\"drinq\"" : "{")] {
        story.history.left.append(LeftFile(path: path, bytes: Array(text.utf8)))
    }
    #expect(story.broken.contains(.nothingFromNowhere) == !isSame)
}

@Test(arguments: [true, false])
func `storms: a failure beside a delivery out of the same batch is the operation's own`(isMember: Bool) {
    var kind = Setup.Kind.plain
    kind.batch = 2
    var story = Story(kind)
    for label in 1...8 { story.accept(label) }
    story.beginRun(1)
    story.event(1, .receives(Request(number: 100, host: "one", bodies: [[isMember ? 1 : 8], [2]], text: "")))
    story.reply(100, [isMember ? 1 : 8, 2], status: 422, to: 1)
    story.send([1], by: 1)
    for label in 2...7 {
        story.send([label], by: 1, status: 422)
        story.report(.failed(story.id(label), isExpired: false), by: 1)
    }
    #expect(story.broken.contains(.storms) == !isMember)
}

@Test(arguments: ["k", "z"])
func `eviction: a key to which the batch adds stays`(key: String) {
    var story = Story(.coalescing(.merge))
    (story.history.setup.operations, story.history.setup.dropsOldest) = (2, true)
    story.accept(1)
    story.event(0, .names(1, story.name(1)))
    story.event(101, .ends(status: 0))
    story.event(110, .begins("add"))
    let batch = [(2, key), (3, "x"), (4, "y")]
    for (label, key) in batch {
        var offer = Offer(
            label: label, way: .add, type: story.history.setup.kinds[0].type, payload: story.payload(label))
        offer.key = key
        story.event(110, .offers(offer))
    }
    for (label, _) in batch {
        story.event(0, .names(label, story.name(label)))
        story.event(110, .answers(label, .accepted(story.name(label))))
    }
    story.report(.evicted(story.id(3)), by: 110)
    for label in [1, 2, 4] { story.leave(label, in: "new") }
    #expect(story.broken.contains(.eviction) == (key != "k"))
}

@Test(arguments: [true, false])
func `credentials: an operation whose last answer was lost does not fail by its refusal`(isLost: Bool) {
    var story = Story(.plain)
    story.accept(1)
    story.beginRun(1)
    story.send([1], by: 1, status: 401)
    if isLost {
        let request = story.receive([1], by: 1)
        story.event(0, .replies(request: request, Reply(kind: .lost, applied: [])))
        story.event(1, .loses(request: request))
    }
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    #expect(story.broken.contains(.credentials) == !isLost)
}

@Test(arguments: [true, false])
func `order: a run tells of a withheld refusal once it takes in the next answer`(isTakenIn: Bool) {
    var story = Story(.ordered(.key))
    for label in 1...2 {
        story.accept(label)
        story.event(0, .names(label, story.name(label)))
    }
    story.event(1, .begins("run"))
    story.send([1], by: 1, status: 422)
    let request = story.receive([2], by: 1)
    story.event(0, .replies(request: request, Reply(kind: .status(200), applied: [2])))
    story.event(1, .learns(request: request))
    if isTakenIn { story.event(1, .takesIn(request: request)) }
    story.wait(.seconds(60))
    story.event(0, .cutPower)
    story.leave(1, in: "failed")
    #expect(story.broken.contains(.order) == isTakenIn)
}

@Test(arguments: [Offer.Way.send, .add])
func `attempts: a run adds an attempt to what send has used up, also to another content`(way: Offer.Way) {
    var story = Story(.plain)
    story.offer(1, way: way)
    func used(_ label: Label) -> EntryName {
        var name = story.name(1)
        name.attempts = story.history.setup.kinds[0].delays.count + 1
        return name
    }
    story.event(0, .names(1, used(1)))
    story.event(101, .answers(1, way == .send ? .queued(isHeld: false) : .accepted(used(1))))
    story.replace(1, by: 2)
    story.event(0, .names(2, used(1)))
    story.event(102, .answers(2, .accepted(used(1))))
    story.send([2], by: 1, attempt: used(1).attempts + 1)
    #expect(story.broken.contains(.attempts) == (way != .send))
}

@Test(arguments: [true, false], [true, false])
func `dead letter holds: what a power cut brings back holds nothing until it fails again`(isCut: Bool, failsAgain: Bool)
{
    var kind = Setup.Kind.ordered(.key)
    (kind.coalescing, kind.holdsBehindFailed) = (.merge, true)
    var story = Story(kind)
    story.accept(1)
    story.accept(2)
    story.send([1], by: 1, status: 422)
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    if isCut { story.event(0, .cutPower) }
    story.report(.recovered([story.id(1)]), by: 2)
    if failsAgain { story.report(.failed(story.id(1), isExpired: false), by: 2) }
    story.send([1, 2], by: 2, status: 422)
    #expect(story.broken.contains(.deadLetterHolds) == (!isCut || failsAgain))
}

@Test(arguments: [true, false])
func `eviction: a delivered value makes its key no newer`(isDelivered: Bool) {
    var story = Story(.coalescing(.replace))
    (story.history.setup.operations, story.history.setup.dropsOldest) = (2, true)
    // By a clock that was ahead, the first value of the key has the latest time of creation.
    let keys = [(9, "k"), (2, "k"), (3, "x"), (4, "y")]
    for (label, key) in keys {
        story.accept(label, key: key)
        story.event(0, .names(label, story.name(label)))
        story.event(100 + label, .ends(status: 0))
        if label == 9, isDelivered { story.send([9], by: 1) }
    }
    if !isDelivered { story.leave(9, in: "new") }
    story.accept(5, key: "z")
    story.event(0, .names(5, story.name(5)))
    story.report(.evicted(story.id(2)), by: 105)
    for label in 3...5 { story.leave(label, in: "new") }
    #expect(story.broken.contains(.eviction) == !isDelivered)
}

@Test(arguments: [true, false])
func `staying: a stopped process may keep a lock until it is woken`(isStopped: Bool) {
    var story = Story(.plain)
    story.accept(1, key: nil)
    story.event(0, .names(1, story.name(1)))
    var choice = RunChoice()
    choice.stays = true
    story.event(1, .begins("run --wait 5m"))
    story.event(1, .runs(choice))
    if isStopped { story.event(7, .stopped) }
    story.wait(.seconds(60))
    if isStopped { story.event(7, .woken) }
    story.send([1], by: 1)
    story.event(1, .endsRun(status: 0, leftDue: 0, waits: false))
    #expect(story.broken.contains(.staying) == !isStopped)
}

@Test(arguments: ["cannot lock 'state/lock': busy", "cannot read 'new'"])
func `troubles: a run that cannot lock the ledger says so`(words: String) {
    var story = Story(.plain)
    story.accept(1)
    story.beginRun(1)
    story.wait(.seconds(10))
    story.send([1], by: 1)
    story.report(.delivered(story.id(1)), by: 1)
    story.report(.error(words), by: 1)
    story.event(1, .endsRun(status: 74, leftDue: 0, waits: false))
    var look = Look([.well])
    look.destinations["one"] = Look.Destination(.missed, since: story.history.began, waiting: 0)
    story.event(0, .looks(look))
    #expect(story.broken.contains(.troubles) == !words.contains("state/lock"))
}

@Test(arguments: [true, false])
func `newest first: a run that withholds a refusal samples another operation`(isTold: Bool) {
    var story = Story(.ordered(.newest))
    for label in 1...3 {
        story.accept(label, key: nil)
        story.event(0, .names(label, story.name(label)))
    }
    story.beginRun(1)
    for label in [3, 1] {
        story.event(1, .submits([label]))
        story.send([label], by: 1, status: label == 3 ? 401 : 200)
        story.event(1, .takesIn(request: label == 3 ? 1 : 2))
        if label == 3, isTold { story.report(.parked(story.id(3)), by: 1) }
    }
    #expect(story.broken.contains(.newestFirst) == isTold)
}

@Test(arguments: [true, false])
func `expiry: a retry as the newest renews only what has failed by then`(hasFailed: Bool) {
    var kind = Setup.Kind.plain
    kind.expiresAfter = .seconds(60)
    var story = Story(kind)
    var offer = Offer(label: 1, way: .add, type: kind.type, payload: story.payload(1))
    offer.expiresAt = story.history.began + .seconds(1000)
    story.event(101, .begins("add"))
    story.event(101, .offers(offer))
    story.event(101, .answers(1, .accepted(story.name(1))))
    if hasFailed { story.report(.failed(story.id(1), isExpired: false), by: 1) }
    var command = Command(.retry)
    command.insists = true
    story.event(90, .begins("an operator: retry"))
    story.event(90, .commands(command))
    story.event(90, .killed)
    story.wait(.seconds(100))
    story.report(.failed(story.id(1), isExpired: true), by: 2)
    #expect(story.broken.contains(.expiry) == hasFailed)
}

@Test(arguments: [true, false])
func `expired: no run opens a damaged file that waits for a kept value`(isDamaged: Bool) {
    var kind = Setup.Kind.plain
    kind.needsKept = true
    var story = Story(kind)
    var offer = Offer(label: 1, way: .add, type: kind.type, payload: story.payload(1))
    (offer.key, offer.expiresAt) = ("k", story.history.began + .seconds(60))
    story.event(101, .begins("add"))
    story.event(101, .offers(offer))
    story.event(101, .answers(1, .accepted(story.name(1))))
    if isDamaged { story.event(0, .damaged(1)) }
    story.event(0, .calm)
    story.wait(.seconds(4000))
    story.history.endsCalmly = true
    story.leave(1, in: "new")
    #expect(story.broken.contains(.expired) == !isDamaged)
}

@Test(arguments: [true, false])
func `liveness: a replacement has the hold of the replaced content`(isHeld: Bool) {
    var story = Story(.plain)
    story.accept(1)
    var name = story.name(1)
    name.isHeld = isHeld
    story.replace(1, by: 2)
    story.event(102, .answers(2, .accepted(name)))
    story.event(0, .calm)
    story.wait(.seconds(4000))
    story.history.endsCalmly = true
    story.leave(2, in: "new", name: name)
    #expect(story.broken.contains(.liveness) == !isHeld)
}

@Test(arguments: [422, 503])
func `liveness: a hold stays while each probe of the calm end meets a permanent status`(status: Int) {
    var story = Story(.plain)
    story.accept(1)
    story.event(1, .begins("run"))
    story.report(.destinationHeld("http://one"), by: 1)
    story.send([1], by: 1, status: nil)
    story.event(0, .calm)
    story.event(2, .begins("run"))
    story.send([1], by: 2, status: status)
    story.history.endsCalmly = true
    story.leave(1, in: "deferred")
    #expect(story.broken.contains(.liveness) == (status == 503))
}

@Test(arguments: [true, false])
func `liveness: a flipped bit may make the payload of one operation that of another`(isDamaged: Bool) {
    var story = Story(.plain)
    for label in 1...2 { story.accept(label) }
    story.send([2], by: 1)
    if isDamaged { story.event(0, .damaged(1)) }
    story.event(0, .names(2, story.name(1)))
    story.history.endsCalmly = true
    story.leave(2, in: "quarantine", name: story.name(1))
    #expect(story.broken.contains(.liveness) == !isDamaged)
}

@Test(arguments: [true, false])
func `retry after: a stopped process takes an answer in when it wakes`(isStopped: Bool) {
    var story = Story(.plain)
    for label in 1...2 { story.accept(label, key: nil) }
    story.event(1, .begins("run"))
    story.send([1], by: 1, status: 429, retryAfter: 600)
    if !isStopped { story.event(1, .takesIn(request: 1)) }
    story.wait(.seconds(60))
    story.send([2], by: 2)
    if isStopped { story.event(1, .takesIn(request: 1)) }
    story.report(.deferred(story.id(1), counted: false), by: 1)
    story.event(1, .endsRun(status: 75, leftDue: 0, waits: false))
    #expect(story.broken.contains(.retryAfter) == !isStopped)
}

@Test(arguments: [true, false])
func `eviction: a key to which the run adds an older value stays`(adds: Bool) {
    var story = Story(.coalescing(.replace))
    (story.history.setup.operations, story.history.setup.dropsOldest) = (2, true)
    story.accept(3, key: "k")
    story.event(0, .names(3, story.name(3)))
    story.event(103, .ends(status: 0))
    for (label, key) in [(1, adds ? "k" : "z"), (4, "x"), (5, "y")] {
        story.offer(label, key: key, way: .foreign)
        story.event(100 + label, .answers(label, .placed))
        story.event(100 + label, .ends(status: 0))
    }
    story.beginRun(1)
    for label in [1, 4, 5] { story.event(0, .names(label, story.name(label))) }
    story.report(.evicted(story.id(4)), by: 1)
    for label in [1, 3, 5] { story.leave(label, in: "new") }
    #expect(story.broken.contains(.eviction) == !adds)
}

@Test(arguments: [true, false])
func `atomic: a process may die before it says that an id is in the queue already`(isThere: Bool) {
    var story = Story(.plain)
    if isThere {
        story.accept(1)
        story.leave(1, in: "failed")
    }
    story.event(110, .begins("add --atomic"))
    for label in [2, 3] {
        var offer = Offer(
            label: label, way: .atomic(batch: 1), type: story.history.setup.kinds[0].type,
            payload: story.payload(label))
        if label == 2 { offer.id = story.id(1) }
        story.event(110, .offers(offer))
    }
    story.event(0, .names(3, story.name(3)))
    story.event(110, .killed)
    story.leave(3, in: "new")
    #expect(story.broken.contains(.atomic) == !isThere)
}

@Test(arguments: [true, false])
func `kept: a quiet eviction may come before the answer of send`(isQuiet: Bool) {
    var story = Story(.plain)
    (story.history.setup.operations, story.history.setup.dropsOldest) = (1, true)
    story.offer(1, key: nil, way: .send)
    story.event(0, .names(1, story.name(1)))
    var offer = Offer(label: 2, way: .writer, type: story.history.setup.kinds[0].type, payload: story.payload(2))
    offer.isQuiet = isQuiet
    story.event(102, .offers(offer))
    story.event(102, .answers(2, .accepted(story.name(2))))
    story.event(101, .answers(1, .queued(isHeld: false)))
    story.leave(2, in: "new")
    #expect(story.broken.contains(.kept) == !isQuiet)
}

@Test(arguments: [true, false])
func `newest value wins: a file that comes back from quarantine without a name was never in the order`(
    wasNamed: Bool
) {
    var story = Story(.coalescing(.replace))
    story.accept(2)
    story.offer(1, way: .foreign)
    story.event(101, .answers(1, .placed))
    if wasNamed { story.event(0, .names(1, story.name(1))) }
    story.event(1, .begins("run"))
    story.event(1, .lists)
    story.send([2], by: 1)
    story.event(90, .commands(Command(.retry)))
    story.event(0, .names(1, story.name(1)))
    story.event(90, .changedFile(1))
    story.event(90, .done)
    story.send([1], by: 2)
    #expect(story.broken.contains(.newestValueWins) == wasNamed)
}

@Test(arguments: [true, false])
func `eviction: a command that found nothing does not show that an older operation waited`(isKilled: Bool) {
    var story = Story(.plain)
    (story.history.setup.operations, story.history.setup.dropsOldest) = (2, true)
    for label in 1...2 {
        story.accept(label)
        story.event(0, .names(label, story.name(label)))
        story.event(100 + label, .ends(status: 0))
    }
    story.accept(3)
    story.report(.evicted(story.id(2)), by: 103)
    story.event(103, .ends(status: 0))
    story.event(90, .commands(Command(.release)))
    story.event(90, isKilled ? .killed : .changedFile(1))
    story.leave(3, in: "new")
    #expect(story.broken.contains(.eviction) == !isKilled)
}

@Test(arguments: [true, false])
func `run status: another content takes over the attempts of the content that it replaces`(replaces: Bool) {
    var story = Story(.plain)
    story.accept(1)
    story.beginRun(1)
    story.send([1], by: 1, status: 401)
    story.report(.parked(story.id(1)), by: 1)
    story.event(1, .endsRun(status: 75, leftDue: 0, waits: false))
    if replaces {
        story.replace(1, by: 2)
        story.event(0, .names(2, story.name(1)))
        story.event(102, .answers(2, .accepted(story.name(1))))
    } else {
        story.accept(2)
    }
    story.event(102, .ends(status: 0))
    story.beginRun(2)
    story.event(2, .endsRun(status: 0, leftDue: 0, waits: false))
    story.send([2], by: 3)
    #expect(story.broken.contains(.runStatus) == !replaces)
}

@Test(arguments: [true, false])
func `holds: a run that is stopped has not told others yet what it has parked`(isStopped: Bool) {
    var story = Story(.plain)
    story.accept(1)
    story.beginRun(1)
    story.send([1], by: 1, status: 401)
    story.report(.parked(story.id(1)), by: 1)
    if isStopped { story.event(1, .stopped) }
    story.wait(.seconds(30))
    story.beginRun(2)
    story.send([1], by: 2, status: 401)
    #expect(story.broken.contains(.holds) == !isStopped)
}

@Test(arguments: [true, false])
func `eviction: a key is as new as its operation that an operator sent again as the newest`(insists: Bool) {
    var story = Story(.coalescing(.merge))
    (story.history.setup.operations, story.history.setup.dropsOldest) = (2, true)
    for label in 1...3 {
        story.accept(label, key: label == 3 ? "z" : "k")
        story.event(0, .names(label, story.name(label)))
        story.event(100 + label, .ends(status: 0))
    }
    story.beginRun(5)
    story.send([2], by: 5, status: 422)
    story.report(.failed(story.id(2), isExpired: false), by: 5)
    story.event(5, .endsRun(status: 1, leftDue: 0, waits: false))
    story.command(.retry, [2], insists: insists)
    story.accept(4, key: "y")
    story.report(.evicted(story.id(3)), by: 104)
    story.event(104, .ends(status: 0))
    for label in [1, 2, 4] { story.leave(label, in: "new") }
    #expect(story.broken.contains(.eviction) == !insists)
}

@Test(arguments: [true, false])
func `holds: an operator may release a destination before a run writes that its probe was delivered`(
    isReleased: Bool
) {
    var story = Story(.plain)
    story.accept(1)
    story.beginRun(5)
    story.send([1], by: 5, status: 401)
    story.report(.putBack(story.id(1)), by: 5)
    story.report(.destinationHeld("http://one"), by: 5)
    story.event(5, .endsRun(status: 69, leftDue: 0, waits: false))
    story.wait(.seconds(3600))
    story.beginRun(6)
    story.send([1], by: 6)
    if isReleased {
        story.event(90, .commands(Command(.releaseDestination)))
        story.event(90, .done)
    }
    story.event(6, .endsRun(status: 0, leftDue: 0, waits: false))
    #expect(story.broken.contains(.holds) == !isReleased)
}
