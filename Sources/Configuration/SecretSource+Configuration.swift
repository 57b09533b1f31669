import Policy

/// A secret as written: it may have no source or several.
struct SecretDraft: Sendable {
    var sources: [(key: String, source: SecretSource)] = []
    var ttl: Duration?
}

extension ConfigurationValue<SecretSource> {
    static let secret = object("secret", of: ConfigurationKeys.secret, from: SecretDraft()) {
        draft, position, findings in
        guard let source = draft.sources.first?.source else {
            return findings.refuse(
                "this secret has no source", at: position,
                hint: "give it exactly one of file, env, credential, command and oauth2")
        }
        if draft.sources.count > 1 {
            return findings.refuse(
                "this secret has \(draft.sources.map { "'\($0.key)'" }.joined(separator: " and "))", at: position,
                hint: "give it exactly one of file, env, credential, command and oauth2")
        }
        guard let ttl = draft.ttl else { return source }
        guard case .command(let words, _) = source else {
            return findings.refuse(
                "this secret has a 'ttl' and no 'command'", at: position,
                hint: "'ttl' applies only to the output of a command")
        }
        return .command(words, ttl: ttl)
    }
}

extension ConfigurationValue<SecretSource> {
    /// The path of a file, or a template of paths.
    static let secretFile = ConfigurationValue("path", .text()) { value, findings in
        guard let path = ConfigurationValue<String>.path.read(value, &findings),
            findings.check(path, as: .file, at: value.position), let template = try? Template(path, for: .file)
        else { return nil }
        return template.isFixed ? .file(template.literals.joined()) : .operationFile(path)
    }
}

extension ConfigurationValue<OAuth2> {
    static let oauth2 = object(
        "token", of: ConfigurationKeys.oauth2, from: OAuth2(tokenURL: "")
    ) { oauth2, position, findings in
        let hasGrant = oauth2.refreshToken != nil || oauth2.assertion != nil
        var problem: (reason: String, hint: String)?
        if oauth2.refreshToken != nil, oauth2.assertion != nil {
            problem = ("'refreshToken' and 'assertion' exclude each other", "a token has one grant")
        } else if !hasGrant, oauth2.clientID == nil || oauth2.clientSecret == nil {
            problem = ("'clientId' or 'clientSecret' is missing", "else give it a 'refreshToken' or an 'assertion'")
        } else if oauth2.clientSecret != nil, oauth2.clientID == nil {
            problem = ("'clientId' is missing", "the secret is that of a client")
        } else if oauth2.assertion?.keyFile.isEmpty == true {
            problem = ("'assertion.key' is missing", "the file of a private key, as in assertion: { key: \"key.pem\" }")
        }
        guard let problem else { return oauth2 }
        return findings.refuse(problem.reason, at: position, hint: problem.hint)
    }
}

extension ConfigurationValue<[String: String]> {
    static let texts = ConfigurationValue("texts by name", .map(.text())) { value, findings in
        findings.members(of: value, hint: "claims are written { iss: \"drainq\", sub: \"42\" }").map { members in
            var texts: [String: String] = [:]
            for member in members {
                findings.within(member.name) { findings in
                    if let text = member.value.string { return texts[member.name] = text }
                    findings.add("\(member.value.quoted) is not a text", at: member.value.position)
                }
            }
            return texts
        }
    }
}

extension ConfigurationValue<String> {
    /// One secret and nothing else.
    static let secretReference = template(.setting).checked("not a secret", hint: "write ${secret:NAME}") { text in
        guard let template = try? Template(text, for: .setting), let name = template.secretNames.first else {
            return false
        }
        return text == "${secret:\(name)}"
    }

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
    static let variables = ConfigurationValue<String>.variable.list(
        atLeast: 0, hint: "variables are written [\"AWS_PROFILE\"]")
}
