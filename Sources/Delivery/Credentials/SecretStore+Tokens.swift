import Policy

/// Requests for OAuth 2 tokens.
extension SecretStore {
    /// What a request for a token is made from.
    struct TokenInputs {
        var secrets: SecretValues
        /// All that says whose token the endpoint gives. Two requests with the same get tokens of the same user.
        var credentials: RequestCredentials
        /// The identity of the refresh token's file, which a new refresh token does not change; `nil` without a file.
        var login: String?
    }

    /// Returns the names of the secrets that a request for a token needs. A token cannot be needed to ask for a token:
    /// that would recurse.
    func needs(of oauth2: OAuth2) -> Set<String> {
        guard let tokens else { return [] }
        return oauth2.secretNames(settings: tokens.settings(oauth2))
            .filter { if case .oauth2? = sources[$0] { false } else { true } }
    }

    /// Returns what a request for a token would be made from now. Throws if a secret is missing.
    func tokenInputs(
        of oauth2: OAuth2, at now: ContinuousClock.Instant
    ) throws(SecretDefect) -> TokenInputs {
        // Before the content: a login between the two only makes another request.
        let login = refreshFile(of: oauth2).map { FileIdentity($0.path)?.login ?? "" }
        let secrets = values(needs(of: oauth2), at: now)
        if let (name, reason) = secrets.failures.min(by: { $0.key < $1.key }) {
            throw SecretDefect(
                place: place(of: oauth2), reason: "needs the secret '\(name)', which \(reason)",
                delay: secrets.unavailable[name])
        }
        // drainq itself writes new refresh tokens of one login to the file: with each, a token of another scope or
        // runtime directory would be another one. The names of the secrets may differ from queue to queue.
        let known = secrets.values.filter { login == nil || $0.key != oauth2.refreshSecret }
        let settings = tokens?.settings(oauth2) ?? DestinationSettings()
        let files = oauth2.credentialFiles(settings: settings).map { FileIdentity($0)?.description ?? "" }
        let texts = known.values.uniqueByBytes + [login ?? ""] + files
        return TokenInputs(
            secrets: secrets,
            credentials: RequestCredentials(
                texts + ["\(try connection(to: oauth2, settings, secrets))"], areOwn: false), login: login)
    }

    /// Returns the connection by which the endpoint is asked: a socket or a proxy may lead to another account.
    private func connection(
        to oauth2: OAuth2, _ settings: DestinationSettings, _ secrets: SecretValues
    ) throws(SecretDefect) -> ConnectionOptions {
        do throws(RequestError) {
            var options = try settings.connection.expanded(with: secrets)
            options.proxy = options.proxy(for: oauth2.tokenURL).map { .url($0) } ?? .direct
            return options
        } catch {
            throw SecretDefect(place: place(of: oauth2), reason: "cannot be asked: \(error)")
        }
    }

    /// Returns a token, and the credentials that it was made from.
    func token(
        _ oauth2: OAuth2, except refused: String?, at now: ContinuousClock.Instant
    ) throws(SecretDefect) -> TokenSource.Issue {
        let place = place(of: oauth2)
        guard let tokens else { throw SecretDefect(place: place, reason: "cannot be asked for tokens by this command") }
        let inputs = try tokenInputs(of: oauth2, at: now)
        // Two clients whose ids come from secrets of the same name have a token each. No other secret is in the name.
        let client = (try? oauth2.expandedClientID(inputs.secrets)) ?? ""
        let refreshFile = refreshFile(of: oauth2)
        let refresh =
            refreshFile?.path ?? oauth2.refreshSecret.flatMap { sources[$0] }.map { "\(base) \($0)" } ?? ""
        let assertion =
            oauth2.assertion.map {
                "\($0.keyFile) \($0.keyID ?? "") \($0.claims.sorted { $0.key < $1.key })"
            } ?? ""
        let parts = [
            oauth2.tokenURL, client, oauth2.scope ?? "", oauth2.audience ?? "", oauth2.resource ?? "", refresh,
            assertion,
        ]
        return try tokens.token(
            parts, of: { try? tokenInputs(of: oauth2, at: now).credentials }, except: refused
        ) { () throws(SecretDefect) in
            // A server may revoke all tokens of a login if a refresh token comes twice. The lock is on the file of that
            // token, whatever queue, runtime directory or scope asks.
            let lock = try refreshFile.map { (file) throws(SecretDefect) in try file.lock() }
            defer { lock?.release() }
            // Read again: another run may have got a new refresh token.
            let inputs = try tokenInputs(of: oauth2, at: now)
            switch tokens.ask(oauth2, inputs.secrets) {
            case .token(let token):
                if let new = token.refreshToken { try keep(new, insteadOf: inputs, for: oauth2) }
                return (token, inputs.credentials)
            case .refused(let reason): throw SecretDefect(place: place, reason: reason)
            case .unavailable(let reason, let delay): throw SecretDefect(place: place, reason: reason, delay: delay)
            }
        }
    }

    /// Writes a new refresh token to the file of the used one, which the endpoint no longer takes. Leaves the file of a
    /// user who has logged in meanwhile.
    private func keep(_ new: String, insteadOf used: TokenInputs, for oauth2: OAuth2) throws(SecretDefect) {
        guard let name = oauth2.refreshSecret, !used.secrets.values[name].hasBytes(of: new) else { return }
        guard let file = refreshFile(of: oauth2) else {
            throw SecretDefect(
                place: place(of: oauth2),
                reason: "issued a new refresh token, and the secret '\(name)' is not a file to keep it in"
            )
        }
        if let present = FileIdentity(file.path), present.login != used.login { return }
        try file.replace(with: new)
    }

    /// Returns the file of the refresh token; `nil` if there is none.
    private func refreshFile(of oauth2: OAuth2) -> SecretFile? {
        guard case .file(let path)? = oauth2.refreshSecret.flatMap({ sources[$0] }) else { return nil }
        return file(path)
    }

    private func place(of oauth2: OAuth2) -> String { "the endpoint '\(oauth2.tokenURL)'" }
}
