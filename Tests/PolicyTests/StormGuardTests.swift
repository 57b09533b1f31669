import Testing

@testable import Policy

struct StormGuardTests {
    typealias Guard = StormGuard<String>

    /// Plays a story for a storm guard and returns its steps. Each word is an operation and its answer: `a404`, `b200`,
    /// or `c503` for a deferral. A `*` marks a sample. `end` means that no operation waits or is in flight.
    private func tell(_ story: String, _ start: Guard = Guard(threshold: 5)) -> String {
        var storm = start
        let steps = story.split(separator: " ").map { word -> String in
            let step: Guard.Step
            if word == "end" {
                step = storm.concludeAlone()
            } else {
                let text = String(word.filter { $0 != "*" })
                let status = Int(text.dropFirst())!
                let answer: Guard.Answer =
                    switch status {
                    case 200: .delivered
                    case 400..<500: .permanent(status)
                    default: .other
                    }
                step = storm.take(String(text.prefix(1)), answer, isSample: word.hasSuffix("*"))
            }
            switch step {
            case .apply(let elements): return "apply(\(elements.joined()))"
            case .wait: return "wait"
            case .sample: return "sample"
            case .hold(let elements, let status): return "hold(\(elements.joined()),\(status))"
            }
        }
        return steps.joined(separator: " ")
    }

    private static let five = "a404 b404 c404 d404 e404"
    private static let suspicion = "wait wait wait wait sample"

