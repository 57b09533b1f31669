import Policy

/// What holds are blamed on: the configuration that leads to a destination, and its secrets.
struct Blame {
    let configuration: Configuration
    let destinations: DestinationTable
    let credentials: Credentials

    func fingerprint(of destination: Destination, salt: String) -> String {
        let leads = destinations.routes(of: destination.digest)
        let settings = destinations.settings(of: destination)
        let names = leads.reduce(into: Set<String>()) { $0.formUnion($1.route.secretNames(settings: settings)) }
        let sources = configuration.secrets.filter { names.contains($0.key) }
        // Commands are not run only to see what they would say.
        let readable = sources.filter { if case .command = $0.value { false } else { true } }
        return CredentialFingerprint(
            of: leads, settings, sources: sources, values: credentials.values(Set(readable.keys)).values, salt: salt
        ).description
    }
}
