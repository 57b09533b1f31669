/// The guard that keeps a bad deploy or an expired token from emptying a queue into `failed/`. Judges the answers of
/// one destination together.
///
/// The first permanent answers are withheld. If `threshold` of them have the same status and nothing succeeded, the run
/// attempts a few samples from the far end of its order. If the samples meet the same end, the destination is held and
/// all of them are put back. If a sample succeeds or meets another end, or if the pass ends before all samples and
/// before more than `limit` answers, each answer takes effect by itself.
///
/// An incident costs at most `limit` operations, however slowly they come. The guard counts failures of one status in a
/// row until a delivery: also failures of earlier runs (`before`), and failures that took effect after the guard was
/// cleared. When the count reaches `limit`, the guard watches again, and holds the destination even without a sample.
///
/// With a threshold of 1 the guard is for statuses that hold a destination: the guard shows whether the destination or
/// this operation alone is refused.
package struct StormGuard<Element> {
    package enum Answer: Hashable, Sendable {
        case delivered
        /// A status that the guard watches for, or another status that ends an operation.
        case permanent(Int)
        /// A deferral with a status, a sample without a server's answer, or an answer with a meaning from the user's
        /// own rule. Such an answer says nothing about other operations, and takes effect at once.
        case other
    }

    package enum Step {
        /// Apply these in order, each as its own answer decided.
        case apply([Element])
        case wait
        /// Attempt up to `samples` other operations, and nothing else of this destination meanwhile.
        case sample
        /// Hold the destination; put all of these back uncharged.
        case hold([Element], status: Int)
    }

    package enum Phase: Hashable, Sendable {
        case watching
        case sampling
        /// The server tells operations apart: every answer takes effect at once.
        case cleared
        /// An operation with the same status is put back.
        case held
    }

    package static var samples: Int { 3 }

    package let threshold: Int
    package private(set) var phase: Phase
    /// The elements whose answers have had no effect yet.
    package private(set) var withheld: [Element] = []
    private var status: Int?
    private let limit: Int
    /// The number of samples with the same end that holds the destination.
    private let enough: Int
    /// The failures of one status that took effect, with no delivery between them.
    private var row: (status: Int, count: Int)?
    /// The number of samples with the same end.
    private var alike = 0

    /// Whether the guard withholds a permanent answer.
    package var withholds: Bool { phase == .watching || phase == .sampling }

    /// Creates a guard; a threshold of 0 turns it off. `before` is the storm of earlier runs.
    package init(
        threshold: Int, limit: Int = .max, enough: Int = Self.samples, before: DestinationState.Storm? = nil
    ) {
        self.threshold = threshold
        self.enough = enough
        self.limit = threshold > 0 ? limit : .max
        row = before.map { ($0.status, $0.count) }
        phase = threshold > 0 ? .watching : .cleared
    }

    /// Returns the number of failures in a row with this status.
    package func failed(with status: Int) -> Int { row?.status == status ? row?.count ?? 0 : 0 }

    /// Whether an answer has to go through `take`. A delivery need not while the guard is cleared and counts nothing.
    func minds(_ answer: Answer) -> Bool { answer != .delivered || phase != .cleared || row != nil }

    /// Takes the next answer, in any order. `isSample` says that the operation was attempted because of `sample`. Other
    /// attempts in flight by then meet their end beside the first ones and prove nothing.
    package mutating func take(_ element: Element, _ answer: Answer, isSample: Bool = false) -> Step {
        switch phase {
        case .cleared:
            count(answer)
            return .apply([element])
        case .held:
            if case .permanent(let status) = answer, status == self.status { return .hold([element], status: status) }
            return .apply([element])
        case .watching, .sampling: break
        }
        switch answer {
        case .other: return .apply([element])
        case .permanent(let status) where self.status ?? status == status:
            self.status = status
            withheld.append(element)
        case .permanent, .delivered:
            phase = .cleared
            count(answer)
            return .apply(takeWithheld() + [element])
        }
        if phase == .watching {
            if withheld.count < threshold, withheld.count + failed(with: status!) < limit { return .wait }
            phase = .sampling
            return .sample
        }
        if isSample { alike += 1 }
        return alike < enough ? .wait : hold()
    }

    /// Concludes when no other operation of this destination can be asked: none waits or is in flight, or the pass
    /// ends. Holds the destination if more operations met the same end than an incident may cost, samples included, or
    /// if the incident has cost as many. Else applies the withheld answers by themselves, and watches again.
    package mutating func concludeAlone() -> Step {
        guard phase == .watching || phase == .sampling else { return .apply([]) }
        if let status, !withheld.isEmpty {
            let failed = failed(with: status)
            if failed >= limit || withheld.count > limit - failed { return hold() }
            row = (status, failed + withheld.count)
        }
        (phase, status, alike) = (.watching, nil, 0)
        return .apply(takeWithheld())
    }

    private mutating func takeWithheld() -> [Element] {
        defer { withheld = [] }
        return withheld
    }

    /// Counts an answer that takes effect. Watches again when the count reaches what one incident may cost.
    private mutating func count(_ answer: Answer) {
        switch answer {
        case .other: break
        case .delivered: row = nil
        case .permanent(let status):
            row = (status, min(failed(with: status), limit - 1) + 1)
            guard failed(with: status) >= limit else { return }
            (phase, self.status, alike) = (.watching, nil, 0)
        }
    }

    private mutating func hold() -> Step {
        phase = .held
        return .hold(takeWithheld(), status: status!)
    }
}
