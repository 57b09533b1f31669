package import Policy
import Synchronization

/// The secrets of one run: resolved at each attempt, and again after a server has refused a request.
///
/// Reads files and variables each time, so a token renewed during a run is used at once. Keeps a command's answer for
/// its `ttl`, at most as long as the store lives, and an endpoint's for the lifetime of the token, as long as the
/// credentials of the request for it stay the same.
/// Only `TokenFile` writes a secret to a file. Every error is a value of
/// `SecretValues.failures`, a predicate for `the secret 'api' …`, without the content of a file or the output of a
/// program.
///
/// Several threads may use a store. One asks a command or an endpoint for all that wait.
package final class SecretStore: @unchecked Sendable {
    /// The result of a command or a token endpoint, and how long it is kept.
    private struct Answer {
        var result: Result<String, SecretDefect>
        /// What the endpoint was asked with, see `credentials(of:at:)`.
        var credentials: RequestCredentials?
        var until: ContinuousClock.Instant
    }

    let sources: [String: SecretSource]
    /// The names of refresh tokens. Their files are refused unless drainq can replace the tokens: the endpoint takes a
    /// replaced token no more, so a run that cannot keep the new one has lost the login.
    private let refreshTokens: Set<String>
    private let environment: [String: String]
    let base: String
    private let commandTimeout: Duration
    let tokens: TokenSource?
    /// What the store knows of a command or a token endpoint.
    private struct Memory {
        var answer: Answer?
        /// The last refused value.
        var refused: String?
        /// When it was last asked after a refusal without giving another value.
        var refreshed: ContinuousClock.Instant?
        /// The number of failures in a row.
        var failures = 0
    }
    private let memories = Mutex<[String: Memory]>([:])
    /// The locks of the commands and endpoints, by name. The thread that asks has the lock.
    private let turns: [String: Turn]

    private final class Turn: Sendable {
        let lock = Mutex(())
    }

    /// The environment of programs named by the configuration.
    package let commandEnvironment: ProgramEnvironment
    /// The variables by which a command may choose a user's credentials: runs with other values do not share its
    /// output.
    private let choice: RequestCredentials

    /// The time before a command or token endpoint is asked again after a failure that a person must repair, or a
    /// repeated refused answer.
    package static let commandRetryInterval: Duration = .seconds(10)

    /// - Parameters:
    ///   - environment: the variables of the process.
    ///   - passed: the variables for commands besides the usual ones.
    ///   - base: the directory of the configuration: the start of relative paths and the working directory of commands.
    ///   - commandTimeout: the longest time of a command.
    ///   - tokens: the source of OAuth 2 tokens; without a source they are unavailable.
    package init(
        sources: [String: SecretSource], environment: [String: String], passing passed: [String] = [], base: String,
        commandTimeout: Duration = .seconds(10), tokens: TokenSource? = nil
    ) {
        self.sources = sources
        refreshTokens = sources.refreshTokens
        self.environment = environment
        self.base = base
        self.commandTimeout = commandTimeout
        self.tokens = tokens
        turns = sources.filter(\.value.hasEffects).mapValues { _ in Turn() }
        commandEnvironment = ProgramEnvironment(of: environment, passing: passed, without: Array(sources.values))
        choice = RequestCredentials(
            commandEnvironment.variables(named: passed + ["HOME", "XDG_CONFIG_HOME"]), areOwn: false)
    }

    /// Returns the secrets of these names, for one attempt. `files` are the files of its operations' own secrets.
    package func values(
        _ names: Set<String>, files: [String: String] = [:], at now: ContinuousClock.Instant = .now
    ) -> SecretValues {
        var found = SecretValues(files: files)
        for name in names.sorted() {
            switch resolved(name, files, at: now) {
            case .success(let value): found.values[name] = value
            case .failure(let defect):
                found.failures[name] = defect.description
                found.unavailable[name] = defect.delay.map { max($0, timeToAsk(name, from: now)) }
            }
        }
        return found
    }

    /// Whether `values` has to ask a command or an endpoint first.
    package func mayWait(for names: Set<String>, at now: ContinuousClock.Instant = .now) -> Bool {
        names.contains { name in
            guard turns[name] != nil else { return false }
            if case .oauth2(let oauth2)? = sources[name], mayWait(for: needs(of: oauth2), at: now) { return true }
            return answer(of: name, at: now) == nil
        }
    }

    /// Returns the kept answer of a command or an endpoint. An answer to other credentials than the present ones is not
    /// kept: another user may have logged in.
    private func answer(of name: String, at now: ContinuousClock.Instant) -> Result<String, SecretDefect>? {
        let kept = memories.withLock { $0[name]?.answer }
        guard let kept, now < kept.until, credentials(of: name, at: now) == kept.credentials else { return nil }
        return kept.result
    }

    /// Returns the credentials that an endpoint would be asked with now; `nil` if some are missing, and for a command.
    private func credentials(of name: String, at now: ContinuousClock.Instant) -> RequestCredentials? {
        guard case .oauth2(let oauth2)? = sources[name] else { return nil }
        // try?: asking the endpoint says what is missing.
        return try? tokenInputs(of: oauth2, at: now).credentials
    }

    /// Returns the time until a command or an endpoint is asked again.
    private func timeToAsk(_ name: String, from now: ContinuousClock.Instant) -> Duration {
        memories.withLock { memories in memories[name]?.answer.map { max(.zero, $0.until - now) } ?? .zero }
    }

    /// Returns whether a secret has changed since an attempt refused with 401, so that another attempt may succeed. A
    /// secret that is not available any more counts as changed: the attempt is made again, and fails for that reason.
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
        for name in names { turns[name]?.lock.withLock { _ in ask(name, again: used, at: now) } }
        return differs(from: used, names, at: now)
    }

    /// Asks a command or an endpoint again, unless it was asked lately or another thread has a newer answer. The caller
    /// has its lock.
    private func ask(_ name: String, again used: SecretValues, at now: ContinuousClock.Instant) {
        let isDue = memories.withLock { memories in
            guard let memory = memories[name], let answer = memory.answer else { return false }
            if let last = memory.refreshed, now < last + Self.commandRetryInterval { return false }
            if case .success(let value) = answer.result, !used.values[name].hasBytes(of: value) { return false }
            memories[name]!.answer = nil
            memories[name]!.refused = used.values[name]
            return true
        }
        guard isDue else { return }
        let began = ContinuousClock.now
        let value = try? resolved(name, [:], at: now, hasTurn: true).get()
        let isNew = value.map { !used.values[name].hasBytes(of: $0) } ?? false
        memories.withLock { $0[name]?.refreshed = isNew ? nil : now + began.duration(to: .now) }
    }

    private func differs(
        from used: SecretValues, _ names: Set<String>, at now: ContinuousClock.Instant
    ) -> Bool {
        let current = values(names, files: used.files, at: now)
        if current.failures.keys.contains(where: { used.values[$0] != nil }) { return true }
        return current.values.contains { name, value in !used.values[name].hasBytes(of: value) }
    }

    // MARK: - Sources

    private func resolved(
        _ name: String, _ files: [String: String], at now: ContinuousClock.Instant, hasTurn: Bool = false
    ) -> Result<String, SecretDefect> {
        Result { () throws(SecretDefect) in
            switch sources[name] {
            case .file(let path): try file(path).secret(base: base, isReplaced: refreshTokens.contains(name))
            case .operationFile: try secret(ofOperationIn: files[name])
            case .environment(let variable): try secret(ofVariable: variable)
            case .credential(let credential): try secret(ofCredential: credential)
            case .command(let arguments, let ttl): try output(of: name, arguments, ttl: ttl, at: now, hasTurn).get()
            case .oauth2(let oauth2):
                try kept(name, at: now, hasTurn) { () throws(SecretDefect) in
                    try token(oauth2, except: refused(name), at: now)
                }.get()
            case nil: throw .notConfigured
            }
        }
    }

    func file(_ path: String) -> SecretFile {
        SecretFile(path: path.begins(with: "/") ? path : "\(base)/\(path)")
    }

    private func secret(ofOperationIn path: String?) throws(SecretDefect) -> String {
        guard let path else { throw SecretDefect(place: "a file", reason: "depends on the operation") }
        return try file(path).secret(base: base)
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
        return try SecretFile(path: "\(directory)/\(name)").secret(base: base)
    }

    /// Returns the output of a command. Runs share the output if the configuration gives its lifetime.
    private func output(
        of name: String, _ arguments: [String], ttl: Duration?, at now: ContinuousClock.Instant, _ hasTurn: Bool
    ) -> Result<String, SecretDefect> {
        func output() throws(SecretDefect) -> String {
            let place = "the command '\(arguments.first ?? "")'"
            let command = ExternalCommand(arguments, directory: base, environment: commandEnvironment)
            let ended = command.run(within: commandTimeout, outputLimit: SecretFile.limit + 1)
            if let failure = ended.failure {
                throw SecretDefect(place: place, reason: failure, delay: ended.isPassing ? .zero : nil)
            }
            return try SecretDefect.check(ended.output, from: place)
        }
        return kept(name, at: now, hasTurn) { () throws(SecretDefect) in
            guard let tokens, let ttl else { return (OAuth2.Token(value: try output(), lifetime: ttl), nil) }
            let issue = try tokens.token([base] + arguments, of: { choice }, except: refused(name)) {
                () throws(SecretDefect) in (OAuth2.Token(value: try output(), lifetime: ttl), choice)
            }
            return (issue.token, nil)
        }
    }

    /// Returns the kept result of a command or an endpoint, or asks for a result if none is kept. `hasTurn`: the caller
    /// has the lock.
    private func kept(
        _ name: String, at now: ContinuousClock.Instant, _ hasTurn: Bool,
        ask: () throws(SecretDefect) -> TokenSource.Issue
    ) -> Result<String, SecretDefect> {
        if hasTurn { return asked(name, at: now, ask) }
        if let answer = answer(of: name, at: now) { return answer }
        return turns[name]!.lock.withLock { _ in answer(of: name, at: now) ?? asked(name, at: now, ask) }
    }

    /// Asks for a result and keeps it. Its lifetime starts at its arrival, so a hanging command or endpoint is not
    /// asked again for each operation.
    private func asked(
        _ name: String, at now: ContinuousClock.Instant,
        _ ask: () throws(SecretDefect) -> TokenSource.Issue
    ) -> Result<String, SecretDefect> {
        let began = ContinuousClock.now
        var lifetime = Self.commandRetryInterval
        var credentials = credentials(of: name, at: now)
        let result = Result { () throws(SecretDefect) in
            let issue = try ask()
            // A thread has asked, and the run's own thread takes the answer.
            lifetime = max(issue.token.lifetime ?? Self.unknownLifetime, Self.shortestLifetime)
            credentials = issue.credentials
            return issue.token.value
        }
        memories.withLock { memories in
            var memory = memories[name] ?? Memory()
            memory.failures = if case .failure = result { memory.failures + 1 } else { 0 }
            if case .failure(let defect) = result, let delay = defect.delay {
                lifetime = max(delay, Self.delay(afterFailures: memory.failures))
            }
            memory.answer = Answer(
                result: result, credentials: credentials, until: now + began.duration(to: .now) + lifetime)
            memories[name] = memory
        }
        return result
    }

    private func refused(_ name: String) -> String? { memories.withLock { $0[name]?.refused } }

    /// Returns the time before a command or an endpoint is asked again after this number of failures in a row that may
    /// end by themselves: 1 s, doubled each time, at most a minute.
    package static func delay(afterFailures failures: Int) -> Duration {
        min(.seconds(60), .seconds(1 << min(max(failures, 1) - 1, 6)))
    }

    /// The lifetime of a secret whose endpoint or command does not say when it expires.
    private static let unknownLifetime: Duration = .seconds(300)

    /// The shortest time for which an answer is kept, whatever its lifetime, so that a run does not ask at each
    /// attempt.
    private static let shortestLifetime: Duration = .seconds(1)
}

/// The content is secret, and the environment too: shows only the names of secrets.
extension SecretStore: Confidential {
    package var description: String { "SecretStore(\(sources.keys.sorted().joined(separator: ", ")))" }
}
