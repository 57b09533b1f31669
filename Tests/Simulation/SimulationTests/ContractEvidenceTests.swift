import Policy
import Testing

@testable import Simulation

@Test func `evidence: a superseded operation leaves with a report`() {
    var story = Story(.coalescing(.replace))
    story.accept(1)
    story.accept(2)
    story.leave(2, in: "new")
    #expect(story.broken == [.evidence])
    #expect(story.then { $0.report(.superseded($0.id(1), by: $0.id(2)), by: 1) }.broken.isEmpty)
    // A process that died may have had no time for the report.
    #expect(
        story.then {
            $0.event(5, .begins("run")); $0.event(5, .killed)
        }.broken.isEmpty)
}

@Test(arguments: [true, false])
func `dead letters stay: only a delivered newer value removes a dead letter`(isDelivered: Bool) {
    var story = Story(.coalescing(.replace))
    story.accept(1)
    story.event(1, .begins("run"))
    story.send([1], by: 1, status: 422)
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    story.accept(2)
    story.send([2], by: 1, status: isDelivered ? 200 : 503)
    if !isDelivered { story.leave(2, in: "deferred") }
    #expect(story.broken.contains(.deadLettersStay) == !isDelivered)
    #expect(!story.then { $0.leave(1, in: "failed") }.broken.contains(.deadLettersStay))
}

@Test(arguments: [true, false])
func `patches stay: the delivery of a patch removes no dead letter`(isCarried: Bool) {
    var story = Story(.coalescing(.merge))
    story.accept(1)
    story.send([1], by: 1, status: 422)
    story.report(.failed(story.id(1), isExpired: false), by: 1)
    story.accept(2)
    if isCarried {
        story.send([1, 2], by: 1, text: #"{"m1":1,"m2":2}"#)
    } else {
        story.send([2], by: 1)
    }
    #expect(story.broken.contains(.patchesStay) == !isCarried)
}

@Test(arguments: [true, false])
func `settled: a run tells of a delivery within two seconds`(isPrompt: Bool) {
    var story = Story(.plain)
    story.accept(1)
    story.beginRun(1)
    let number = story.receive([1], by: 1)
    story.reply(number, [1], to: 1)
    story.event(1, .takesIn(request: number))
    if !isPrompt { story.wait(.seconds(3)) }
    story.report(.delivered(story.id(1)), by: 1)
    story.event(1, .endsRun(status: 0, leftDue: 0, waits: false))
    #expect(story.broken == (isPrompt ? [] : [.settled]))
    // A process that gets no processor settles nothing.
    let stalled = story.then { story in
        let at = story.history.events.firstIndex { $0.what == .takesIn(request: number) }!
        var event = story.history.events[at]
        event.what = .stalled
        story.history.events.insert(event, at: at + 1)
    }
    #expect(stalled.broken.isEmpty)
}

@Test(arguments: [true, false])
func `newest first: a run sends no older operation before a newer one`(isNewest: Bool) {
    var story = Story(.ordered(.newest))
    for label in 1...2 {
        story.accept(label)
        story.event(0, .names(label, story.name(label)))
    }
    story.beginRun(1)
    for label in isNewest ? [2, 1] : [1, 2] {
        story.event(1, .submits([label]))
        story.send([label], by: 1)
        story.report(.delivered(story.id(label)), by: 1)
    }
    #expect(story.broken == (isNewest ? [] : [.newestFirst]))
    // Another run may have the newer operation.
    #expect(story.then { $0.history.events.insert($0.history.events[0].by(7, .begins("run")), at: 0) }.broken.isEmpty)
}

@Test(arguments: [true, false])
func `suspects alone: after two deaths the parts of a document go alone`(isAlone: Bool) {
    var story = Story(.coalescing(.merge))
    story.accept(1)
    story.accept(2)
    let text = #"{"m1":1,"m2":2}"#
    for process in 1...2 {
        #expect(!story.broken.contains(.suspectsAlone))
        _ = story.receive([1, 2], by: process, text: text)
        story.event(process, .killed)
    }
    if isAlone {
        story.send([1], by: 3)
        story.report(.delivered(story.id(1)), by: 3)
        story.send([2], by: 3)
    } else {
        story.send([1, 2], by: 3, text: text)
    }
    #expect(story.broken.contains(.suspectsAlone) == !isAlone)
}

@Test(arguments: [true, false])
func `replaces what is there: a delivered operation is not replaced`(isDelivered: Bool) {
    var story = Story(.plain)
    story.accept(1)
    if isDelivered {
        story.send([1], by: 1)
        story.report(.delivered(story.id(1)), by: 1)
    }
    story.replace(1, by: 2)
    story.event(102, .answers(2, .accepted(story.name(1))))
    story.send([2], by: 3, key: "id1")
    #expect(story.broken.contains(.replacesPresent) == isDelivered)
}

@Test func `order: a document with an older value in the place of a newer one does not carry the newer one`() {
    var story = Story(.coalescing(.merge))
    story.accept(1, member: "m")
    story.accept(2, member: "m")
    #expect(story.then { $0.send([2], by: 1, text: #"{"m":2}"#) }.broken.isEmpty)
    #expect(story.then { $0.send([1], by: 1, text: #"{"m":1}"#) }.broken.contains(.kept))
}

@Test func `credentials: a delivery with another token is no witness`() {
    var kind = Setup.Kind.plain
    kind.hasSecret = true
    func story(_ other: String) -> Story {
        var story = Story(kind)
        story.accept(1)
        story.accept(2)
        story.beginRun(1)
        story.send([1], by: 1, status: 401)
        story.send([2], by: 1)
        story.send([1], by: 1, status: 401)
        story.report(.failed(story.id(1), isExpired: false), by: 1)
        story.event(1, .endsRun(status: 1, leftDue: 0, waits: false))
        var requests = 0
        for index in story.history.events.indices {
            guard case .receives(var request) = story.history.events[index].what else { continue }
            requests += 1
            request.secret = requests == 2 ? other : "old"
            story.history.events[index].what = .receives(request)
        }
        return story
    }
    #expect(!story("old").broken.contains(.credentials))
    #expect(story("new").broken.contains(.credentials))
}

@Test(arguments: [true, false])
func `no network: an attempt without a network is not charged`(counts: Bool) {
    var story = Story(.plain)
    story.accept(1)
    story.leave(1, in: "deferred")
    story.event(1, .begins("run"))
    story.event(0, .network(isThere: false))
    story.event(1, .submits([1]))
    story.report(.deferred(story.id(1), counted: counts), by: 1)
    story.event(0, .network(isThere: true))
    #expect(story.broken.contains(.noNetwork) == counts)
    // With a network the attempt counts.
    var online = story
    online.history.events.removeAll { if case .network = $0.what { true } else { false } }
    #expect(!online.broken.contains(.noNetwork))
}

@Test(arguments: [true, false])
func `staying: a run that stays sends what may be sent soon after an error`(isSoon: Bool) {
    var story = Story(.plain)
    story.event(1, .begins("run --wait 2m"))
    var choice = RunChoice()
    choice.stays = true
    story.event(1, .runs(choice))
    story.accept(1)
    story.event(0, .names(1, story.name(1)))
    story.event(1, .refusedCall("lock", path: "state/lock", 11))
    story.wait(isSoon ? .seconds(5) : .seconds(60))
    story.send([1], by: 1)
    story.report(.delivered(story.id(1)), by: 1)
    story.event(1, .endsRun(status: 0, leftDue: 0, waits: false))
    #expect(story.broken == (isSoon ? [] : [.staying]))
}

// MARK: - Excuses

@Test func `not before: a release does not lift the time`() {
    var story = Story(.plain)
    story.accept(1, notBefore: .seconds(60))
    let released = story.then {
        $0.command(.hold, [1]); $0.command(.release, [1])
    }
    #expect(released.then { $0.send([1], by: 1) }.broken == [.notBefore])
    #expect(
        released.then {
            $0.command(.retry, [1]); $0.send([1], by: 1)
        }.broken.isEmpty)
}

