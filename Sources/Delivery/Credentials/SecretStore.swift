package import Policy

/// The secrets of one run: resolved at each attempt, and again after a server has refused a request.
///
/// Reads files and variables each time, so a token renewed during a run is used at once. Keeps a command's answer for
/// its `ttl`, at most as long as the store lives. Only `TokenFile` writes a secret to a file. Every error is a value of
/// `SecretValues.failures`, a predicate for `the secret 'api' …`, without the content of a file or the output of a
/// program. One thread uses a store.
package final class SecretStore {
    /// The result of a command or a token endpoint, and how long it is kept.
    private struct Answer {
        var result: Result<String, SecretDefect>
        var until: ContinuousClock.Instant
    }

    private let sources: [String: SecretSource]
    private let environment: [String: String]
    private let base: String
    private let commandTimeout: Duration
    private let tokens: TokenSource?
    /// The last refused value of each secret.
    private var refused: [String: String] = [:]
    private var answers: [String: Answer] = [:]
    /// When each command or token endpoint was last asked after a refusal without giving another value.
    private var refreshes: [String: ContinuousClock.Instant] = [:]

    /// The environment of programs named by the configuration.
    package let commandEnvironment: ProgramEnvironment

    /// The time before a command or token endpoint is asked again after a failure or a repeated refused answer.
    package static let commandRetryInterval: Duration = .seconds(10)

    /// - Parameters:
    ///   - environment: the variables of the process.
    ///   - passed: the variables for commands besides the usual ones.
    ///   - base: the directory of the configuration: the start of relative paths and the working directory of commands.
    ///   - commandTimeout: the longest time of a command; the run waits for the command.
    ///   - tokens: the source of OAuth 2 tokens; without a source they are unavailable.
    package init(
        sources: [String: SecretSource], environment: [String: String], passing passed: [String] = [], base: String,
        commandTimeout: Duration = .seconds(10), tokens: TokenSource? = nil
    ) {
        self.sources = sources
        self.environment = environment
        self.base = base
        self.commandTimeout = commandTimeout
        self.tokens = tokens
        commandEnvironment = ProgramEnvironment(of: environment, passing: passed, without: Array(sources.values))
    }

    /// Returns the secrets of these names, for one attempt.
    package func values(_ names: Set<String>, at now: ContinuousClock.Instant = .now) -> SecretValues {
        var found = SecretValues()
        for name in names.sorted() {
            switch resolved(name, at: now) {
            case .success(let value): found.values[name] = value
            case .failure(let defect):
                found.failures[name] = defect.description
                found.unavailable[name] = defect.network
            }
        }
        return found
    }

    /// Returns whether a secret has changed since an attempt refused with 401, so that another attempt may succeed.
    ///
    /// If nothing has changed since the attempt, asks the commands and token endpoints of its secrets again. A command
    /// or endpoint is not asked again within `commandRetryInterval` if it fails or repeats its answer. If it gives
    /// another secret, it is asked again as soon as the secret is refused. So a token that expires twice within seconds
    /// is renewed twice.
    ///
    /// - Parameter used: the secrets of the attempt. Another attempt may have fetched newer ones since.
    package func refresh(after used: SecretValues, at now: ContinuousClock.Instant = .now) -> Bool {
        let names = Set(used.values.keys).union(used.failures.keys)
        if differs(from: used, names, at: now) { return true }
        for name in names where answers[name] != nil {
            if let last = refreshes[name], now < last + Self.commandRetryInterval { continue }
            answers[name] = nil
            refused[name] = used.values[name]
            let began = ContinuousClock.now
            refreshes[name] = differs(from: used, [name], at: now) ? nil : now + began.duration(to: .now)
        }
        return differs(from: used, names, at: now)
    }

    private func differs(
        from used: SecretValues, _ names: Set<String>, at now: ContinuousClock.Instant
    ) -> Bool {
        let current = values(names, at: now)
        return current.values.contains { name, value in
            used.values[name].map { !$0.utf8.elementsEqual(value.utf8) } ?? true
        }
    }

    // MARK: - Sources

    private func resolved(_ name: String, at now: ContinuousClock.Instant) -> Result<String, SecretDefect> {
        Result { () throws(SecretDefect) in
            switch sources[name] {
            case .file(let path): try SecretFile(path.begins(with: "/") ? path : "\(base)/\(path)").secret(base: base)
            case .environment(let variable): try secret(ofVariable: variable)
            case .credential(let credential): try secret(ofCredential: credential)
            case .command(let arguments, let ttl): try answer(of: name, arguments, ttl: ttl, at: now).get()
            case .oauth2(let oauth2): try token(of: name, oauth2, at: now).get()
            case nil: throw .notConfigured
            }
        }
    }

    private func secret(ofVariable variable: String) throws(SecretDefect) -> String {
        let place = "the environment variable '\(variable)'"
        guard let value = environment[variable] else { throw SecretDefect(place: place, reason: "is not set") }
        return try SecretDefect.check(value.rawBytes, from: place)
    }

    private func secret(ofCredential name: String) throws(SecretDefect) -> String {
        let place = "the credential '\(name)'"
        guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else {
            throw SecretDefect(place: place, reason: "is not the name of a file")
        }
        guard let directory = environment["CREDENTIALS_DIRECTORY"], directory.begins(with: "/") else {
            throw SecretDefect(place: place, reason: "is not there: CREDENTIALS_DIRECTORY is not set")
        }
        return try SecretFile("\(directory)/\(name)").secret(base: base)
    }

    /// Returns the output of a command. Runs share the output if the configuration gives its lifetime.
    private func answer(
        of name: String, _ arguments: [String], ttl: Duration?, at now: ContinuousClock.Instant
    ) -> Result<String, SecretDefect> {
        func output() throws(SecretDefect) -> String {
            let place = "the command '\(arguments.first ?? "")'"
            let command = ExternalCommand(arguments, directory: base, environment: commandEnvironment)
            let ended = command.run(within: commandTimeout, outputLimit: SecretFile.limit + 1)
            if let failure = ended.failure {
                throw SecretDefect(place: place, reason: failure, network: ended.shortage)
            }
            return try SecretDefect.check(ended.output, from: place)
        }
        return kept(name, at: now) { () throws(SecretDefect) in
            guard let tokens, let ttl else { return (try output(), ttl ?? Self.unknownLifetime) }
            var defect: SecretDefect?
            let answer = tokens.token([base] + arguments, except: refused[name]) {
                do throws(SecretDefect) {
                    return .token(OAuth2.Token(value: try output(), lifetime: ttl))
                } catch {
                    defect = error
                    return .refused(reason: error.description)
                }
            }
            guard case .token(let token) = answer else { throw defect ?? .notConfigured }
            return (token.value, token.lifetime ?? ttl)
        }
    }
}

