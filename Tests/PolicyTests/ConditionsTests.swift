import Policy
import Testing

struct ConditionsTests {
    private static let offline = Surroundings(isOnline: false)
    private static let metered = Surroundings(isMetered: true)
    private static let unknown = Surroundings(isMetered: nil)
    private static let battery = Surroundings(isOnBattery: true)

    @Test(
        arguments: [
            (.any, offline, true), (.any, metered, true),
            (.online, offline, false), (.online, metered, true), (.online, unknown, true),
            (.unmetered, offline, false), (.unmetered, metered, false), (.unmetered, unknown, true),
            (.unmetered, Surroundings(isMetered: false), true),
        ] as [(Conditions.Network, Surroundings, Bool)])
    func `a run waits for a network as configured`(network: Conditions.Network, surroundings: Surroundings, goes: Bool)
    {
        let decision = Conditions(network: network).decision(in: surroundings)
        switch decision {
        case .go(let delay): #expect(goes && delay == .zero)
        case .wait(let reason): #expect(!goes && reason.contains("conditions.network is '\(network.rawValue)'"))
        }
    }

    @Test func `on battery a run goes, waits or begins later, and on mains power a run goes`() {
        let slowly = Conditions(power: .delayOnBattery(.seconds(5)))
        #expect(Conditions(power: .any).decision(in: Self.battery) == .go(delay: .zero))
        #expect(slowly.decision(in: Self.battery) == .go(delay: .seconds(5)))
        guard case .wait = Conditions(power: .mains).decision(in: Self.battery) else {
            Issue.record("on battery something goes that asks for mains power")
            return
        }
        for conditions in [slowly, Conditions(power: .mains)] {
            #expect(conditions.decision(in: Surroundings()) == .go(delay: .zero))
        }
    }

    @Test func `the kind of network follows from the machine's routes and metering`() {
        #expect(NetworkState().kind(isMetered: nil) == .online)
        #expect(NetworkState().kind(isMetered: false) == .online)
        #expect(NetworkState().kind(isMetered: true) == .metered)
        #expect(NetworkState(hasDefaultRoute: false).kind(isMetered: true) == .local)
        #expect(NetworkState(hasRoute: false, hasDefaultRoute: false).kind(isMetered: nil) == .none)
        #expect(NetworkState(hasInterface: false).kind(isMetered: nil) == .none)
        #expect(NetworkState(hasResolver: false).kind(isMetered: nil) == .online)
    }
}