@Test func `a step of a clock excuses the waits around it, and no later wait`() {
    func story(_ step: Int) -> Story {
        var story = Story(.plain)
        story.accept(1)
        story.event(1, .begins("run"))
        for place in 0..<2 {
            story.send([1], by: 1, status: 503, attempt: place + 1)
            story.report(.deferred(story.id(1), counted: true), by: 1)
            if place == step { story.event(0, .clockStepped(host: 0, by: .seconds(3600))) }
            if place == 0 { story.wait(.seconds(5)) }
        }
        story.send([1], by: 1, attempt: 3)
        return story
    }
    // The second delay is five seconds, and the third request comes after two.
    #expect(story(0).broken == [.dueTimes])
    #expect(story(1).broken.isEmpty)
}

@Test func `attempts: only the death of a process with the operation makes its count uncertain`() {
    var story = Story(.plain)
    story.accept(1)
    story.event(1, .begins("run"))
    story.event(2, .begins("run"))
    _ = story.receive([1], by: 1, attempt: 1)
    #expect(
        story.then {
            $0.event(1, .killed); $0.send([1], by: 3, attempt: 2)
        }.broken.isEmpty)
    var idle = Story(.plain)
    idle.accept(1)
    idle.event(2, .begins("run"))
    idle.event(2, .killed)
    #expect(idle.then { $0.send([1], by: 3, attempt: 2) }.broken == [.attempts])
}

@Test func `a judgement counts what it judges and what it excuses`() {
    var story = Story(.plain)
    story.accept(1, notBefore: .seconds(60))
    story.accept(2, notBefore: .seconds(60))
    story.command(.retry, [1])
    story.send([1], by: 1)
    story.wait(.seconds(90))
    story.send([2], by: 1)
    let count = Contract.judgement(of: story.history, by: [.notBefore]).counts[.notBefore]
    #expect(count == Judging.Count(judged: 1, excused: 1))
}

extension Event {
    fileprivate func by(_ process: Int, _ what: What) -> Event {
        Event(time: time, process: ProcessID(process), what: what)
    }
}
