import Policy
import Simulation
import Testing

@Test func `a history with all operations delivered breaks nothing`() {
    var story = Story(.plain)
    story.accept(1)
    story.send([1], by: 1)
    #expect(story.broken.isEmpty)
}

@Test func `kept: an accepted operation without a place is lost`() {
    var story = Story(.plain)
    story.accept(1)
    #expect(story.broken == [.kept])
    #expect(story.then { $0.leave(1, in: "new") }.broken.isEmpty)
    #expect(story.then { $0.leave(1, in: "deferred") }.broken.isEmpty)
    #expect(story.then { $0.command(.drop, [1]) }.broken.isEmpty)
    #expect(story.then { $0.send([1], by: 1, status: 503) }.broken == [.kept])
}

@Test func `kept: an operation in two places is doubled`() {
    var story = Story(.plain)
    story.accept(1)
    story.leave(1, in: "new")
    story.leave(1, in: "deferred")
    #expect(story.broken == [.kept])
}

@Test func `kept: only an unsynced operation may vanish with the power`() {
    var story = Story(.plain)
    story.accept(1, durable: false)
    #expect(story.broken == [.kept])
    #expect(story.then { $0.event(0, .cutPower) }.broken.isEmpty)
    var durable = Story(.plain)
    durable.accept(1)
    durable.event(0, .cutPower)
    #expect(durable.broken == [.kept])
}

@Test func `kept: only a valid newer value excuses an older value`() {
    var story = Story(.coalescing(.replace))
    story.accept(1)
    story.accept(2)
    let told = story.then { $0.report(.superseded($0.id(1), by: $0.id(2)), by: 1) }
    #expect(told.then { $0.leave(2, in: "new") }.broken.isEmpty)
    #expect(told.then { $0.send([2], by: 1) }.broken.isEmpty)
    #expect(story.then { $0.leave(2, in: "quarantine") }.broken == [.kept])
    #expect(story.then { $0.leave(1, in: "new") }.broken == [.kept])
}

@Test func `kept: an operation in flight at the death of send is in the queue`() {
    var story = Story(.plain)
    story.offer(1, way: .send)
    _ = story.receive([1], by: 101)
    let killed = story.then { $0.event(101, .killed) }
    #expect(killed.broken == [.kept])
    #expect(killed.then { $0.leave(1, in: "claimed/x") }.broken.isEmpty)
    #expect(killed.then { $0.send([1], by: 1) }.broken.isEmpty)
    // A power cut may take an operation that no answer has promised.
    #expect(story.then { $0.event(0, .cutPower) }.broken.isEmpty)
    let queued = story.then { $0.event(101, .answers(1, .queued(isHeld: false))) }
    #expect(queued.then { $0.event(0, .cutPower) }.broken == [.kept])
}

@Test func `kept: a value whose send was refused excuses no older value`() {
    var story = Story(.coalescing(.replace))
    story.accept(1)
    story.offer(2, way: .send)
    #expect(story.then { $0.event(102, .answers(2, .failed)) }.broken == [.kept])
    story.leave(1, in: "new")
    #expect(story.then { $0.event(102, .answers(2, .failed)) }.broken.isEmpty)
}

@Test func `kept: a merged document excuses only the parts with changes in the document`() {
    var story = Story(.coalescing(.merge))
    story.accept(1)
    story.accept(2)
    #expect(story.then { $0.send([1, 2], by: 1, text: #"{"m1":1,"m2":2}"#) }.broken.isEmpty)
    #expect(story.then { $0.send([2], by: 1) }.broken == [.kept, .order])
}

@Test func `nothing from nowhere: refused, dropped, held and failed operations stay`() {
    var story = Story(.plain)
    story.offer(1)
    let refused = story.then { $0.event(101, .answers(1, .refused)) }
    #expect(refused.broken.isEmpty)
    #expect(refused.then { $0.send([1], by: 1) }.broken == [.nothingFromNowhere])
    story.event(101, .answers(1, .accepted(story.name(1))))
    #expect(
        story.then {
            $0.command(.drop, [1]); $0.send([1], by: 1)
        }.broken == [.nothingFromNowhere])
    let held = story.then { $0.command(.hold, [1]) }
    #expect(held.then { $0.send([1], by: 1) }.broken == [.nothingFromNowhere])
    #expect(
        held.then {
            $0.command(.release, [1]); $0.send([1], by: 1)
        }.broken.isEmpty)
    let failed = story.then { $0.report(.failed($0.id(1), isExpired: false), by: 1) }
    #expect(failed.then { $0.send([1], by: 1) }.broken == [.nothingFromNowhere])
    #expect(
        failed.then {
            $0.command(.retry, [1]); $0.send([1], by: 1)
        }.broken.isEmpty)
}

