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
    story.event(1, .begins("run"))
    story.event(1, .runs(RunChoice()))
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
    story.event(1, .begins("run"))
    story.event(1, .runs(RunChoice()))
    story.send([1], by: 1, status: 401)
    if isLost {
        let request = story.receive([1], by: 1)
        story.event(0, .replies(request: request, Reply(kind: .lost, applied: [])))
        story.event(1, .loses(request: request))
    }
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    #expect(story.broken.contains(.credentials) == !isLost)
}
