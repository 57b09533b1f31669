import Policy

/// The cause of holds and refusals: the configuration that leads to a destination, and its secrets.
struct Blame {
    let configuration: Configuration
    let destinations: DestinationTable
    let credentials: Credentials

    /// Whether the cause has changed since the hold began. If the server refused the secrets (`wasAnswer`), a secret
    /// that this process cannot read is no change: another user's run may read it.
    func hasChanged(since blamed: String, wasAnswer: Bool, of destination: Destination, key: String) -> Bool {
        blamed != fingerprint(of: destination, key: key)
            && (!wasAnswer || secrets(of: destination).failures.isEmpty)
    }

    /// Returns the fingerprint of the configuration and the secrets: those that were `sent`, else those of now. A hold
    /// is blamed on what was refused: a secret that was renewed meanwhile ends the hold.
    func fingerprint(of destination: Destination, key: String, sent: SecretValues = .none) -> String {
        CredentialFingerprint(
            of: destinations.routes(of: destination.digest), destinations.settings(of: destination),
            sources: sources(of: destination),
            values: secrets(of: destination).values.merging(sent.values) { _, sent in sent }, key: key
        ).description
    }

    private func sources(of destination: Destination) -> [String: SecretSource] {
        let leads = destinations.routes(of: destination.digest)
        let settings = destinations.settings(of: destination)
        var names = leads.reduce(into: Set<String>()) { $0.formUnion($1.route.secretNames(settings: settings)) }
        for case .oauth2(let oauth2)? in names.map({ configuration.secrets[$0] }) {
            // The secrets used by a request for a token: a hold ends once they are corrected.
            names.formUnion(oauth2.secretNames(settings: destinations.settings(ofEndpointOf: oauth2)))
        }
        return configuration.secrets.filter { names.contains($0.key) }
    }

    /// Returns the secrets that can be read without effects. Runs no command and fetches no token.
    private func secrets(of destination: Destination) -> SecretValues {
        let readable = sources(of: destination).filter(\.value.isReadableAlone)
        return credentials.values(Set(readable.keys), [:])
    }
}
