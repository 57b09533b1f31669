/// An outcome of a run that its exit status shows.
package enum RunOutcome: Hashable, Sendable, CaseIterable {
    /// A second signal cut off the attempts in flight.
    case cutOff
    case inputOutput
    /// A due operation waits because its destination, or the operation itself, is held.
    case held
    case failed
    case quarantined
    /// A due operation waits for a later run, or a run that stays until the queue is empty has ended before.
    case deferred
}

extension RunSummary {
    /// The outcomes that apply to the run; none if every due operation is delivered.
    package var outcomes: Set<RunOutcome> {
        if wasCutOff { return [.cutOff] }
        var outcomes: Set<RunOutcome> = []
        if counts.inputOutputErrors > 0 { outcomes.insert(.inputOutput) }
        if counts.held + counts.ambiguous > 0 { outcomes.insert(.held) }
        if counts.failed > 0 { outcomes.insert(.failed) }
        if counts.quarantined > 0 { outcomes.insert(.quarantined) }
        if counts.deferred + counts.cutOff + counts.waiting > 0 || leftForeign || leavesWaiting {
            outcomes.insert(.deferred)
        }
        switch end {
        case .done: break
        case .busy: outcomes.insert(.deferred)
        case .paused, .timeUp, .signal, .broken:
            if counts.leftDue > 0 { outcomes.insert(.deferred) }
        }
        return outcomes
    }
}
