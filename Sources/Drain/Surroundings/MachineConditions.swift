import Delivery
import Policy

/// The machine's conditions for sending: the configuration's conditions, and whether there is a network.
final class MachineConditions {
    private let asked: Conditions
    private let world: World
    private let book: DestinationBook
    private let tally: RunTally
    /// Why the run sends nothing to other machines (`elsewhere`), and to this machine (`here`); `nil` if it sends.
    private var refusal: (elsewhere: String?, here: String?)
    /// The earliest time for an attempt while the machine runs on battery; `nil` if there is no delay.
    private var opens: ContinuousClock.Instant?
    /// The earliest time of the next check, which runs a program if the configuration asks for a metered network.
    private var nextLook: ContinuousClock.Instant
    private var network = Network()

    private struct Network {
        /// The lack of a network, found by an attempt of this or an earlier run; `nil` if there is a network.
        var offline: (absence: NetworkAbsence, error: NetworkError)?
        /// Whether there seems to be no network, before an attempt has shown it; `nil` before the first check.
        var seemsOffline: Bool?
        /// Whether the ledger's record of the network has been read.
        var isKnown = false
    }

    /// `asked` is empty if the user gives `--now` or names operations, which overrides the conditions.
    init(_ asked: Conditions, _ world: World, _ book: DestinationBook, _ tally: RunTally) {
        self.asked = asked
        self.world = world
        self.book = book
        self.tally = tally
        nextLook = world.clock.instant()
    }

    /// Looks at network and power, before each pass. Records nothing if `isPlanning`.
    func look(isPlanning: Bool) {
        lookForNetwork(isPlanning)
        lookForConditions()
    }

    /// Looks again within a pass, for at most a twentieth of the time. The result applies to operations not sent yet.
    func lookAgain() {
        if asked.asksNothing || world.clock.instant() < nextLook { return }
        lookForConditions()
        for destination in book.destinations.values where destination.offered > 0 { apply(to: destination) }
    }

    /// Applies the conditions to a destination. If they block it, records the reason in the summary.
    func apply(to destination: RunDestination) {
        let isReachedLocally = destination.identity.isReachedLocally(destination.settings)
        var reason = destination.isLocal ? refusal.here : refusal.elsewhere
        if reason == nil, !isReachedLocally { reason = network.offline?.absence.description }
        destination.control.lacksConditions = reason != nil
        destination.control.isCautious =
            reason == nil && !destination.control.hasReported && !isReachedLocally && seemsOffline()
        tally.summary.conditions = reason ?? tally.summary.conditions
    }

    /// The time until the first attempt may begin; zero if it may begin now.
    var delay: Duration {
        guard let opens else { return .zero }
        return max(.zero, opens - world.clock.instant())
    }

    private func lookForConditions() {
        if asked.asksNothing { return }
        let start = world.clock.instant()
        let surroundings = world.surroundings(asked)
        refusal = asked.refusals(in: surroundings)
        // One delay for the run, and none once there is mains power.
        if case .go(let delay) = Conditions(power: asked.power).decision(in: surroundings) {
            opens = delay > .zero ? opens ?? start + delay : nil
        }
        let end = world.clock.instant()
        nextLook = end + max(.seconds(1), start.duration(to: end) * 20)
    }

    // MARK: - The network

    /// Looks whether a recorded absence of the network has ended.
    private func lookForNetwork(_ isPlanning: Bool) {
        let known = network.offline?.error ?? (network.isKnown ? nil : book.offline?.error)
        network.isKnown = true
        guard let known else { return }
        let absence = world.networkState().absence(behind: known)
        network.offline = absence.map { ($0, known) }
        if absence == nil, !isPlanning { book.remember(offline: nil) }
    }

    /// Whether an attempt is likely to find no network. Looks once in a run.
    private func seemsOffline() -> Bool {
        if let known = network.seemsOffline { return known }
        let looksSo = world.networkState().absence(behind: .offline) != nil
        network.seemsOffline = looksSo
        return looksSo
    }

    /// Records that there is no network, and sends nothing more to other machines in this pass.
    func block(for absence: NetworkAbsence, _ error: NetworkError) {
        if network.offline == nil {
            let isNew = book.offline == nil
            book.remember(offline: DestinationLedger.Offline(since: world.now(), error: error))
            tally.tell(.networkAbsent(absence, isNew: isNew))
        }
        network.offline = (absence, error)
        for destination in book.destinations.values { apply(to: destination) }
    }
}
