import Delivery
import Policy
import Spool

extension Run {
    /// What this machine lets go: the configuration's conditions, and whether there is a network at all.
    struct Gate {
        /// Why nothing may be sent to other machines, and why nothing may be sent at all.
        var elsewhere: String?
        var here: String?
        /// This machine has no network; found by an attempt of this run or of one before.
        var offline: (absence: NetworkAbsence, error: NetworkError)?
        /// Whether it looks so before an attempt has shown it; `nil` before the first look.
        var seemsOffline: Bool?
        /// What the ledger has of that was looked at.
        var isNetworkKnown = false
        /// Nothing is sent before: the machine runs on battery.
        var opens: ContinuousClock.Instant?
        /// Looking costs a program's run where it is asked whether the network is metered.
        var nextLook = ContinuousClock.now
    }

    /// Looks at network and power, before each pass.
    func lookAround(_ now: Timestamp) {
        lookForNetwork(now)
        lookForConditions()
    }

    /// The same within a pass, and no more than a twentieth of the time goes into it. What lets go or keeps back is for the
    /// operations that are not sent yet.
    func lookAroundAgain() {
        if !asksForConditions || .now < gate.nextLook { return }
        lookForConditions()
        for lane in book.lanes.values where lane.offered > 0 { pass(lane) }
    }

    /// Lets the lane send, or says in the summary why not.
    func pass(_ lane: Lane) {
        var reason = lane.isLocal ? gate.here : gate.elsewhere
        if reason == nil, !lane.destination.isReachedLocally(lane.settings) {
            reason = gate.offline?.absence.description
        }
        lane.lacksConditions = reason != nil
        lane.isCautious = reason == nil && !lane.hasBeenHeard && seemsOffline(for: lane)
        tally.summary.conditions = reason ?? tally.summary.conditions
    }

    /// How long until the first attempt may begin; zero for now.
    func waitOfGate() -> Duration {
        guard let opens = gate.opens else { return .zero }
        return max(.zero, opens - .now)
    }

    // MARK: - Conditions

    /// A person who says `--now`, or names the operations, overrides the conditions.
    private var asksForConditions: Bool { !configuration.conditions.asksNothing && !options.ignoresBackoff }

    private func lookForConditions() {
        let asked = configuration.conditions
        if !asksForConditions { return }
        let start = ContinuousClock.now
        let surroundings = world.surroundings(asked)
        (gate.elsewhere, gate.here) = (nil, nil)
        if case .wait(let reason) = asked.decision(in: surroundings) { gate.elsewhere = reason }
        // No network is no reason on this machine itself.
        switch Conditions(power: asked.power).decision(in: surroundings) {
        case .wait(let reason): gate.here = reason
        // One delay for the run; none any more once there is mains power.
        case .go(let delay): gate.opens = delay > .zero ? gate.opens ?? start + delay : nil
        }
        gate.nextLook = .now + max(.seconds(1), start.duration(to: .now) * 20)
    }

    // MARK: - The network

    /// Whether the network that was away is still away.
    private func lookForNetwork(_ now: Timestamp) {
        let known = gate.offline?.error ?? (gate.isNetworkKnown ? nil : book.ledger.offline?.error)
        gate.isNetworkKnown = true
        guard let known else { return }
        let absence = world.networkWays().absence(behind: known)
        gate.offline = absence.map { ($0, known) }
        if absence == nil, !isPlanning { book.remember(offline: nil) }
    }

    /// Whether an attempt is likely to find no network. Looked up once a run, where it has something to send elsewhere.
    private func seemsOffline(for lane: Lane) -> Bool {
        if lane.destination.isReachedLocally(lane.settings) { return false }
        if let known = gate.seemsOffline { return known }
        let looksSo = world.networkWays().absence(behind: .offline) != nil
        gate.seemsOffline = looksSo
        return looksSo
    }

    /// Why this machine has no network, where that is what an attempt's error comes of; `nil` where it has one.
    func absence(behind report: AttemptReport, of lane: Lane) -> NetworkAbsence? {
        guard case .failure(let error, _) = report.result, !lane.destination.isReachedLocally(lane.settings) else {
            return nil
        }
        return world.networkWays().absence(behind: error) ?? (error == .offline ? .reported : nil)
    }

    /// Sends nothing more to other machines in this pass.
    func close(for absence: NetworkAbsence, _ error: NetworkError) {
        if gate.offline == nil {
            let offline = DestinationLedger.Offline(since: world.now(), error: error)
            let isNew = book.ledger.offline == nil
            book.remember(offline: offline)
            tally.tell(.networkAbsent(absence, isNew: isNew))
        }
        gate.offline = (absence, error)
        for lane in book.lanes.values { pass(lane) }
    }
}
