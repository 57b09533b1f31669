import Policy

/// What holds and refusals are blamed on: the configuration that leads to a destination, and its secrets.
struct Blame {
    let configuration: Configuration
    let destinations: DestinationTable
    let credentials: Credentials

    /// Whether it is something else now than when the hold began. A secret that this process cannot see is no change of
    /// one that was refused (`wasAnswer`): another user's run may see it.
    func hasChanged(since blamed: String?, wasAnswer: Bool, of destination: Destination, salt: String) -> Bool {
        guard let blamed, blamed != fingerprint(of: destination, salt: salt) else { return false }
        return !wasAnswer || secrets(of: destination).failures.isEmpty
    }

    func fingerprint(of destination: Destination, salt: String) -> String {
        CredentialFingerprint(
            of: destinations.routes(of: destination.digest), destinations.settings(of: destination),
            sources: sources(of: destination), values: secrets(of: destination).values, salt: salt
        ).description
    }

    private func sources(of destination: Destination) -> [String: SecretSource] {
        let leads = destinations.routes(of: destination.digest)
        let settings = destinations.settings(of: destination)
        let names = leads.reduce(into: Set<String>()) { $0.formUnion($1.route.secretNames(settings: settings)) }
        return configuration.secrets.filter { names.contains($0.key) }
    }

    /// Commands are not run only to see what they would say.
    private func secrets(of destination: Destination) -> SecretValues {
        let readable = sources(of: destination).filter { if case .command = $0.value { false } else { true } }
        return credentials.values(Set(readable.keys))
    }
}
