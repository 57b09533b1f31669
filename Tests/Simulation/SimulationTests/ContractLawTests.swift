import Policy
import Simulation
import Testing

@Test func `attempts: a request says the number of attempts counted before`() {
    var story = Story(.plain)
    story.accept(1)
    story.send([1], by: 1, status: 503, attempt: 1)
    story.report(.deferred(story.id(1), counted: true), by: 1)
    story.wait(.seconds(3))
    #expect(story.then { $0.send([1], by: 2, attempt: 2) }.broken.isEmpty)
    #expect(story.then { $0.send([1], by: 2, attempt: 1) }.broken == [.attempts])
    #expect(story.then { $0.send([1], by: 2, attempt: 3) }.broken == [.attempts])
    #expect(
        story.then {
            $0.command(.retry, [1]); $0.send([1], by: 2, attempt: 1)
        }.broken.isEmpty)
}

@Test func `attempts: an attempt with retry-after does not count, a plain failure counts`() {
    for (retryAfter, counted) in [(nil, true), (30, false)] as [(Int?, Bool)] {
        var story = Story(.plain)
        story.accept(1)
        story.leave(1, in: "deferred")
        story.send([1], by: 1, status: 429, attempt: 1, retryAfter: retryAfter)
        #expect(story.then { $0.report(.deferred($0.id(1), counted: counted), by: 1) }.broken.isEmpty)
        #expect(story.then { $0.report(.deferred($0.id(1), counted: !counted), by: 1) }.broken == [.attempts])
    }
}

@Test func `attempts: an operation fails when its schedule is used up, and not before`() {
    var kind = Setup.Kind.plain
    kind.delays = [.seconds(1)]
    var story = Story(kind)
    story.accept(1)
    story.leave(1, in: "failed")
    story.send([1], by: 1, status: 503, attempt: 1)
    #expect(story.then { $0.report(.failed($0.id(1), isExpired: false), by: 1) }.broken == [.attempts])
    story.report(.deferred(story.id(1), counted: true), by: 1)
    story.send([1], by: 1, status: 503, attempt: 2)
    #expect(story.then { $0.report(.failed($0.id(1), isExpired: false), by: 1) }.broken.isEmpty)
    story.report(.deferred(story.id(1), counted: true), by: 1)
    story.wait(.seconds(3))
    #expect(story.then { $0.send([1], by: 1, status: 503, attempt: 3) }.broken.contains(.attempts))
}

@Test func `due times: a deferred operation waits for its delay, unless an operator asks for the operation`() {
    var kind = Setup.Kind.plain
    kind.delays = [.seconds(10), .seconds(10)]
    var story = Story(kind)
    story.accept(1)
    story.send([1], by: 1, status: 503, attempt: 1)
    story.report(.deferred(story.id(1), counted: true), by: 1)
    #expect(story.then { $0.send([1], by: 2, attempt: 2) }.broken == [.dueTimes])
    #expect(
        story.then {
            $0.wait(.seconds(10)); $0.send([1], by: 2, attempt: 2)
        }.broken.isEmpty)
    var now = RunChoice()
    now.isNow = true
    var named = RunChoice()
    named.ids = [story.id(1)]
    for choice in [now, named] {
        #expect(
            story.then {
                $0.event(2, .begins("run")); $0.event(2, .runs(choice)); $0.send([1], by: 2, attempt: 2)
            }.broken.isEmpty)
    }
    #expect(
        story.then {
            $0.command(.retry, [1]); $0.send([1], by: 2, attempt: 1)
        }.broken.isEmpty)
}

@Test func `retry after: a destination gets no request before the end of its retry-after`() {
    var story = Story(.plain)
    story.accept(1)
    story.accept(2)
    story.leave(1, in: "deferred")
    story.event(1, .begins("run"))
    story.send([1], by: 1, status: 429, attempt: 1, retryAfter: 60)
    story.report(.deferred(story.id(1), counted: false), by: 1)
    #expect(story.then { $0.send([2], by: 2) }.broken.isEmpty)
    story.wait(.seconds(20))
    let late = story.then { $0.send([2], by: 2) }
    #expect(late.broken == [.retryAfter])
    var release = Command(.releaseDestination)
    release.host = "one"
    #expect(
        story.then {
            $0.event(90, .commands(release)); $0.event(90, .done); $0.send([2], by: 2)
        }.broken.isEmpty)
    #expect(
        story.then {
            $0.wait(.seconds(40)); $0.send([2], by: 2)
        }.broken.isEmpty)
}

