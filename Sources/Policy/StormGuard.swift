/// Keeps a bad deploy or an expired token from emptying a queue into `failed/`: what the first answers of one destination
/// in one run mean together.
///
/// The first permanent answers are not acted on at once. If `threshold` of them are the same status and nothing
/// succeeded, a few operations from elsewhere in the queue are tried, the newest first. Meet these the same end, the
/// destination is to be held and all of them put back; else they are what they seemed to be, each by itself.
package struct StormGuard<Element> {
    package enum Answer: Hashable, Sendable {
        case delivered
        /// A status that ends an operation, or holds its destination.
        case permanent(Int)
        /// Anything else that answers: the server tells operations apart.
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
    }

    package enum Phase: Hashable, Sendable {
        case watching
        case sampling
        /// Whatever comes is acted on at once.
        case decided
    }

    package static var samples: Int { 3 }

    package let threshold: Int
    package private(set) var phase: Phase
    /// What is not acted on yet.
    package private(set) var withheld: [Element] = []
    private var status: Int?
    private var sampled = 0

    /// A threshold of 0 lets everything pass.
    package init(threshold: Int) {
        self.threshold = threshold
        phase = threshold > 0 ? .watching : .decided
    }

    /// Takes the next answer in.
    package mutating func take(_ element: Element, _ answer: Answer) -> Step {
        guard phase != .decided else { return .settle([element]) }
        guard case .permanent(let status) = answer, self.status ?? status == status else {
            return decide(with: element)
        }
        self.status = status
        withheld.append(element)
        switch phase {
        case .watching:
            if withheld.count < threshold { return .wait }
            phase = .sampling
            return .sample
        case .sampling:
            sampled += 1
            return sampled < Self.samples ? .wait : hold(status)
        case .decided: return .settle([element])
        }
    }

    /// Nothing else of this destination waits or is in flight: what is withheld is acted on, or held for where samples
    /// have met the same end.
    package mutating func nothingElse() -> Step {
        if phase == .sampling, sampled > 0, let status { return hold(status) }
        let elements = withheld
        withheld = []
        return .settle(elements)
    }

    private mutating func decide(with element: Element) -> Step {
        defer { withheld = [] }
        phase = .decided
        return .settle(withheld + [element])
    }

    private mutating func hold(_ status: Int) -> Step {
        defer { withheld = [] }
        phase = .decided
        return .hold(withheld, status: status)
    }
}
