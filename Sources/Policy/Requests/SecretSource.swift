/// The source of a secret. The secret itself is in no configuration, operation, argument list, log or error.
package enum SecretSource: Hashable, Sendable {
    /// The content of a file, without the line break at its end; refused where others than owner and group may read
    /// it, or others than the owner may write it.
    case file(String)
    case environment(String)
    /// A file in the directory that systemd names in `CREDENTIALS_DIRECTORY`.
    case credential(String)
    /// The standard output of a command, without the line break at its end; kept for `ttl` within a run.
    case command([String], ttl: Duration)
    /// An access token, kept across runs until shortly before it expires.
    case oauth2(OAuth2)

    /// Whether looking has effects: nobody looks only to see what the secret is.
    package var hasEffects: Bool {
        switch self {
        case .file, .environment, .credential: false
        case .command, .oauth2: true
        }
    }
}

/// The secrets resolved for one attempt.
package struct SecretValues: Sendable {
    package var values: [String: String]
    /// Why a secret is not there, by name; never with anything of the secret.
    package var failures: [String: String]
    /// Which of the failures are nobody's fault and end by themselves: a token's endpoint that does not answer.
    package var unavailable: [String: NetworkError]

    package init(
        values: [String: String] = [:], failures: [String: String] = [:], unavailable: [String: NetworkError] = [:]
    ) {
        self.values = values
        self.failures = failures
        self.unavailable = unavailable
    }

    package static let none = SecretValues()
}

/// Only names and reasons are shown, in a dump and in a debugger too.
extension SecretValues: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String {
        let reasons = failures.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return "SecretValues(\((values.keys.sorted() + reasons).joined(separator: ", ")))"
    }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
