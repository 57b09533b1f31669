import Testing

@testable import Policy

/// Tests the decisions about a destination by stories. Each word of a story is an operation and the status of its
/// answer: `a404`, or `ab401` for a request of two operations. A suffix marks a sample (`*`), a probe (`!`), a batch
/// result (`&`), a witnessed operation (`~`), a merged document (`+`), an attempt of three hours ago (`<`), credentials of
/// the operation's own (`@`), or renewed credentials (`^`). Status 0 is a refused connection. `end` means
/// that no operation waits or is in flight. Each effect is a word of the result.
struct DestinationControlTests {
    private typealias Control = DestinationControl

    /// The letters of an attempt's operations.
    fileprivate final class Letters {
        let text: String

        init(_ text: String) { self.text = text }
    }

    private let now = Timestamp(rfc3339: "2026-11-21T12:00:00Z")!

    private func tell(
        _ story: String, _ control: inout Control, route: Route = Route(), at now: Timestamp? = nil
    ) -> String {
        let now = now ?? self.now
        var words: [String] = []
        func obey(_ effects: [DestinationEffect]) {
            for effect in effects {
                words.append(word(for: effect))
                switch effect {
                case .hold(_, let verdict):
                    control.apply(
                        .held(reason: "", status: verdict.status, blamed: "print"), at: now)
                case .park(_, let refusals):
                    for refusal in refusals { control.apply(.parked(refusal, at: now), at: now) }
                case .askOne(let end):
                    let rest = String(end.letters.dropLast())
                    var facts = end.facts
                    (facts.operations, facts.isShared) = (operations(rest), true)
                    obey(
                        control.judge(
                            AttemptEnd(
                                ownAttempt: Letters(rest), facts: facts, report: end.report, verdict: end.verdict),
                            prints: prints, at: now))
                case .settle, .sendEachAlone, .sendApart, .release, .sample, .sampleOne, .withhold: break
                }
            }
        }
        for word in story.split(separator: " ") {
            if word == "end" {
                obey(control.concludeAlone(prints: prints, at: now))
                continue
            }
            obey(control.take(end(String(word), route, now), prints: prints, at: now))
        }
        return words.joined(separator: " ")
    }

    private let prints = Fingerprints(blamed: { "print" }, mark: { $0.mark(key: "key") })

    /// The credentials of an attempt.
    private func credentials(_ word: String) -> RequestCredentials {
        RequestCredentials(
            [word.contains("@") ? "own" : word.contains("^") ? "new" : "old"], areOwn: word.contains("@"))
    }

    private func operations(_ letters: String) -> [Age] {
        letters.map { Age(createdAt: now, id: OperationID(String($0))!) }
    }

    private func end(_ word: String, _ route: Route, _ now: Timestamp) -> AttemptEnd {
        let letters = word.filter(\.isLetter)
        let status = Int(word.filter(\.isNumber))!
        let report = SealedReport(
            result: status == 0
                ? .failure(.refused, detail: "") : .answer(AttemptReport.Answer(status: status)),
            duration: .milliseconds(10))
        var facts = AttemptEnd.Facts(
            operations: operations(letters), route: Shared(route), credentials: credentials(word), began: now)
        if word.contains("<") { facts.began = now - .seconds(10_800) }
        (facts.isSample, facts.isProbe) = (word.contains("*"), word.contains("!"))
        (facts.isShared, facts.isMerged) = (word.contains("&"), word.contains("+"))
        if word.contains("~") { facts.witnessed = credentials("") }
        return AttemptEnd(
            ownAttempt: Letters(letters), facts: facts, report: report,
            verdict: Classification.verdict(on: report, route: route, now: now))
    }

