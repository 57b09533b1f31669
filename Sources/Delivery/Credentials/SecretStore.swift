package import Policy
import Synchronization

/// The secrets of one run: resolved at each attempt, and again after a server has refused a request.
///
/// Reads files and variables each time, so a token renewed during a run is used at once. Keeps a command's answer for
/// its `ttl`, at most as long as the store lives. Only `TokenFile` writes a secret to a file. Every error is a value of
/// `SecretValues.failures`, a predicate for `the secret 'api' …`, without the content of a file or the output of a
/// program.
///
/// Several threads may use a store. One asks a command or an endpoint for all that wait.
package final class SecretStore: @unchecked Sendable {
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
        self.environment = environment
        self.base = base
        self.commandTimeout = commandTimeout
        self.tokens = tokens
        turns = sources.filter(\.value.hasEffects).mapValues { _ in Turn() }
        commandEnvironment = ProgramEnvironment(of: environment, passing: passed, without: Array(sources.values))
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
        names.contains { turns[$0] != nil && answer(of: $0, at: now) == nil }
    }

    /// Returns the kept answer of a command or an endpoint.
    private func answer(of name: String, at now: ContinuousClock.Instant) -> Result<String, SecretDefect>? {
        memories.withLock { memories in memories[name]?.answer.flatMap { now < $0.until ? $0.result : nil } }
    }

    /// Returns the time until a command or an endpoint is asked again.
    private func timeToAsk(_ name: String, from now: ContinuousClock.Instant) -> Duration {
        memories.withLock { memories in memories[name]?.answer.map { max(.zero, $0.until - now) } ?? .zero }
    }

    /// Returns whether a secret has changed since an attempt refused with 401, so that another attempt may succeed. A
    /// secret that is not available for now counts as changed: only a later look-up shows whether it is.
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
            if case .success(let value) = answer.result, used.values[name] != value { return false }
            memories[name]!.answer = nil
            memories[name]!.refused = used.values[name]
            return true
        }
        guard isDue else { return }
        let began = ContinuousClock.now
        let value = try? resolved(name, [:], at: now, hasTurn: true).get()
        let isNew = value.map { used.values[name]?.utf8.elementsEqual($0.utf8) != true } ?? false
        memories.withLock { $0[name]?.refreshed = isNew ? nil : now + began.duration(to: .now) }
    }

    private func differs(
        from used: SecretValues, _ names: Set<String>, at now: ContinuousClock.Instant
    ) -> Bool {
        let current = values(names, files: used.files, at: now)
        if current.unavailable.keys.contains(where: { used.values[$0] != nil }) { return true }
        return current.values.contains { name, value in
            used.values[name].map { !$0.utf8.elementsEqual(value.utf8) } ?? true
        }
    }

    // MARK: - Sources

    private func resolved(
        _ name: String, _ files: [String: String], at now: ContinuousClock.Instant, hasTurn: Bool = false
    ) -> Result<String, SecretDefect> {
        Result { () throws(SecretDefect) in
            switch sources[name] {
            case .file(let path): try file(path).secret(base: base)
            case .operationFile: try secret(ofOperationIn: files[name])
            case .environment(let variable): try secret(ofVariable: variable)
            case .credential(let credential): try secret(ofCredential: credential)
            case .command(let arguments, let ttl): try output(of: name, arguments, ttl: ttl, at: now, hasTurn).get()
            case .oauth2(let oauth2): try token(of: name, oauth2, at: now, hasTurn).get()
            case nil: throw .notConfigured
            }
        }
    }

    private func file(_ path: String) -> SecretFile {
        SecretFile(path.begins(with: "/") ? path : "\(base)/\(path)")
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
        return try SecretFile("\(directory)/\(name)").secret(base: base)
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
            guard let tokens, let ttl else { return (try output(), ttl ?? Self.unknownLifetime) }
            var defect: SecretDefect?
            let answer = tokens.token([base] + arguments, except: refused(name)) {
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

    /// Returns the kept result of a command or an endpoint, or asks for a result if none is kept. `hasTurn`: the caller
    /// has the lock.
    private func kept(
        _ name: String, at now: ContinuousClock.Instant, _ hasTurn: Bool,
        ask: () throws(SecretDefect) -> (value: String, lifetime: Duration)
    ) -> Result<String, SecretDefect> {
        if hasTurn { return asked(name, at: now, ask) }
        if let answer = answer(of: name, at: now) { return answer }
        return turns[name]!.lock.withLock { _ in answer(of: name, at: now) ?? asked(name, at: now, ask) }
    }

    /// Asks for a result and keeps it. Its lifetime starts at its arrival, so a hanging command or endpoint is not
    /// asked again for each operation.
    private func asked(
        _ name: String, at now: ContinuousClock.Instant,
        _ ask: () throws(SecretDefect) -> (value: String, lifetime: Duration)
    ) -> Result<String, SecretDefect> {
        let began = ContinuousClock.now
        var lifetime = Self.commandRetryInterval
        let result = Result { () throws(SecretDefect) in
            let answer = try ask()
            // A thread has asked, and the run's own thread takes the answer.
            lifetime = max(answer.lifetime, Self.shortestLifetime)
            return answer.value
        }
        memories.withLock { memories in
            var memory = memories[name] ?? Memory()
            memory.failures = if case .failure = result { memory.failures + 1 } else { 0 }
            if case .failure(let defect) = result, let delay = defect.delay {
                lifetime = max(delay, Self.delay(afterFailures: memory.failures))
            }
            memory.answer = Answer(result: result, until: now + began.duration(to: .now) + lifetime)
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

    private func token(
        of name: String, _ oauth2: OAuth2, at now: ContinuousClock.Instant, _ hasTurn: Bool
    ) -> Result<String, SecretDefect> {
        kept(name, at: now, hasTurn) { () throws(SecretDefect) in
            let token = try token(oauth2, except: refused(name), at: now)
            return (token.value, token.lifetime ?? Self.unknownLifetime)
        }
    }

    /// The lifetime of a secret whose endpoint or command does not say when it expires.
    private static let unknownLifetime: Duration = .seconds(300)

    /// The shortest time for which an answer is kept, whatever its lifetime, so that a run does not ask at each
    /// attempt.
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
                throw SecretDefect(
                    place: place, reason: "needs the secret '\(name)', which \(reason)", delay: needed.unavailable[name]
                )
            }
            return needed
        }
        // Two clients whose ids come from secrets of the same name do not share a token, nor do two users whose refresh
        // tokens come from different files. The client's secret is not in the name.
        let client = (try? oauth2.expandedClientID(try needed())) ?? ""
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
        var defect: SecretDefect?
        let answer = tokens.token(parts, except: refused) {
            do throws(SecretDefect) {
                // A server may revoke all tokens of a login if a refresh token comes twice. The lock is on the file of
                // that token, whatever queue, runtime directory or scope asks.
                let lock = try refreshFile.map { (file) throws(SecretDefect) in try file.lock() }
                defer { lock?.release() }
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
        case .unavailable(let reason, let delay): throw SecretDefect(place: place, reason: reason, delay: delay)
        }
    }

    /// Writes a new refresh token to the file of the used one, which the endpoint no longer takes.
    private func keep(_ new: String, for oauth2: OAuth2, _ place: String) throws(SecretDefect) {
        guard let name = oauth2.refreshSecret, values([name]).values[name] != new else { return }
        guard let file = refreshFile(of: oauth2) else {
            throw SecretDefect(
                place: place, reason: "issued a new refresh token, and the secret '\(name)' is not a file to keep it in"
            )
        }
        try file.replace(with: new)
    }

    /// Returns the file of the refresh token; `nil` if there is none.
    private func refreshFile(of oauth2: OAuth2) -> SecretFile? {
        guard case .file(let path)? = oauth2.refreshSecret.flatMap({ sources[$0] }) else { return nil }
        return file(path)
    }
}

/// The store and its content are secret, the environment too: its description has only the names of secrets.
extension SecretStore: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "SecretStore(\(sources.keys.sorted().joined(separator: ", ")))" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
