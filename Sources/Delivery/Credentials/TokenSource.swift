package import Policy

/// The source of tokens: the file of an earlier run, or the token endpoint.
package struct TokenSource {
    let directory: RuntimeDirectory?
    let now: () -> Timestamp
    /// The names of the secrets that a request for a token needs.
    let names: (OAuth2) -> Set<String>
    /// Asks the endpoint and waits at most ten seconds for its answer.
    let ask: (OAuth2, SecretValues) -> OAuth2.Answer

    /// The time that a run waits for another run that is fetching the same token.
    private static let patience: Duration = .seconds(12)

    package init(
        directory: RuntimeDirectory?, now: @escaping () -> Timestamp, names: @escaping (OAuth2) -> Set<String>,
        ask: @escaping (OAuth2, SecretValues) -> OAuth2.Answer
    ) {
        self.directory = directory
        self.now = now
        self.names = names
        self.ask = ask
    }

    /// Returns the kept token if it is valid and not the `refused` one. Otherwise asks for a token and keeps that.
    func token(_ oauth2: OAuth2, _ secrets: SecretValues, except refused: String?) -> OAuth2.Answer {
        guard let directory, let clientID = try? oauth2.expandedClientID(secrets),
            let file = TokenFile(oauth2.fileName(for: clientID), in: directory, patience: Self.patience)
        else { return ask(oauth2, secrets) }
        if let kept = file.token(at: now()), kept.value != refused { return .token(kept) }
        let answer = ask(oauth2, secrets)
        if case .token(let token) = answer, let lifetime = token.lifetime, lifetime > .zero {
            let now = now()
            file.keep(token.value, from: now, until: now + lifetime)
        }
        return answer
    }
}

extension OAuth2 {
    /// Returns the name of the file for the tokens of one client at one endpoint. `clientID` is expanded: two clients
    /// whose ids come from secrets of the same name do not share a token. The client's secret is not in the name.
    fileprivate func fileName(for clientID: String) -> String {
        let parts = [tokenURL, clientID, scope ?? ""]
        return "token-\(Digest(of: parts.map { "\($0.utf8.count):\($0)" }.joined()))"
    }
}