@Test func `nothing from nowhere: a pause forbids requests once runs had the time to notice`() {
    var story = Story(.plain)
    story.accept(1)
    story.event(90, .commands(Command(.pause)))
    story.event(90, .done)
    #expect(story.then { $0.send([1], by: 1) }.broken.isEmpty)
    story.event(0, .serverTurns(host: "one", "well"), after: .seconds(9))
    #expect(story.then { $0.send([1], by: 1) }.broken == [.nothingFromNowhere])
    story.event(91, .commands(Command(.resume)))
    #expect(story.then { $0.send([1], by: 1) }.broken.isEmpty)
}

@Test func `byte for byte: a payload is not written anew`() {
    var story = Story(.plain)
    story.accept(1)
    #expect(story.then { $0.send([1], by: 1, text: #"{"m1": 1}"#) }.broken == [.byteForByte])
}

@Test func `byte for byte: a merged document ends with the newest part`() {
    var story = Story(.coalescing(.merge))
    story.accept(1, member: "m")
    story.accept(2, member: "m")
    #expect(story.then { $0.send([2], by: 1, text: #"{"m":2}"#) }.broken.isEmpty)
    #expect(story.then { $0.send([1, 2], by: 1, text: #"{"m":1}"#) }.broken.contains(.byteForByte))
}

@Test func `repeats: an operation takes effect twice only with a cause`() {
    var story = Story(.plain)
    story.accept(1)
    let delivered = story.then { $0.send([1], by: 1) }
    #expect(delivered.then { $0.send([1], by: 2) }.broken == [.repeats])
    #expect(
        delivered.then {
            $0.event(1, .killed); $0.send([1], by: 2)
        }.broken.isEmpty)
    let late = delivered.then { $0.event(1, .killed, after: .seconds(9)) }
    #expect(late.then { $0.send([1], by: 2) }.broken == [.repeats])
    #expect(
        story.then {
            $0.send([1], by: 1, status: nil, applies: true); $0.send([1], by: 1)
        }.broken.isEmpty)
    #expect(
        story.then {
            $0.send([1], by: 1, status: 500, applies: true); $0.send([1], by: 1)
        }.broken.isEmpty)
    #expect(
        delivered.then {
            $0.command(.retry, [1]); $0.send([1], by: 1)
        }.broken.isEmpty)
}

@Test func `one idempotency key: all attempts of an operation have the same key`() {
    var story = Story(.plain)
    story.accept(1)
    story.send([1], by: 1, status: 503)
    story.send([1], by: 1)
    #expect(story.broken.isEmpty)
    guard case .receives(var request) = story.history.events[3].what else { return #expect(Bool(false)) }
    request.idempotencyKey = "another"
    story.history.events[3].what = .receives(request)
    #expect(story.broken == [.oneKey])
}

@Test func `order: a newer operation waits for an older operation of its key`() {
    var story = Story(.ordered(.key))
    story.accept(1)
    story.accept(2)
    let deferred = story.then { $0.send([1], by: 1, status: 503) }
    #expect(
        deferred.then {
            $0.send([2], by: 1); $0.send([1], by: 1)
        }.broken == [.order])
    #expect(
        deferred.then {
            $0.send([1], by: 1); $0.send([2], by: 1)
        }.broken.isEmpty)
    let failed = story.then {
        $0.send([1], by: 1, status: 422); $0.report(.failed($0.id(1), isExpired: false), by: 1)
    }
    #expect(
        failed.then {
            $0.send([2], by: 1); $0.leave(1, in: "failed")
        }.broken.isEmpty)
}

@Test func `order: an older operation added after the listing may be sent later`() {
    var story = Story(.ordered(.strict))
    story.accept(2)
    story.event(1, .begins("run"))
    let listed = story.then { $0.event(1, .lists) }
    #expect(
        listed.then {
            $0.accept(1); $0.send([2], by: 1); $0.send([1], by: 1)
        }.broken.isEmpty)
    let before = story.then {
        $0.accept(1); $0.event(1, .lists)
    }
    #expect(
        before.then {
            $0.send([2], by: 1); $0.send([1], by: 1)
        }.broken == [.order])
}

