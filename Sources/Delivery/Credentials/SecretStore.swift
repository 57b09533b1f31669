package import Policy

/// The secrets of one run: resolved at each attempt, and again when a server has refused what was sent.
///
/// Files and variables are looked at each time, so that a token that is renewed while a run goes on is used at once.
/// What a command answered is kept for its `ttl`, and no longer than the store lives; nothing is written anywhere.
/// Whatever is wrong is a value of `SecretValues.failures`, a predicate for `the secret 'api' …`, with nothing in it of
/// what a file holds or a program wrote. Used by one thread.
package final class SecretStore {
    /// What a command came to.
    private struct Answer {
        var result: Result<String, SecretDefect>
        var until: ContinuousClock.Instant
    }

    private let sources: [String: SecretSource]
    private let environment: [String: String]
    private let base: String
    private let commandTimeout: Duration
    private let tokens: TokenSource?
    /// Tokens that a server has refused.
    private var refused: [String: String] = [:]
    private var answers: [String: Answer] = [:]
    /// When each command was last run because a server had refused its answer, and answered the same again.
    private var refreshes: [String: ContinuousClock.Instant] = [:]

    /// The variables for programs that the configuration names: those of `InheritedVariables` that are no secrets. A
    /// program that needs a variable which is a secret too reads it from elsewhere.
    package let commandEnvironment: [String: String]

    /// A command that failed, or that answered the same again after a refusal, is run again after this.
    package static let pauseOfCommands: Duration = .seconds(10)

    /// - Parameters:
    ///   - environment: the variables of the process.
    ///   - passed: which of them commands get besides the usual ones.
    ///   - base: the directory of the configuration, from which relative paths go and in which commands run.
    ///   - commandTimeout: how long one command may take; the run waits for it.
    ///   - tokens: where tokens come from; without it there is none.
    package init(
        sources: [String: SecretSource], environment: [String: String], passing passed: [String] = [], base: String,
        commandTimeout: Duration = .seconds(10), tokens: TokenSource? = nil
    ) {
        self.sources = sources
        self.environment = environment
        self.base = base
        self.commandTimeout = commandTimeout
        self.tokens = tokens
        let inherited = InheritedVariables.forCommands(passing: passed)
        commandEnvironment = sources.values.reduce(into: environment.filter { inherited.contains($0.key) }) {
            variables, source in
            if case .environment(let name) = source { variables[name] = nil }
        }
    }

    /// The secrets of these names, for one attempt.
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

    /// Whether another attempt may fare better than one that was refused with a 401: some secret is not what it was.
    ///
    /// Where nothing has changed since that attempt, the commands among its secrets are run again. One that answers the
    /// same again, or fails, is not run once more within `pauseOfCommands`; one that brings another secret is, as soon as
    /// that one is refused. So a token that expires twice within seconds is renewed twice.
    ///
    /// - Parameter used: the secrets of that very attempt: another one may have brought newer ones meanwhile.
    package func refresh(after used: SecretValues, at now: ContinuousClock.Instant = .now) -> Bool {
        let names = Set(used.values.keys).union(used.failures.keys)
        if differs(from: used, names, at: now) { return true }
        for name in names where answers[name] != nil {
            if let last = refreshes[name], now < last + Self.pauseOfCommands { continue }
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
        return current.values.contains { name, value in used.values[name] != value }
    }

    // MARK: - Sources

    private func resolved(_ name: String, at now: ContinuousClock.Instant) -> Result<String, SecretDefect> {
        Result { () throws(SecretDefect) in
            switch sources[name] {
            case .file(let path): try SecretFile(path.hasPrefix("/") ? path : "\(base)/\(path)").secret(base: base)
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
        return try SecretDefect.check(Array(value.utf8), from: place)
    }

    private func secret(ofCredential name: String) throws(SecretDefect) -> String {
        let place = "the credential '\(name)'"
        guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else {
            throw SecretDefect(place: place, reason: "is not the name of a file")
        }
        guard let directory = environment["CREDENTIALS_DIRECTORY"], directory.hasPrefix("/") else {
            throw SecretDefect(place: place, reason: "is not there: CREDENTIALS_DIRECTORY is not set")
        }
        return try SecretFile("\(directory)/\(name)").secret(base: base)
    }

    private func answer(
        of name: String, _ arguments: [String], ttl: Duration, at now: ContinuousClock.Instant
    ) -> Result<String, SecretDefect> {
        if let answer = answers[name], now < answer.until { return answer.result }
        let began = ContinuousClock.now
        let result = Result { () throws(SecretDefect) in
            let place = "the command '\(arguments.first ?? "")'"
            let command = ExternalCommand(arguments, directory: base, environment: commandEnvironment)
            let ended = command.run(within: commandTimeout, outputLimit: SecretFile.limit + 1)
            if let failure = ended.failure { throw SecretDefect(place: place, reason: failure) }
            return try SecretDefect.check(ended.output, from: place)
        }
        let isGood = if case .success = result { true } else { false }
        remember(result, of: name, for: isGood ? ttl : Self.pauseOfCommands, at: now, since: began)
        return result
    }
}

extension SecretStore {
    /// Keeps the result of asking at `now`, which took from `began` until this moment. Its lifetime starts at this moment,
    /// so that a command or an endpoint that hangs is not asked again for each operation.
    private func remember(
        _ result: Result<String, SecretDefect>, of name: String, for lifetime: Duration,
        at now: ContinuousClock.Instant, since began: ContinuousClock.Instant
    ) {
        answers[name] = Answer(result: result, until: now + began.duration(to: .now) + lifetime)
    }

    private func token(
        of name: String, _ oauth2: OAuth2, at now: ContinuousClock.Instant
    ) -> Result<String, SecretDefect> {
        if let answer = answers[name], now < answer.until { return answer.result }
        let names = (tokens?.names(oauth2) ?? []).filter { name in
            // What asking needs is no token, or it would be asked for in turn.
            if case .oauth2 = sources[name] { false } else { true }
        }
        let began = ContinuousClock.now
        let needed = values(names, at: now)
        var lifetime = Self.pauseOfCommands
        let result = Result { () throws(SecretDefect) in
            let token = try Self.token(oauth2, needed, from: tokens, except: refused[name])
            lifetime = max(token.lifetime ?? Self.unknownLifetime, Self.shortestLifetime)
            return token.value
        }
        remember(result, of: name, for: lifetime, at: now, since: began)
        return result
    }

    /// How long a run uses a token whose endpoint does not say when it expires.
    private static let unknownLifetime: Duration = .seconds(300)

    /// The shortest time for which a run uses a token, whatever its endpoint says: a run asks once for it, not at each
    /// attempt.
    private static let shortestLifetime: Duration = .seconds(1)

    private static func token(
        _ oauth2: OAuth2, _ needed: SecretValues, from tokens: TokenSource?, except refused: String?
    ) throws(SecretDefect) -> OAuth2.Token {
        let place = "the endpoint '\(oauth2.tokenURL)'"
        guard let tokens else { throw SecretDefect(place: place, reason: "is not asked here") }
        if let (name, reason) = needed.failures.min(by: { $0.key < $1.key }) {
            throw SecretDefect(place: place, reason: "needs the secret '\(name)', which \(reason)")
        }
        switch tokens.token(oauth2, needed, except: refused) {
        case .token(let token): return token
        case .refused(let reason): throw SecretDefect(place: place, reason: reason)
        case .unavailable(let error, let reason): throw SecretDefect(place: place, reason: reason, network: error)
        }
    }
}

/// The store and everything it holds are secret, the environment too.
extension SecretStore: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "SecretStore(\(sources.keys.sorted().joined(separator: ", ")))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