    private func word(for effect: DestinationEffect) -> String {
        switch effect {
        case .settle(let end, let verdict): "\(end.letters):\(verdict.outcome)"
        case .hold(let end, _): "hold(\(end.letters))"
        case .park(let end, _): "park(\(end.letters))"
        case .sendEachAlone(let end): "alone(\(end.letters))"
        case .sendApart(let end): "apart(\(end.letters))"
        case .withhold(let end): "withhold(\(end.letters))"
        case .askOne(let end): "ask(\(end.letters))"
        case .release(let end): "release(\(end.letters))"
        case .sample(let count): "sample(\(count))"
        case .sampleOne: "sampleOne"
        }
    }

    private func control(_ change: (inout DestinationState) -> Void = { _ in }) -> Control {
        var state = DestinationState()
        change(&state)
        var control = Control(Destination(named: "http://one"), DestinationSettings(), state)
        control.read(state, at: now)
        control.beginPass(chosen: 100, hasMore: true)
        return control
    }

    @Test(
        arguments: [
            ("a204", "a:delivered"),
            ("a503 b0", "a:deferred b:deferred"),
            // Permanent answers wait for samples, and the operations behind them go on.
            ("a404", "release(a)"),
            ("a404 end", "release(a) a:failed"),
            ("a404 b204", "release(a) a:failed b:delivered"),
            ("a404 b404 c404 d404 e404", "release(a) release(b) release(c) release(d) release(e) sample(3)"),
            (
                "a404 b404 c404 d404 e404 x404* y404* z404*",
                "release(a) release(b) release(c) release(d) release(e) sample(3) release(x) release(y) release(z) "
                    + "hold(a) hold(b) hold(c) hold(d) hold(e) hold(x) hold(y) hold(z)"
            ),
            (
                "a404 b404 c404 d404 e404 x0* y500* z0* end",
                "release(a) release(b) release(c) release(d) release(e) sample(3) x:deferred y:deferred z:deferred "
                    + "a:failed b:failed c:failed d:failed e:failed"
            ),
            // A delivery clears the storm guard also while it shows that credentials are good.
            ("a404 b403 c204 d404", "release(a) sampleOne a:failed alone(b) c:delivered d:failed"),
            // A refusal samples another operation.
            ("a401", "sampleOne"),
            ("a401 b204*", "sampleOne alone(a) b:delivered"),
            // Sent once more, it fails by the credentials of a delivery, and by no others.
            ("a401 b204* a401~", "sampleOne alone(a) b:delivered a:failed"),
            ("a401 b204* a401~^ end", "sampleOne alone(a) b:delivered sampleOne park(a)"),
            ("a401 b204*^ end", "sampleOne b:delivered park(a)"),
            ("a401 b401*^ end", "sampleOne park(b) park(a)"),
            // An operation with credentials of its own says nothing about others.
            ("a401@", "park(a)"),
            ("a401@ b401@ c401@", "park(a) park(b) park(c)"),
            ("ab401@", "alone(ab)"),
            ("a401 b401*@ end", "sampleOne park(b) park(a)"),
            ("a401 b401* end", "sampleOne hold(a) hold(b)"),
            ("a401 end", "sampleOne park(a)"),
            ("a401 b0* end", "sampleOne b:deferred park(a)"),
            ("ab401 end", "ask(ab) sampleOne park(a)"),
            ("a401& b204*", "sampleOne alone(a) b:delivered"),
            ("a401+ b204*", "sampleOne apart(a) b:delivered"),
            // A redirect holds.
            ("a302 end", "sampleOne hold(a)"),
            ("a302 b0* end", "sampleOne b:deferred hold(a)"),
            ("a302 b204*", "sampleOne a:deferred b:delivered"),
        ] as [(String, String)])
    func `the end of an attempt has the listed effects`(story: String, effects: String) {
        var control = control()
        #expect(tell(story, &control) == effects)
    }