@Test func `order: keys do not wait for each other, but strict destinations do`() {
    for (order, broken) in [(Setup.Kind.Order.key, Set<Property>()), (.strict, [.order])] {
        var story = Story(.ordered(order))
        story.accept(1, key: "a")
        story.accept(2, key: "b")
        story.send([2], by: 1)
        story.send([1], by: 1)
        #expect(story.broken == broken)
    }
}

@Test func `dead letter holds: a dead letter holds the operations behind it until a retry or drop`() {
    var kind = Setup.Kind.ordered(.key)
    kind.holdsBehindFailed = true
    var story = Story(kind)
    story.accept(1)
    story.accept(2)
    story.send([1], by: 1, status: 400)
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    let kept = story.then { $0.leave(1, in: "failed") }
    #expect(kept.then { $0.send([2], by: 1) }.broken == [.deadLetterHolds])
    #expect(
        story.then {
            $0.command(.drop, [1]); $0.send([2], by: 1)
        }.broken.isEmpty)
}

@Test func `newest value wins: an older value never follows a newer value`() {
    var story = Story(.coalescing(.replace))
    story.accept(1)
    story.accept(2)
    story.send([2], by: 1)
    #expect(story.then { $0.send([1], by: 1) }.broken == [.newestValueWins])
    #expect(
        story.then {
            $0.command(.retry, [1], insists: true); $0.send([1], by: 1)
        }.broken.isEmpty)
    var later = Story(.coalescing(.replace))
    later.accept(2)
    later.send([2], by: 1)
    later.accept(1)
    later.send([1], by: 1)
    #expect(later.broken.isEmpty)
}

@Test func `newest value wins: the parts of a refused document go alone`() {
    var story = Story(.coalescing(.merge))
    story.accept(1)
    story.accept(2)
    let document = #"{"m1":1,"m2":2}"#
    story.send([1, 2], by: 1, status: nil, applies: true, text: document)
    let alone = { (story: inout Story) in
        story.send([1], by: 1); story.send([2], by: 1)
    }
    #expect(story.then(alone).broken == [.newestValueWins])
    #expect(
        story.then {
            $0.send([1, 2], by: 1, status: 400, text: document); alone(&$0)
        }.broken.isEmpty)
}

@Test func `one in flight: a sequence has at most one request in flight`() {
    for (kind, broken) in [(Setup.Kind.ordered(.key), Set([Property.oneInFlight, .order])), (.plain, [])] {
        var story = Story(kind)
        story.accept(1)
        story.accept(2)
        let (first, second) = (story.receive([1], by: 1), story.receive([2], by: 1))
        story.reply(first, [1], to: 1)
        story.reply(second, [2], to: 1)
        #expect(story.broken == broken)
    }
}

@Test func `one claim: two processes never send the same operation at once`() {
    var story = Story(.plain)
    story.accept(1)
    let first = story.receive([1], by: 1)
    let dead = story.then {
        $0.event(1, .killed); $0.send([1], by: 2)
    }
    #expect(dead.broken.isEmpty)
    story.send([1], by: 2, status: 503)
    story.reply(first, [1], to: 1)
    #expect(story.broken == [.oneClaim])
}

@Test func `superseded: only by a newer value of the same key`() {
    for (key, broken) in [("k", Set<Property>()), ("other", [.superseded, .kept])] {
        var story = Story(.coalescing(.replace))
        story.accept(1)
        story.accept(2, key: key)
        story.report(.superseded(story.id(1), by: story.id(2)), by: 1)
        story.send([2], by: 1)
        #expect(story.broken == broken)
    }
}

@Test func `atomic: a batch enters as a whole`() {
    var story = Story(.plain)
    story.offer(1, way: .atomic(batch: 7))
    story.offer(2, way: .atomic(batch: 7))
    story.event(101, .killed)
    #expect(story.broken.isEmpty)
    #expect(story.then { $0.send([1], by: 1) }.broken == [.atomic])
    #expect(
        story.then {
            $0.send([1], by: 1); $0.leave(2, in: "new")
        }.broken.isEmpty)
}

