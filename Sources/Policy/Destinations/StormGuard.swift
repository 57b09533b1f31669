/// Keeps a bad deploy or an expired token from emptying a queue into `failed/`: what the answers of one destination mean
/// together.
///
/// The first permanent answers are not acted on at once. If `threshold` of them are the same status and nothing
/// succeeded, a few operations from elsewhere in the queue are tried, the newest first. If these meet the same end, the
/// destination is to be held and all of them put back. If one succeeds or meets another end, or if there is none to try,
/// each is settled by its own answer.
///
/// An incident costs at most `limit` operations, however slowly they come. Failures of one status in a row are counted until
/// something is delivered: those of earlier runs (`before`) too, and those that were settled after the guard was cleared.
/// When the count reaches `limit` the guard watches again, and holds the destination even where nothing else can be tried.
///
/// With a threshold of 1 it is for statuses that hold a destination: whether it is the destination or this operation
/// alone.
package struct StormGuard<Element> {
    package enum Answer: Hashable, Sendable {
        case delivered
        /// A status of the kind that is watched for, or another one that ends an operation.
        case permanent(Int)
        /// Anything else: put off, held, no answer. It says nothing of the others, and is acted on at once.
        case other
    }

    package enum Step {
        /// Act on these, in order: each as its own answer decided.
        case settle([Element])
        /// Nothing yet.
        case wait
        /// Attempt up to `samples` others, the newest first, and nothing else of this destination meanwhile.
        case sample
        /// Hold the destination; put all of these back uncharged.
        case hold([Element], status: Int)
        /// The samples have said nothing: put these back uncharged, and leave the destination for this run.
        case putBack([Element])
    }

    package enum Phase: Hashable, Sendable {
        case watching
        case sampling
        /// The server tells operations apart: whatever comes is acted on at once.
        case cleared
        /// An operation that meets the same status is put back.
        case held
    }

    package static var samples: Int { 3 }

    package let threshold: Int
    package private(set) var phase: Phase
    /// The answers that have had no effect yet.
    package private(set) var withheld: [Element] = []
    private var status: Int?
    private let limit: Int
    /// Failures of one status that were acted on, with no delivery between them.
    private var row: (status: Int, count: Int)?
    /// Samples that met the same end.
    private var alike = 0
    private var saidNothing = 0

    /// Whether a permanent answer is not acted on at once.
    package var withholds: Bool { phase == .watching || phase == .sampling }

    /// A threshold of 0 lets everything pass. `before` is what the runs before have failed in a row.
    package init(threshold: Int, limit: Int = .max, before: DestinationState.Storm? = nil) {
        self.threshold = threshold
        self.limit = threshold > 0 ? limit : .max
        row = before.map { ($0.status, $0.count) }
        phase = threshold > 0 ? .watching : .cleared
    }

    /// How many have failed in a row with this status.
    package func failed(with status: Int) -> Int { row?.status == status ? row?.count ?? 0 : 0 }

    /// Takes the next answer in, in whatever order they come. `isSample` says that the operation was attempted because of
    /// `sample`: others that were in flight by then meet their end beside the first ones and prove nothing.
    package mutating func take(_ element: Element, _ answer: Answer, isSample: Bool = false) -> Step {
        switch phase {
        case .cleared:
            count(answer)
            return .settle([element])
        case .held:
            if case .permanent(let status) = answer, status == self.status { return .hold([element], status: status) }
            return .settle([element])
        case .watching, .sampling:
            break
        }
        switch answer {
        case .other:
            if isSample { saidNothing += 1 }
            return .settle([element])
        case .permanent(let status) where self.status ?? status == status:
            self.status = status
            withheld.append(element)
        case .permanent, .delivered:
            phase = .cleared
            count(answer)
            return .settle(abandon() + [element])
        }
        if phase == .watching {
            if withheld.count < threshold, withheld.count + failed(with: status!) < limit { return .wait }
            phase = .sampling
            return .sample
        }
        if isSample { alike += 1 }
        return alike < Self.samples ? .wait : hold()
    }

    /// Nothing else of this destination waits or is in flight: what is withheld is acted on, or held for where samples
    /// have met the same end. Afterwards it watches anew.
    package mutating func nothingElse() -> Step {
        guard phase == .watching || phase == .sampling else { return .settle([]) }
        if alike > 0 { return hold() }
        if let status, !withheld.isEmpty, saidNothing == 0 {
            let failed = failed(with: status)
            if failed >= limit || withheld.count > limit - failed { return hold() }
            row = (status, failed + withheld.count)
        }
        let wasInVain = saidNothing > 0
        phase = .watching
        status = nil
        saidNothing = 0
        return wasInVain ? .putBack(abandon()) : .settle(abandon())
    }

    /// The run ends, or the destination is held for another reason: what is withheld is returned, to be put back.
    package mutating func abandon() -> [Element] {
        defer { withheld = [] }
        return withheld
    }

    /// Counts what is acted on, and watches again where that is as much as one incident may cost.
    private mutating func count(_ answer: Answer) {
        switch answer {
        case .other: break
        case .delivered: row = nil
        case .permanent(let status):
            row = (status, min(failed(with: status), limit - 1) + 1)
            guard failed(with: status) >= limit else { return }
            (phase, self.status, alike, saidNothing) = (.watching, nil, 0, 0)
        }
    }

    private mutating func hold() -> Step {
        phase = .held
        return .hold(abandon(), status: status!)
    }
}
