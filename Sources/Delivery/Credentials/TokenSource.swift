package import Policy

/// The source of tokens shared by several runs: the file of an earlier run, else what issues them.
package struct TokenSource {
    let directory: RuntimeDirectory?
    let now: () -> Timestamp
    /// The names of the secrets needed by a request for a token.
    let names: (OAuth2) -> Set<String>
    /// Asks the endpoint and waits at most ten seconds for its answer.
    let ask: (OAuth2, SecretValues) -> OAuth2.Answer

    /// The time that a run waits while another run fetches the same token.
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

    /// Returns the kept token if it is valid and not the `refused` one. Otherwise forgets it, fetches a token and keeps
    /// that. `parts` name the token: two tokens with the same parts are one. While one run fetches, others wait.
    func token(_ parts: [String], except refused: String?, _ fetch: () -> OAuth2.Answer) -> OAuth2.Answer {
        let name = "token-\(Digest(of: parts.map { "\($0.utf8.count):\($0)" }.joined()))"
        guard let directory, let file = TokenFile(name, in: directory, patience: Self.patience) else { return fetch() }
        if let kept = file.token(at: now()) {
            if kept.value != refused { return .token(kept) }
            // Without a new token, later runs do not send the refused one again.
            file.forget()
        }
        let answer = fetch()
        if case .token(let token) = answer, let lifetime = token.lifetime, lifetime > .zero {
            let now = now()
            file.keep(token.value, from: now, until: now + lifetime)
        }
        return answer
    }
}