@Test func `holds: a held destination gets no request until a probe is due or an operator releases the destination`() {
    var story = Story(.plain)
    story.accept(1)
    story.accept(2)
    story.leave(1, in: "new")
    story.event(1, .begins("run"))
    story.send([1], by: 1, status: 401)
    story.report(.putBack(story.id(1)), by: 1)
    story.report(.destinationHeld("http://one"), by: 1)
    story.wait(.seconds(20))
    #expect(story.then { $0.send([2], by: 2) }.broken == [.holds])
    #expect(
        story.then {
            $0.event(90, .commands(Command(.releaseDestination))); $0.event(90, .done); $0.send([2], by: 2)
        }.broken.isEmpty)
    #expect(
        story.then {
            $0.wait(.seconds(3600)); $0.send([2], by: 2)
        }.broken.isEmpty)
}

@Test(arguments: [true, false])
func `holds: after a release the answer to an earlier request holds nothing`(isEarlier: Bool) {
    var story = Story(.plain)
    story.accept(1)
    story.leave(1, in: "new")
    story.event(1, .begins("run"))
    let early = isEarlier ? story.receive([1], by: 1) : nil
    story.event(90, .commands(Command(.releaseDestination)))
    story.event(90, .done)
    let number = early ?? story.receive([1], by: 1)
    story.reply(number, [1], status: 401, to: 1)
    story.report(.putBack(story.id(1)), by: 1)
    story.report(.destinationHeld("http://one"), by: 1)
    #expect(story.broken == (isEarlier ? [.holds] : []))
}

@Test func `holds: a delivered probe ends a hold, a delivery of a request sent before the hold does not`() {
    var story = Story(.plain)
    for label in 1...3 { story.accept(label) }
    story.leave(1, in: "new")
    story.leave(3, in: "new")
    story.event(1, .begins("run"))
    let early = story.receive([2], by: 1)
    story.send([1], by: 1, status: 401)
    story.report(.putBack(story.id(1)), by: 1)
    story.report(.destinationHeld("http://one"), by: 1)
    story.reply(early, [2], to: 1)
    #expect(story.broken.isEmpty)
    #expect(story.then { $0.report(.holdEnded("http://one"), by: 1) }.broken == [.holds])
    story.wait(.seconds(3600))
    story.beginRun(2)
    story.send([3], by: 2)
    let ended = story.then { $0.event(2, .ends(status: 0)) }
    #expect(ended.broken.contains(.holds))
    #expect(!story.then { $0.report(.holdEnded("http://one"), by: 2) }.broken.contains(.holds))
}

@Test(arguments: [5, 6])
func `storms: one incident costs at most five operations`(count: Int) {
    var story = Story(.plain)
    for label in 1...7 { story.accept(label) }
    story.leave(7, in: "new")
    for label in count + 1..<7 { story.leave(label, in: "new") }
    for label in 1...count {
        // In one run or in several.
        let process = label < 4 ? 1 : 2
        if label == 1 || label == 4 {
            story.event(process, .begins("run"))
            story.event(process, .runs(RunChoice()))
        }
        story.send([label], by: process, status: 404)
        story.report(.failed(story.id(label), isExpired: false), by: process)
        story.leave(label, in: "failed")
        if label == 3 { story.event(1, .ends(status: 0)) }
    }
    #expect(story.broken == (count > 5 ? [.storms] : []))
}

@Test func `storms: a delivery ends the count`() {
    var story = Story(.plain)
    for label in 1...7 { story.accept(label) }
    story.beginRun(1)
    for label in 1...7 {
        story.send([label], by: 1, status: label == 4 ? 200 : 404)
        if label == 4 { continue }
        story.report(.failed(story.id(label), isExpired: false), by: 1)
        story.leave(label, in: "failed")
    }
    #expect(story.broken.isEmpty)
}

@Test(arguments: [true, false])
func `credentials: an operation refused with 401 fails only beside a delivery`(isWitnessed: Bool) {
    var story = Story(.plain)
    for label in 1...2 { story.accept(label) }
    story.beginRun(1)
    story.send([1], by: 1, status: 401)
    story.report(.parked(story.id(1)), by: 1)
    if isWitnessed { story.send([2], by: 1) } else { story.leave(2, in: "new") }
    story.wait(.seconds(600))
    story.send([1], by: 1, status: 401)
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    story.leave(1, in: "failed")
    #expect(story.broken == (isWitnessed ? [] : [.credentials]))
}

