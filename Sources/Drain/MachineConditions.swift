import Delivery
import Policy

/// The machine's conditions for sending: those of the configuration, and whether there is a network at all.
final class MachineConditions {
    private let asked: Conditions
    private let world: World
    private let book: DestinationBook
    private let tally: RunTally
    /// Why nothing may be sent to other machines, and why nothing may be sent at all.
    private var refusal: (elsewhere: String?, here: String?)
    /// The earliest time for an attempt, because the machine runs on battery.
    private var opens: ContinuousClock.Instant?
    /// A look costs a program's run where the configuration asks whether the network is metered.
    private var nextLook: ContinuousClock.Instant
    private var network = Network()

    private struct Network {
        /// This machine has no network, as an attempt of this run or of one before has found.
        var offline: (absence: NetworkAbsence, error: NetworkError)?
        /// Whether it looks so before an attempt has shown it; `nil` before the first look.
        var seemsOffline: Bool?
        /// Whether what the ledger says of the network has been looked at.
        var isKnown = false
    }

    /// A person who says `--now`, or names the operations, overrides the conditions: `asked` is empty then.
    init(_ asked: Conditions, _ world: World, _ book: DestinationBook, _ tally: RunTally) {
        self.asked = asked
        self.world = world
        self.book = book
        self.tally = tally
        nextLook = world.clock.instant()
    }

    /// Looks at network and power, before each pass. `isPlanning` is true where nothing may be remembered of it.
    func look(isPlanning: Bool) {
        lookForNetwork(isPlanning)
        lookForConditions()
    }

    /// Looks again within a pass, so that no more than a twentieth of the time goes into it. What it finds is for the
    /// operations that are not sent yet.
    func lookAgain() {
        if asked.asksNothing || world.clock.instant() < nextLook { return }
        lookForConditions()
        for destination in book.destinations.values where destination.offered > 0 { apply(to: destination) }
    }

    /// Lets a destination be sent to, or says in the summary why not.
    func apply(to destination: RunDestination) {
        let isReachedLocally = destination.identity.isReachedLocally(destination.settings)
        var reason = destination.isLocal ? refusal.here : refusal.elsewhere
        if reason == nil, !isReachedLocally { reason = network.offline?.absence.description }
        destination.lacksConditions = reason != nil
        destination.isCautious =
            reason == nil && !destination.hasBeenHeard && !isReachedLocally && seemsOffline()
        tally.summary.conditions = reason ?? tally.summary.conditions
    }

    /// The time until the first attempt may begin; zero means now.
    var delay: Duration {
        guard let opens else { return .zero }
        return max(.zero, opens - world.clock.instant())
    }

    private func lookForConditions() {
        if asked.asksNothing { return }
        let start = world.clock.instant()
        let surroundings = world.surroundings(asked)
        refusal = (nil, nil)
        if case .wait(let reason) = asked.decision(in: surroundings) { refusal.elsewhere = reason }
        // No network is no reason on this machine itself.
        switch Conditions(power: asked.power).decision(in: surroundings) {
        case .wait(let reason): refusal.here = reason
        // One delay for the run; none any more once there is mains power.
        case .go(let delay): opens = delay > .zero ? opens ?? start + delay : nil
        }
        let end = world.clock.instant()
        nextLook = end + max(.seconds(1), start.duration(to: end) * 20)
    }

    // MARK: - The network

    /// Looks whether the network that was away is still away.
    private func lookForNetwork(_ isPlanning: Bool) {
        let known = network.offline?.error ?? (network.isKnown ? nil : book.offline?.error)
        network.isKnown = true
        guard let known else { return }
        let absence = world.networkWays().absence(behind: known)
        network.offline = absence.map { ($0, known) }
        if absence == nil, !isPlanning { book.remember(offline: nil) }
    }

    /// Whether an attempt is likely to find no network. Looked up once a run, where it has something to send elsewhere.
    private func seemsOffline() -> Bool {
        if let known = network.seemsOffline { return known }
        let looksSo = world.networkWays().absence(behind: .offline) != nil
        network.seemsOffline = looksSo
        return looksSo
    }

    /// Sends nothing more to other machines in this pass.
    func close(for absence: NetworkAbsence, _ error: NetworkError) {
        if network.offline == nil {
            let isNew = book.offline == nil
            book.remember(offline: DestinationLedger.Offline(since: world.now(), error: error))
            tally.tell(.networkAbsent(absence, isNew: isNew))
        }
        network.offline = (absence, error)
        for destination in book.destinations.values { apply(to: destination) }
    }
}