@Test func `liveness: nothing waits for ever, since the calm end releases everything`() {
    var story = Story(.plain)
    story.accept(1)
    story.history.endsCalmly = true
    #expect(story.then { $0.leave(1, in: "new") }.broken == [.liveness])
    var held = story.name(1)
    held.isHeld = true
    #expect(story.then { $0.leave(1, in: "new", name: held) }.broken == [.liveness])
}

@Test func `locks: a rename without its lock breaks the manual's list`() {
    var story = Story(.plain)
    story.accept(1)
    story.send([1], by: 1)
    #expect(story.broken.isEmpty)
    story.event(2, .movesUnlocked(from: "failed/a", to: "new/a", lacks: "state/names.lock"))
    #expect(story.broken == [.locks])
}

@Test func `kept: a damaged newer value excuses an older value only if the run had begun before the damage`() {
    var story = Story(.coalescing(.replace))
    story.accept(1)
    story.accept(2)
    let early = story.then {
        $0.event(1, .begins("run"))
        $0.event(0, .damaged(2))
    }
    let late = story.then {
        $0.event(0, .damaged(2))
        $0.event(1, .begins("run"))
    }
    func broken(_ story: Story) -> Set<Property> {
        story.then { $0.report(.superseded($0.id(1), by: $0.id(2)), by: 1) }.broken
    }
    #expect(broken(early).isEmpty)
    #expect(broken(late) == [.kept])
}

@Test func `kept: a run evicts only for a newer file`() {
    var story = Story(.plain)
    (story.history.setup.operations, story.history.setup.dropsOldest) = (2, true)
    story.offer(1, way: .foreign)
    story.accept(2)
    story.event(1, .begins("run"))
    story.event(0, .names(1, story.name(1)))
    story.leave(1, in: "new")
    story.report(.evicted(story.id(2)), by: 1)
    #expect(story.broken == [.kept])
    #expect(
        story.then {
            $0.offer(3, way: .foreign)
            $0.event(0, .names(3, $0.name(3)))
            $0.leave(3, in: "new")
            $0.report(.evicted($0.id(2)), by: 1)
        }.broken.isEmpty)
}

@Test func `liveness: power cuts put no accepted operation into quarantine, deaths of runs do`() {
    var story = Story(.plain)
    story.accept(1)
    for _ in 0..<5 { story.event(0, .cutPower) }
    story.history.endsCalmly = true
    story.leave(1, in: "quarantine")
    #expect(story.broken == [.liveness])
    #expect(
        story.then {
            for process in 10..<15 {
                _ = $0.receive([1], by: process)
                $0.event(process, .killed)
            }
        }.broken.isEmpty)
}

@Test(arguments: [true, false])
func `nothing from nowhere: a command that began before a replacement is about the older content`(isBefore: Bool) {
    var story = Story(.plain)
    story.accept(1)
    var drop = Command(.drop)
    drop.ids = [story.id(1)]
    var offer = Offer(label: 2, way: .replacing, type: story.history.setup.kinds[0].type, payload: story.payload(2))
    (offer.key, offer.id, offer.isReplacing) = ("k", story.id(1), true)
    story.event(102, .begins("import --replace"))
    story.event(102, .offers(offer))
    if isBefore { story.event(90, .commands(drop)) }
    story.event(0, .names(2, story.name(1)))
    story.event(102, .answers(2, .accepted(story.name(1))))
    if !isBefore { story.event(90, .commands(drop)) }
    story.event(90, .changed(story.id(1)))
    story.event(90, .done)
    story.send([2], by: 1)
    #expect(story.broken == (isBefore ? [] : [.nothingFromNowhere]))
}

@Test func `concurrency: a destination has no more requests in flight than its limit`() {
    var story = Story(.plain)
    story.history.setup.concurrency = 1
    for label in 1...2 { story.accept(label, key: nil) }
    let first = story.receive([1], by: 1)
    let second = story.then {
        let number = $0.receive([2], by: 2)
        $0.reply(first, [1], to: 1)
        $0.reply(number, [2], to: 2)
    }
    #expect(second.broken == [.concurrency])
    let later = story.then {
        $0.reply(first, [1], to: 1)
        $0.send([2], by: 2)
    }
    #expect(later.broken.isEmpty)
}
