import Policy

/// The cause of holds and refusals: the configuration that leads to a destination, and its secrets.
struct Blame {
    let configuration: Configuration
    let destinations: DestinationTable
    let credentials: Credentials

    /// Whether the cause has changed since the hold began. A file that cannot be used is a change: the next attempt
    /// says why. If the server refused the secrets (`wasAnswer`), a variable or a credential that this process lacks is
    /// no change: the environment of another run may have it.
    func hasChanged(since blamed: String, wasAnswer: Bool, of destination: Destination, key: String) -> Bool {
        let secrets = secrets(of: destination)
        let lacksOwn = secrets.failures.keys.contains { !isFile($0) }
        return secrets.unavailable.isEmpty && !(wasAnswer && lacksOwn)
            && blamed != fingerprint(of: destination, secrets, key: key)
    }

    /// Returns the fingerprint of the configuration and the secrets: those that were `sent`, else those of now. A hold
    /// is blamed on what was refused: a secret that was renewed meanwhile ends the hold.
    func fingerprint(of destination: Destination, key: String, sent: SecretValues = .none) -> String {
        var secrets = secrets(of: destination)
        secrets.values.merge(sent.values) { _, sent in sent }
        return fingerprint(of: destination, secrets, key: key)
    }

    private func fingerprint(of destination: Destination, _ secrets: SecretValues, key: String) -> String {
        CredentialFingerprint(
            of: destinations.routes(of: destination.digest), destinations.settings(of: destination),
            sources: sources(of: destination), values: secrets.values,
            failures: secrets.failures.filter { isFile($0.key) }, key: key
        ).description
    }

    private func isFile(_ secret: String) -> Bool {
        if case .file? = configuration.secrets[secret] { true } else { false }
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
