/// The source of a secret. The secret itself is in no configuration, operation, argument list, log or error.
package enum SecretSource: Hashable, Sendable {
    /// The content of a file, without its final line break. Refused if anyone but owner and group may read the file, or
    /// anyone but the owner may write it.
    case file(String)
    /// A file for each operation: a template of its path, see `RequestForm.secretFiles`.
    case operationFile(String)
    case environment(String)
    /// A file in the directory that systemd names in `CREDENTIALS_DIRECTORY`.
    case credential(String)
    /// The standard output of a command, without its final line break. Runs share it for `ttl`; if `ttl` is `nil`, each
    /// run keeps it for five minutes.
    case command([String], ttl: Duration?)
    /// An access token, kept across runs until shortly before it expires.
    case oauth2(OAuth2)

    /// Whether resolving the secret has effects. Such a source is never resolved only to check or compare its secret.
    package var hasEffects: Bool {
        switch self {
        case .file, .operationFile, .environment, .credential: false
        case .command, .oauth2: true
        }
    }

    /// Whether a secret has no control character but tabs, so that each place of a request can carry it.
    package static func isText(_ secret: String) -> Bool {
        secret.unicodeScalars.allSatisfy { $0 == "\t" || $0.properties.generalCategory != .control }
    }

    /// Whether the secret can be read at any time, to check or compare it: without effects, and without an operation.
    package var isReadableAlone: Bool {
        if case .operationFile = self { false } else { !hasEffects }
    }
}

extension [String: SecretSource] {
    /// The names of the secrets that are refresh tokens of others.
    package var refreshTokens: Set<String> {
        Set(values.compactMap { if case .oauth2(let oauth2) = $0 { oauth2.refreshSecret } else { nil } })
    }
}

/// The secrets resolved for one attempt.
package struct SecretValues: Sendable {
    @Bytewise package var values: [String: String]
    /// The reasons why secrets are missing, by name; without any part of a secret.
    package var failures: [String: String]
    /// The failures that end by themselves, with the time before the next request: a token endpoint does not answer.
    package var unavailable: [String: Duration]
    /// The files of the secrets that differ from operation to operation, by name.
    @Bytewise package var files: [String: String]

    package init(
        values: [String: String] = [:], failures: [String: String] = [:], unavailable: [String: Duration] = [:],
        files: [String: String] = [:]
    ) {
        self.values = values
        self.failures = failures
        self.files = files
        self.unavailable = unavailable
    }

    package static let none = SecretValues()
}

/// Shows only names and reasons.
extension SecretValues: Confidential {
    package var description: String {
        let reasons = failures.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return "SecretValues(\((values.keys.sorted() + reasons).joined(separator: ", ")))"
    }
}
