import Policy

/// A secret as written: it may have no source or several.
struct SecretDraft: Hashable, Sendable {
    static let defaultTTL = Duration.seconds(300)

    private(set) var sources: [SecretSource] = []
    private(set) var keys: [String] = []
    var ttl: Duration?

    mutating func add(_ key: String, _ source: SecretSource) {
        keys.append(key)
        sources.append(source)
    }
}

extension ConfigurationValue<SecretSource> {
    static let secret = object("secret", of: ConfigurationKeys.secret, from: SecretDraft()) {
        draft, position, findings in
        guard let source = draft.sources.first else {
            findings.add(
                "this secret has no source", at: position,
                hint: "give it exactly one of file, env, credential, command and oauth2")
            return nil
        }
        if draft.sources.count > 1 {
            findings.add(
                "this secret has \(draft.keys.map { "'\($0)'" }.joined(separator: " and "))", at: position,
                hint: "give it exactly one of file, env, credential, command and oauth2")
            return nil
        }
        guard let ttl = draft.ttl else { return source }
        guard case .command(let words, _) = source else {
            findings.add(
                "this secret has a 'ttl' and no 'command'", at: position,
                hint: "'ttl' applies only to the output of a command")
            return nil
        }
        return .command(words, ttl: ttl)
    }
}

extension ConfigurationValue<OAuth2> {
    static let oauth2 = object(
        "token", of: ConfigurationKeys.oauth2, from: OAuth2(tokenURL: "", clientID: "", clientSecret: "")
    ) { oauth2, position, findings in
        let texts = [
            ("tokenUrl", oauth2.tokenURL), ("clientId", oauth2.clientID), ("clientSecret", oauth2.clientSecret),
        ]
        guard let lacking = texts.first(where: { $0.1.isEmpty }) else { return oauth2 }
        findings.add(
            "'\(lacking.0)' is missing", at: position, hint: "tokenUrl, clientId and clientSecret are required")
        return nil
    }
}

extension ConfigurationValue<String> {
    /// The url of a token endpoint, without placeholders.
    static let endpoint = urlTemplate.checked("a template", hint: "the endpoint's url is the same for each token") {
        !$0.contains("{")
    }

    /// The name of an environment variable (POSIX, "Name").
    static let variable = ConfigurationValue(
        "variable", .text(pattern: "^[A-Za-z_][A-Za-z0-9_]*$"),
        hint: "a variable is letters, digits and '_', and does not begin with a digit"
    ) { value in
        value.string.flatMap { $0.wholeMatch(of: /[A-Za-z_][A-Za-z0-9_]*/) == nil ? nil : $0 }
    }

    /// The name of a file in systemd's directory of credentials.
    static let credential = ConfigurationValue(
        "credential", .text(), hint: "a credential is a file's name, without a slash"
    ) { value in
        value.string.flatMap { isName($0) ? $0 : nil }
    }
}

extension ConfigurationValue<[String]> {
    /// The names of environment variables. The list may be empty.
    static let variables = ConfigurationValue(
        "list of variables", .list(ConfigurationValue<String>.variable.shape(), atLeast: 0)
    ) { value, findings in
        if case .array(let elements) = value.content, elements.isEmpty { return [] }
        return ConfigurationValue<String>.variable.list(hint: "variables are written [\"AWS_PROFILE\"]")
            .read(value, &findings)
    }
}
