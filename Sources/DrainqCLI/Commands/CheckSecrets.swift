import Delivery
import Policy

/// Reads the files of secrets as a run would, and signs an assertion with each key. Only notes a missing variable or
/// credential, which may be the service's alone. Runs no command, because it has effects. Also notes credentials that
/// are written out in routes.
func checkSecrets(_ queue: OpenQueue, _ environment: [String: String], _ findings: inout Findings) {
    let sources = queue.configuration.secrets
    let store = SecretStore(sources: sources, environment: environment, base: queue.directory)
    let before = findings.applying.count
    let used = usedSecrets(queue.configuration)
    let signer = JWTSigner(directory: queue.directory, environment: store.commandEnvironment)
    for (name, source) in sources.sorted(by: { $0.key < $1.key }) {
        guard used.contains(name) else {
            findings.note("nothing uses the secret '\(name)': write ${secret:\(name)} where it belongs, or remove it")
            continue
        }
        if case .oauth2(let oauth2) = source, let assertion = oauth2.assertion,
            case .failure(let failure) = signer.sign(assertion, audience: oauth2.tokenURL, at: .now())
        {
            findings.problem(
                .configuration, "the secret '\(name)' needs an assertion, which \(failure.reason)",
                hint: "runs hold its destinations until the key signs")
        }
        if !source.isReadableAlone { continue }
        let found = store.values([name])
        if let value = found.values[name], value.utf8.count < Redaction.shortestSecret {
            findings.note(
                "the secret '\(name)' has less than \(Redaction.shortestSecret) bytes: drainq does not hide it where an answer repeats it"
            )
        }
        guard let failure = found.failures[name] else { continue }
        if case .file = source {
            findings.problem(
                .configuration, "the secret '\(name)' \(failure)",
                hint: sources.refreshTokens.contains(name)
                    ? "a run of the packaged unit can write only below its queue: put the file there, with mode 0600"
                    : "runs hold its destinations until they can read the secret")
        } else {
            findings.note(
                "the secret '\(name)' \(failure); a run with another environment, such as a service, may have it")
        }
    }
    if !sources.isEmpty { findings.ok("secrets", since: before) }
    let defaults = queue.configuration.defaultRoute
    for (type, route) in [(.default, defaults)]
        + queue.configuration.routes.sorted(by: { $0.key < $1.key })
    {
        let (inherited, signing) = type == .default ? ([], nil) : (defaults.headers, defaults.awsSigning)
        if let own = route.awsSigning, own != signing, !own.hasSecretKey {
            findings.note(
                "the route '\(type)' contains its 'sign.aws.secretKey'; put the key into 'secrets' and write ${secret:NAME} here"
            )
        }
        for header in route.headers where isLiteralCredential(header) && !inherited.contains(header) {
            findings.note(
                "the route '\(type)' contains a credential in its header '\(header.name)'; put the credential into 'secrets' and write ${secret:NAME} here"
            )
        }
    }
}

/// Returns the names of the secrets that a route, a destination or another secret needs.
private func usedSecrets(_ configuration: Configuration) -> Set<String> {
    let routes = [configuration.defaultRoute] + configuration.routes.values
    let names = routes.flatMap { $0.secretNames(settings: DestinationSettings()) }
    let others = configuration.secrets.values.flatMap { source in
        if case .oauth2(let oauth2) = source { oauth2.secretNames() } else { Set<String>() }
    }
    return Set(names + configuration.destinations.values.flatMap(\.connection.secretNames) + others)
}

/// Whether the name of the field says that it carries a credential, and its value does not refer to a secret.
private func isLiteralCredential(_ header: HeaderField) -> Bool {
    let name = header.name.lowercased()
    let isCredential =
        ["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "apikey"].contains(name)
        || name.hasSuffix("-token")
    return isCredential && !header.value.contains("${secret:")
}