@Test func `holds: a parked operation waits five minutes for a witness`() {
    var story = Story(.plain)
    story.accept(1)
    story.event(1, .begins("run"))
    story.send([1], by: 1, status: 401)
    story.report(.parked(story.id(1)), by: 1)
    story.wait(.seconds(20))
    #expect(story.then { $0.send([1], by: 2) }.broken == [.holds])
    #expect(
        story.then {
            $0.wait(.seconds(300)); $0.send([1], by: 2)
        }.broken.isEmpty)
    #expect(
        story.then {
            $0.command(.retry, [1]); $0.send([1], by: 2)
        }.broken.isEmpty)
}

@Test func `limits: all adders together keep the limit, and no operation is rejected while the queue has room`() {
    var story = Story(.plain)
    story.history.setup.operations = 2
    for label in 1...2 {
        story.accept(label)
        story.leave(label, in: "new")
    }
    #expect(story.broken.isEmpty)
    let full = story.then { $0.offer(3) }
    #expect(full.then { $0.event(103, .answers(3, .full)) }.broken.isEmpty)
    #expect(
        full.then {
            $0.event(103, .answers(3, .accepted($0.name(3)))); $0.leave(3, in: "new")
        }.broken == [.limits])
    let free = story.then {
        $0.history.left = []; $0.send([1], by: 1); $0.send([2], by: 1); $0.offer(3)
    }
    #expect(free.then { $0.event(103, .answers(3, .full)) }.broken == [.limits])
}

@Test func `eviction: the oldest operation makes room, but not for an older operation`() {
    var story = Story(.plain)
    story.history.setup.operations = 2
    story.history.setup.dropsOldest = true
    for label in 2...3 {
        story.accept(label)
        story.event(0, .names(label, story.name(label)))
    }
    for label in 102...103 { story.event(label, .ends(status: 0)) }
    let newer = story.then { $0.accept(4) }
    #expect(
        newer.then {
            $0.report(.evicted($0.id(2)), by: 104); $0.leave(3, in: "new"); $0.leave(4, in: "new")
        }.broken.isEmpty)
    #expect(
        newer.then {
            $0.report(.evicted($0.id(3)), by: 104); $0.leave(2, in: "new"); $0.leave(4, in: "new")
        }.broken == [.eviction])
    #expect(
        story.then {
            $0.accept(1); $0.report(.evicted($0.id(2)), by: 101); $0.leave(3, in: "new"); $0.leave(1, in: "new")
        }.broken == [.eviction])
}

@Test func `expiry: an expired operation is not sent, and fails`() {
    var kind = Setup.Kind.plain
    kind.expiresAfter = .seconds(30)
    var story = Story(kind)
    story.accept(1)
    #expect(story.then { $0.report(.failed($0.id(1), isExpired: true), by: 1) }.broken == [.expiry, .kept])
    #expect(story.then { $0.send([1], by: 1) }.broken.isEmpty)
    story.wait(.seconds(60))
    #expect(story.then { $0.send([1], by: 1) }.broken == [.expiry])
    story.history.endsCalmly = true
    let calm = story.then { $0.wait(.seconds(3600)) }
    #expect(
        calm.then {
            $0.report(.failed($0.id(1), isExpired: true), by: 1); $0.leave(1, in: "failed")
        }.broken.isEmpty)
    var held = story.name(1)
    held.isHeld = true
    #expect(calm.then { $0.leave(1, in: "new", name: held) }.broken == [.expired, .liveness])
}

@Test func `not before: an operation is not sent before its time, unless an operator names the operation`() {
    var story = Story(.plain)
    story.accept(1, notBefore: .seconds(60))
    #expect(story.then { $0.send([1], by: 1) }.broken == [.notBefore])
    #expect(
        story.then {
            $0.wait(.seconds(60)); $0.send([1], by: 1)
        }.broken.isEmpty)
    var choice = RunChoice()
    choice.ids = [story.id(1)]
    #expect(
        story.then {
            $0.event(1, .begins("run")); $0.event(1, .runs(choice)); $0.send([1], by: 1)
        }.broken.isEmpty)
}

