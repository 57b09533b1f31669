package import Policy

/// The source of tokens: the file that an earlier run has left, or their endpoint.
package struct TokenSource {
    let directory: RuntimeDirectory?
    let now: () -> Timestamp
    /// The secrets that asking needs.
    let names: (OAuth2) -> Set<String>
    /// Asks the endpoint and waits for its answer: for ten seconds at most.
    let ask: (OAuth2, SecretValues) -> OAuth2.Answer

    /// How long a run waits for another one that asks for the same token.
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

    /// A token that is good for now, and is another one than a server has `refused`.
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
    /// Returns one name for what one client asks of one endpoint. `clientID` is expanded: two clients whose ids come from
    /// secrets of the same name do not share a token. The client's secret is not in the name.
    fileprivate func fileName(for clientID: String) -> String {
        let parts = [tokenURL, clientID, scope ?? ""]
        return "token-\(Digest(of: parts.map { "\($0.utf8.count):\($0)" }.joined()))"
    }
}
