import Policy

/// The cause of holds and refusals: the configuration that leads to a destination, and its secrets.
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
        var names = leads.reduce(into: Set<String>()) { $0.formUnion($1.route.secretNames(settings: settings)) }
        for case .oauth2(let oauth2)? in names.map({ configuration.secrets[$0] }) {
            // What a token is asked for with: a hold ends once that is mended.
            names.formUnion(oauth2.secretNames(settings: destinations.settings(ofEndpointOf: oauth2)))
        }
        return configuration.secrets.filter { names.contains($0.key) }
    }

    /// Commands are not run, and no token is fetched, only to see what they would say.
    private func secrets(of destination: Destination) -> SecretValues {
        let readable = sources(of: destination).filter { !$0.value.hasEffects }
        return credentials.values(Set(readable.keys))
    }
}