@Test func `kept values: a request has the value of the newest answer of its key`() {
    var giver = Setup.Kind.plain
    giver.keeps = true
    var taker = Setup.Kind(TypeName("taker")!, host: "one")
    taker.needsKept = true
    var story = Story(giver, taker)
    story.accept(1)
    story.event(1, .begins("run"))
    story.send([1], by: 1)
    story.report(.delivered(story.id(1)), by: 1)
    story.accept(2)
    story.send([2], by: 1)
    story.report(.delivered(story.id(2)), by: 1)
    story.accept(3, type: taker.type)
    story.event(2, .begins("run"))
    story.event(2, .lists)
    #expect(story.then { $0.send([3], by: 2, path: "/taker/k2") }.broken.isEmpty)
    #expect(story.then { $0.send([3], by: 2, path: "/taker/k1") }.broken == [.keptValues])
    #expect(story.then { $0.send([3], by: 2, path: "/taker/") }.broken == [.keptValues])
}

@Test func `one document a key: two merged documents never have the same key`() {
    var story = Story(.coalescing(.merge))
    story.accept(1)
    story.accept(2)
    story.send([1, 2], by: 1, status: 503, text: #"{"m1":1,"m2":2}"#, key: "merge")
    #expect(story.then { $0.send([1, 2], by: 1, text: #"{"m1":1,"m2":2}"#, key: "merge") }.broken.isEmpty)
    #expect(
        story.then {
            $0.accept(3); $0.send([1, 2, 3], by: 1, text: #"{"m1":1,"m2":2,"m3":3}"#, key: "merge")
        }.broken == [.documentKeys])
}

@Test func `replaced: once import has answered, the old operation is not sent`() {
    var story = Story(.plain)
    story.accept(1)
    story.replace(1, by: 2)
    story.leave(2, in: "new", name: story.name(1))
    #expect(story.then { $0.event(102, .answers(2, .accepted($0.name(1)))) }.broken.isEmpty)
    #expect(
        story.then {
            $0.event(102, .answers(2, .accepted($0.name(1)))); $0.send([1], by: 1)
        }.broken == [.replaced])
    #expect(story.then { $0.event(102, .answers(2, .accepted($0.name(3)))) }.broken.contains(.replaced))
}

@Test func `replaced: an operation is in flight only if a process may have claimed it`() {
    var story = Story(.plain)
    story.accept(1)
    story.event(101, .ends(status: 0))
    story.leave(1, in: "new")
    let alone = story.then {
        $0.replace(1, by: 2); $0.event(102, .answers(2, .inFlight))
    }
    #expect(alone.broken == [.replaced])
    let shared = story.then {
        $0.event(1, .begins("run")); $0.replace(1, by: 2); $0.event(102, .answers(2, .inFlight))
    }
    #expect(shared.broken.isEmpty)
}

@Test func `interruptions: only the deaths of processes take an operation to quarantine`() {
    for (death, broken) in [(Event.What.killed, Set<Property>()), (.cutPower, [.interruptions])] {
        var story = Story(.plain)
        story.accept(1)
        for run in 1...5 {
            story.event(run, .begins("run"))
            _ = story.receive([1], by: run)
            story.event(death == .killed ? run : 0, death)
        }
        story.event(9, .begins("run"))
        story.report(.quarantined(story.id(1), path: "quarantine/1"), by: 9)
        story.leave(1, in: "quarantine")
        #expect(story.broken == broken)
    }
}

@Test func `run status: the status of a run is the worst of its reports`() {
    var story = Story(.plain)
    story.accept(1)
    story.beginRun(1)
    story.send([1], by: 1, status: 422)
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    story.leave(1, in: "failed")
    for (status, broken) in [(1, Set<Property>()), (0, [.runStatus]), (65, [.runStatus])] as [(Int32, Set<Property>)] {
        #expect(story.then { $0.event(1, .endsRun(status: status, leftDue: 0, waits: false)) }.broken == broken)
    }
}

@Test func `run status: a run that ends with 0 leaves no due operation`() {
    var story = Story(.plain)
    story.accept(1)
    story.accept(2)
    for label in 101...102 { story.event(label, .ends(status: 0)) }
    story.event(1, .begins("run"))
    for (limit, broken) in [(100, Set<Property>([.runStatus])), (1, [])] {
        var choice = RunChoice()
        choice.limit = limit
        let ended = story.then {
            $0.event(1, .runs(choice))
            $0.send([1], by: 1)
            $0.report(.delivered($0.id(1)), by: 1)
            $0.event(1, .endsRun(status: 0, leftDue: 0, waits: false))
            $0.send([2], by: 2)
        }
        #expect(ended.broken == broken)
    }
}