    @Test func `five identical answers and identical samples put all operations back and hold the destination`() {
        #expect(
            tell(Self.five + " x404* y404* z404*") == Self.suspicion + " wait wait hold(abcdexyz,404)")
    }

    @Test func `a delivered sample after five identical answers fails the five and later operations as usual`() {
        #expect(tell(Self.five + " x200* y404* f404") == Self.suspicion + " apply(abcdex) apply(y) apply(f)")
        #expect(tell(Self.five + " x404* y404* z200*") == Self.suspicion + " wait wait apply(abcdexyz)")
    }

    @Test func `a sample with a different answer after five identical answers fails the five as usual`() {
        #expect(tell(Self.five + " x400*") == Self.suspicion + " apply(abcdex)")
    }

    @Test func `five identical answers without a sample fail the operations as usual`() {
        #expect(tell(Self.five + " end") == Self.suspicion + " apply(abcde)")
    }

    @Test func `fewer samples suffice if no further operation waits`() {
        let guarding = Guard(threshold: 5, limit: 5)
        #expect(tell(Self.five + " x404* end", guarding) == Self.suspicion + " wait hold(abcdex,404)")
    }

    @Test func `samples after fewer than five answers hold if all are alike, or if more than five answers are`() {
        let lowered = Guard(threshold: 1, limit: 5)
        #expect(tell("a404 x404* y404* z404*", lowered) == "sample wait wait hold(axyz,404)")
        #expect(tell("a404 x404* y404* end b404", lowered) == "sample wait wait apply(axy) sample")
        #expect(tell("a404 b404 c404 d404 x404* y404* end", lowered).hasSuffix(" hold(abcdxy,404)"))
    }

    @Test func `fewer than five operations fail at the end, and the storm guard watches anew`() {
        #expect(tell("a404 b404 end") == "wait wait apply(ab)")
        #expect(tell("a404 end " + Self.five) == "wait apply(a) " + Self.suspicion)
        #expect(tell("end") == "apply()")
    }

    @Test func `a success among the first answers clears the storm guard`() {
        #expect(
            tell("a404 b404 c200 d404 e404 f404 g404")
                == "wait wait apply(abc) apply(d) apply(e) apply(f) apply(g)")
        #expect(tell("a200 " + Self.five) == "apply(a) apply(a) apply(b) apply(c) apply(d) apply(e)")
    }

    @Test func `different permanent answers among the first clear the storm guard`() {
        #expect(tell("a404 b404 c410 d404") == "wait wait apply(abc) apply(d)")
    }

    @Test func `deferred answers neither clear the storm guard nor count as failures`() {
        #expect(
            tell("a404 b503 c404 d404 e503 f404 g404 x404* y404* z404*")
                == "wait apply(b) wait wait apply(e) wait sample wait wait hold(acdfgxyz,404)")
    }

    @Test func `deferred samples count as no samples: the five fail, and the next operation holds`() {
        #expect(tell(Self.five + " x503* y503* end") == Self.suspicion + " apply(x) apply(y) apply(abcde)")
        // A single identical sample suffices.
        #expect(
            tell(Self.five + " x503* y404* end", Guard(threshold: 5, limit: 5))
                == Self.suspicion + " apply(x) wait hold(abcdey,404)")
        #expect(
            tell(Self.five + " x503* end f404 y503* end", Guard(threshold: 5, limit: 5))
                == Self.suspicion + " apply(x) apply(abcde) sample apply(y) hold(f,404)")
    }

    @Test func `operations in flight with the first are no samples`() {
        #expect(
            tell(Self.five + " f404 g404 h404 x404* i404 y404* z404*")
                == Self.suspicion + " wait wait wait wait wait wait hold(abcdefghxiyz,404)")
        #expect(tell(Self.five + " f404 g404 h404 end") == Self.suspicion + " wait wait wait apply(abcdefgh)")
        #expect(tell(Self.five + " f200") == Self.suspicion + " apply(abcdef)")
    }

    @Test func `after a hold, identical answers are put back, and different answers take effect`() {
        #expect(
            tell(Self.five + " x404* y404* z404* f404 g200 h410 i503 end")
                == Self.suspicion
                + " wait wait hold(abcdexyz,404) hold(f,404) apply(g) apply(h) apply(i) apply()")
    }

    @Test func `a threshold of zero lets every answer pass`() {
        #expect(tell("a404 b404 end", Guard(threshold: 0)) == "apply(a) apply(b) apply()")
    }

    // MARK: - Across runs

    private func guarding(after count: Int, of status: Int = 404) -> Guard {
        Guard(threshold: 5, limit: 5, before: .init(status: status, count: count, at: Timestamp(microseconds: 0)))
    }

    @Test(
        arguments: [
            (0, "a404 end", "wait apply(a)"),
            (4, "a404 end", "sample apply(a)"),
            (5, "a404 end", "sample hold(a,404)"),
            (9, "a404 end", "sample hold(a,404)"),
            (3, "a404 b404 c404 end", "wait sample wait hold(abc,404)"),
            (3, "a404 b404 end", "wait sample apply(ab)"),
            (5, "a404 x200* b404 end", "sample apply(ax) apply(b) apply()"),
            (5, "a404 x404* end", "sample wait hold(ax,404)"),
            (5, "a404 x503* end", "sample apply(x) hold(a,404)"),
            (2, "a404 x503* end", "wait apply(x) apply(a)"),
            (5, "a410 end", "wait apply(a)"),
            (5, "a200 b404", "apply(a) apply(b)"),
        ] as [(Int, String, String)])
    func `failures of earlier runs count`(count: Int, story: String, steps: String) {
        #expect(tell(story, guarding(after: count)) == steps)
    }

    @Test func `a cleared storm guard watches again after five failures, and a success restarts the count`() {
        let guarding = Guard(threshold: 5, limit: 5)
        #expect(
            tell("a200 b404 c404 d404 e404 f404 g404 end", guarding)
                == "apply(a) apply(b) apply(c) apply(d) apply(e) apply(f) sample hold(g,404)")
        #expect(
            tell("a200 b404 c404 d404 e404 f200 g404 h404", guarding)
                == "apply(a) apply(b) apply(c) apply(d) apply(e) apply(f) apply(g) apply(h)")
    }

    @Test func `an incident fails at most five operations, however many a run attempts`() {
        for portion in 1...7 {
            var state = DestinationState()
            var (failed, runs) = (0, 0)
            while runs < 60, state.hold == nil {
                runs += 1
                var storm = StormGuard<Int>(threshold: 5, limit: 5, before: state.storm)
                var steps = (0..<portion).map { storm.take($0, .permanent(404)) }
                steps.append(storm.concludeAlone())
                for case .apply(let elements) in steps {
                    failed += elements.count
                    for _ in elements {
                        state.apply(.failed(status: 404), DestinationSettings(), at: Timestamp(microseconds: 0))
                    }
                }
                for case .hold(_, let status) in steps {
                    state.apply(
                        .held(reason: "", status: status, blamed: nil), DestinationSettings(),
                        at: Timestamp(microseconds: 0))
                }
            }
            #expect(failed <= 5 && state.hold?.status == 404, "\(portion)")
        }
    }

    @Test func `a delivery, a different status and a release restart the count`() {
        let zero = Timestamp(microseconds: 0)
        for event in [DestinationEvent.delivered(began: zero), .disproved(began: zero), .released] {
            var state = DestinationState()
            state.apply(.failed(status: 404), DestinationSettings(), at: Timestamp(microseconds: 0))
            state.apply(event, DestinationSettings(), at: Timestamp(microseconds: 0))
            #expect(state.storm == nil)
        }
        var state = DestinationState()
        for status in [404, 404, 410] {
            state.apply(.failed(status: status), DestinationSettings(), at: Timestamp(microseconds: 0))
        }
        #expect(state.storm == .init(status: 410, count: 1, at: Timestamp(microseconds: 0)))
    }

    @Test func `a renewed credential ends a hold, and allows no further failures`() {
        let zero = Timestamp(microseconds: 0)
        var state = DestinationState()
        for _ in 0..<5 { state.apply(.failed(status: 404), DestinationSettings(), at: zero) }
        state.apply(.held(reason: "", status: 404, blamed: "old"), DestinationSettings(), at: zero)
        state.apply(.blameChanged(since: "old"), DestinationSettings(), at: zero)
        #expect(state.hold == nil && state.storm?.count == 5)
    }

    // MARK: - Statuses that hold

    @Test func `a refusal and refused samples hold the destination`() {
        #expect(
            tell("a401 x401* y401* z401*", Guard(threshold: 1)) == "sample wait wait hold(axyz,401)")
        #expect(tell("a401 b401 x401*", Guard(threshold: 1, enough: 1)) == "sample wait hold(abx,401)")
    }

    @Test func `a delivered sample after a refusal clears the storm guard`() {
        var storm = Guard(threshold: 1)
        guard case .sample = storm.take("a", .permanent(403)) else {
            Issue.record("no sample is asked for")
            return
        }
        guard case .apply(let elements) = storm.take("x", .delivered, isSample: true) else {
            Issue.record("it does not take effect")
            return
        }
        #expect(elements == ["a", "x"])
        #expect(storm.phase == .cleared)
    }

    @Test func `a refusal without a sample takes effect`() {
        var storm = Guard(threshold: 1)
        _ = storm.take("a", .permanent(401))
        guard case .apply(let elements) = storm.concludeAlone() else {
            Issue.record("it does not take effect")
            return
        }
        #expect(elements == ["a"])
        // Not cleared: no sample has shown that only this operation is refused.
        #expect(storm.phase == .watching)
    }

    // MARK: - Always

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `every answer takes effect, holds or is put back exactly once, and a storm fails no operation`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var storm = StormGuard<Int>(threshold: Int.random(in: 0...6, using: &generator))
        let isStorm = Bool.random(using: &generator) && storm.threshold > 0
        var seen: [Int] = []
        var failed: [Int] = []
        func act(_ step: StormGuard<Int>.Step) {
            switch step {
            case .apply(let elements):
                seen += elements
                failed += elements
            case .hold(let elements, _): seen += elements
            case .wait, .sample: break
            }
        }
        let count = Int.random(in: 20...60, using: &generator)
        var samplesLeft = 3
        for element in 0..<count {
            let answers: [StormGuard<Int>.Answer] =
                isStorm ? [.permanent(404)] : [.permanent(404), .permanent(400), .delivered, .other]
            let isSample = storm.phase == .sampling && Bool.random(using: &generator) && samplesLeft > 0
            if isSample { samplesLeft -= 1 }
            act(storm.take(element, answers.randomElement(using: &generator)!, isSample: isSample))
        }
        if isStorm {
            #expect(failed.isEmpty)
        } else {
            act(storm.concludeAlone())
        }
        #expect((seen + storm.withheld).sorted() == Array(0..<count))
    }
}
