package import Policy

/// The source of tokens shared by several runs: the file of an earlier run, else what issues them.
package struct TokenSource {
    let directory: RuntimeDirectory?
    let now: () -> Timestamp
    /// The settings of an endpoint: the secrets, files and connection of requests for its tokens.
    let settings: (OAuth2) -> DestinationSettings
    /// Asks the endpoint and waits at most ten seconds for its answer.
    let ask: (OAuth2, SecretValues) -> OAuth2.Answer

    /// The time that a run waits while another run fetches the same token.
    private static let patience: Duration = .seconds(12)

    package init(
        directory: RuntimeDirectory?, now: @escaping () -> Timestamp,
        settings: @escaping (OAuth2) -> DestinationSettings = { _ in DestinationSettings() },
        ask: @escaping (OAuth2, SecretValues) -> OAuth2.Answer
    ) {
        self.directory = directory
        self.now = now
        self.settings = settings
        self.ask = ask
    }

    /// A token, and the credentials that it was made from.
    typealias Issue = (token: OAuth2.Token, credentials: RequestCredentials?)

    /// Returns the kept token if it is valid, was made from the present credentials and is not the `refused` one.
    /// Otherwise fetches a token and keeps that. `parts` name the token: two tokens with the same parts and the same
    /// credentials are one. While one run fetches, others wait.
    func token(
        _ parts: [String], of credentials: () -> RequestCredentials?, except refused: String?,
        _ fetch: () throws(SecretDefect) -> Issue
    ) throws(SecretDefect) -> Issue {
        let name = "token-\(Digest(of: parts.map { "\($0.utf8.count):\($0)" }.joined()))"
        guard let directory, let file = TokenFile(name, in: directory, patience: Self.patience) else {
            return try fetch()
        }
        // Another run may have changed the credentials, until the file was locked.
        if let present = credentials(), let kept = file.token(at: now(), of: present) {
            if !refused.hasBytes(of: kept.value) { return (kept, present) }
            // Without a new token, later runs do not send the refused one again.
            file.forget()
        }
        let issue = try fetch()
        if let lifetime = issue.token.lifetime, lifetime > .zero, let credentials = issue.credentials {
            let now = now()
            file.keep(issue.token.value, of: credentials, from: now, until: now + lifetime)
        }
        return issue
    }
}
