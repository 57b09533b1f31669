import Policy

extension Run {
    /// What one call of `attempt` keeps.
    struct Round {
        let concurrency: Int
        var order = DispatchOrder()
        /// By their position in the order.
        private(set) var candidates: [Candidate] = []
        /// By their line in it.
        private(set) var lanes: [Lane] = []
        var flying: [Int: Flight] = [:]
        /// Operations in the order that are claimed and read already: the batch before them had no room for them.
        var claimed: [OperationID: Member] = [:]
        /// Operations that were claimed.
        var begun = 0
        var graceEnd: ContinuousClock.Instant?

        init(concurrency: Int) { self.concurrency = concurrency }

        mutating func append(_ candidate: Candidate, of lane: Lane) {
            if !has(lane) {
                lane.line = lanes.count
                lanes.append(lane)
            }
            candidates.append(candidate)
            order.append(to: lane.line, sequence: candidate.sequence)
        }

        /// Whether nothing of a lane is still to be attempted.
        func isEmpty(of lane: Lane) -> Bool { !has(lane) || order.isEmpty(lane.line) }

        mutating func newest(of lane: Lane, upTo limit: Int) -> [Candidate] {
            has(lane) ? order.newest(of: lane.line, upTo: limit).map { candidates[$0] } : []
        }

        private func has(_ lane: Lane) -> Bool { lane.line < lanes.count && lanes[lane.line] === lane }
    }
}