    @Test func `a refusal beside a parked operation holds, and a delivery witnesses against the parked operation`() {
        func parked() -> Control {
            var control = control()
            #expect(tell("a401 end", &control) == "sampleOne park(a)")
            return control
        }
        var refused = parked()
        #expect(tell("b401 end", &refused) == "sampleOne hold(b)")
        #expect(refused.isBlocked && refused.state.parking.isEmpty)
        var delivered = parked()
        #expect(tell("b204^", &delivered, at: now + .seconds(1)) == "b:delivered")
        #expect(delivered.state.parking.entries.map(\.isWitnessed) == [false])
        #expect(tell("b204", &delivered, at: now + .seconds(2)) == "b:delivered")
        #expect(tell("a401^ end", &delivered, at: now + .seconds(3)) == "sampleOne park(a)")
        #expect(tell("b204^", &delivered, at: now + .seconds(4)) == "b:delivered")
        #expect(tell("a401^", &delivered, at: now + .seconds(5)) == "a:failed")
        var strict = control()
        #expect(tell("a401 end", &strict, route: Route(ordering: .strict)) == "sampleOne hold(a)")
    }

    @Test(
        arguments: [
            ("a401!", "hold(a)", true),
            ("a302!", "hold(a)", true),
            ("a204!", "a:delivered", false),
            ("a404! end", "release(a) a:failed", false),
            ("a503!", "a:deferred", true),
            // The attempt was in flight when the hold began.
            ("a204<", "a:delivered", true),
        ] as [(String, String, Bool)])
    func `the answer to a probe ends or keeps a hold`(story: String, effects: String, isHeld: Bool) {
        var held = control { $0.hold = .init(reason: "", since: now - .seconds(7_200), status: 401) }
        #expect(held.isProbing == true)
        if !story.contains("!") { held.beginProbe(isTaken: true, at: now) }
        #expect(tell(story, &held) == effects)
        #expect((held.block?.reason == .held) == isHeld)
    }

    @Test func `an open circuit breaker stops unattempted operations, and a slow failure stops all operations`() {
        var control = control()
        _ = tell("a0 b0 c0 d0 e0", &control)
        #expect(control.block?.reason == .circuitBreaker && control.isBlocked)
        #expect(!control.admits(attempts: 0) && control.admits(attempts: 1) && control.concurrencyLimit == 1)
        let quick = end("f0", Route(), now)
        let slow = AttemptEnd(
            ownAttempt: quick.ownAttempt, facts: quick.facts,
            report: SealedReport(result: .failure(.timeout, detail: ""), duration: .seconds(10)),
            verdict: quick.verdict)
        _ = control.take(slow, prints: prints, at: now)
        #expect(!control.admits(attempts: 1) && control.concurrencyLimit == 0)
    }

    @Test func `samples stop further requests, and the end of a pass decides withheld answers`() {
        var control = control()
        _ = tell("a404 b404 c404 d404 e404", &control)
        #expect(control.isSampling && control.concurrencyLimit == 0 && control.withheld.count == 5)
        _ = tell("end", &control)
        #expect(!control.isSampling && !control.isWithholding)
    }

    @Test func `a recorded hold or pause blocks at once, a recorded circuit breaker only if nothing is withheld`() {
        let down = DestinationState(failures: 5, coolDownUntil: now + .seconds(60), coolDowns: 1)
        var idle = control()
        idle.adopt(down, at: now)
        #expect(idle.block?.reason == .circuitBreaker)
        var held = control()
        held.adopt(DestinationState(hold: .init(reason: "401", since: now)), at: now)
        #expect(held.block?.reason == .held && held.isBlocked)
        var busy = control()
        _ = tell("a404", &busy)
        _ = busy.takeEvents()
        busy.adopt(down, at: now)
        #expect(busy.block == nil)
        busy.adopt(DestinationState(hold: .init(reason: "404", since: now)), at: now)
        #expect(busy.block?.reason == .held)
        busy.adopt(DestinationState(isPaused: true), at: now)
        #expect(busy.block?.reason == .paused)
    }
}

extension AttemptEnd {
    fileprivate var letters: String { (ownAttempt as! DestinationControlTests.Letters).text }
}