extension SecretStore {
    /// Returns the kept result of a command or an endpoint, or asks for a result if none is kept. The lifetime of a
    /// result starts at its arrival, so a hanging command or endpoint is not asked again for each operation.
    private func kept(
        _ name: String, at now: ContinuousClock.Instant,
        ask: () throws(SecretDefect) -> (value: String, lifetime: Duration)
    ) -> Result<String, SecretDefect> {
        if let answer = answers[name], now < answer.until { return answer.result }
        let began = ContinuousClock.now
        var lifetime = Self.commandRetryInterval
        let result = Result { () throws(SecretDefect) in
            let answer = try ask()
            lifetime = answer.lifetime
            return answer.value
        }
        answers[name] = Answer(result: result, until: now + began.duration(to: .now) + lifetime)
        return result
    }

    private func token(
        of name: String, _ oauth2: OAuth2, at now: ContinuousClock.Instant
    ) -> Result<String, SecretDefect> {
        kept(name, at: now) { () throws(SecretDefect) in
            let token = try token(oauth2, except: refused[name], at: now)
            return (token.value, max(token.lifetime ?? Self.unknownLifetime, Self.shortestLifetime))
        }
    }

    /// The lifetime of a secret whose endpoint or command does not say when it expires.
    private static let unknownLifetime: Duration = .seconds(300)

    /// The shortest lifetime of a token, whatever its endpoint says, so that a run does not ask at each attempt.
    private static let shortestLifetime: Duration = .seconds(1)

    private func token(
        _ oauth2: OAuth2, except refused: String?, at now: ContinuousClock.Instant
    ) throws(SecretDefect) -> OAuth2.Token {
        let place = "the endpoint '\(oauth2.tokenURL)'"
        guard let tokens else { throw SecretDefect(place: place, reason: "cannot be asked for tokens by this command") }
        func needed() throws(SecretDefect) -> SecretValues {
            let names = tokens.names(oauth2).filter { name in
                // A token cannot be needed to ask for a token: that would recurse.
                if case .oauth2 = sources[name] { false } else { true }
            }
            let needed = values(names, at: now)
            if let (name, reason) = needed.failures.min(by: { $0.key < $1.key }) {
                throw SecretDefect(place: place, reason: "needs the secret '\(name)', which \(reason)")
            }
            return needed
        }
        // Two clients whose ids come from secrets of the same name do not share a token, nor do two users whose refresh
        // tokens come from different files. The client's secret is not in the name.
        let client = (try? oauth2.expandedClientID(try needed())) ?? ""
        let refresh = oauth2.refreshSecret.flatMap { sources[$0] }.map { "\(base) \($0)" } ?? ""
        let assertion = oauth2.assertion.map { "\($0.keyFile) \($0.claims.sorted { $0.key < $1.key })" } ?? ""
        let parts = [
            oauth2.tokenURL, client, oauth2.scope ?? "", oauth2.audience ?? "", oauth2.resource ?? "", refresh,
            assertion,
        ]
        var defect: SecretDefect?
        let answer = tokens.token(parts, except: refused) {
            do throws(SecretDefect) {
                // Read again: another run may have got a new refresh token.
                let answer = tokens.ask(oauth2, try needed())
                if case .token(let token) = answer, let new = token.refreshToken { try keep(new, for: oauth2, place) }
                return answer
            } catch {
                defect = error
                return .refused(reason: error.description)
            }
        }
        if let defect { throw defect }
        switch answer {
        case .token(let token): return token
        case .refused(let reason): throw SecretDefect(place: place, reason: reason)
        case .unavailable(let error, let reason): throw SecretDefect(place: place, reason: reason, network: error)
        }
    }

    /// Writes a new refresh token to the file of the used one, which the endpoint no longer takes.
    private func keep(_ new: String, for oauth2: OAuth2, _ place: String) throws(SecretDefect) {
        guard let name = oauth2.refreshSecret, values([name]).values[name] != new else { return }
        guard case .file(let path)? = sources[name] else {
            throw SecretDefect(
                place: place, reason: "issued a new refresh token, and the secret '\(name)' is not a file to keep it in"
            )
        }
        try SecretFile(path.begins(with: "/") ? path : "\(base)/\(path)").replace(with: new)
    }
}

/// The store and its content are secret, the environment too: its description has only the names of secrets.
extension SecretStore: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "SecretStore(\(sources.keys.sorted().joined(separator: ", ")))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
