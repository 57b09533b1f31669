import Delivery
import Foundation
import Policy
import Synchronization
import Testing

struct `Tokens` {
    private let place: SecretPlace
    private let runtime: String
    private let oauth2 = OAuth2(tokenURL: "https://id.example/token", clientID: "me", clientSecret: "secret")

    init() throws {
        place = try SecretPlace()
        runtime = place.path + "/run"
        try FileManager.default.createDirectory(
            atPath: runtime, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// A store of another run: each has the same files, and `ask` answers in place of the endpoint.
    private func store(
        at seconds: Int64 = 1_000_000, directory: String? = nil, client: OAuth2? = nil,
        environment: [String: String] = [:], settings: DestinationSettings = DestinationSettings(),
        ask: @escaping () -> OAuth2.Answer
    ) -> SecretStore {
        let tokens = TokenSource(
            directory: RuntimeDirectory(environment: ["RUNTIME_DIRECTORY": directory ?? runtime]),
            now: { Timestamp(microseconds: seconds * 1_000_000) }, settings: { _ in settings },
            ask: { _, _ in ask() })
        return SecretStore(
            sources: ["api": .oauth2(client ?? oauth2), "id": .environment("ID")], environment: environment,
            base: place.path, tokens: tokens)
    }

    private func token(_ value: String, _ lifetime: Duration? = .seconds(3540)) -> OAuth2.Answer {
        let answer = AttemptReport.Answer(status: 200, body: Array("{\"access_token\":\"\(value)\"}".utf8))
        guard
            case .token(var token) = OAuth2.answer(
                in: AttemptReport(result: .answer(answer), duration: .zero), at: Timestamp(microseconds: 0))
        else {
            return .refused(reason: "is no token")
        }
        token.lifetime = lifetime
        return .token(token)
    }

    private func never() -> OAuth2.Answer { .refused(reason: "was asked") }

    private func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: runtime) }

    @Test func `runs share a token for its lifetime, and no longer`() throws {
        #expect(store { token("a") }.values(["api"]).values == ["api": "a"])
        #expect(store(at: 1_003_539, ask: never).values(["api"]).values == ["api": "a"])
        #expect(store(at: 1_003_540) { token("b") }.values(["api"]).values == ["api": "b"])
        // After the clock was set back, a token from the future is not valid.
        #expect(store(at: 999_999) { token("c") }.values(["api"]).values == ["api": "c"])
        let file = try #require(try files().first)
        let mode = try FileManager.default.attributesOfItem(atPath: "\(runtime)/\(file)")[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(!file.contains("me") && !file.contains("secret"))
    }

    @Test func `another key of an assertion has another token`() {
        var client = OAuth2(tokenURL: "https://id.example/token")
        client.assertion = JWTAssertion(keyFile: "/key.pem", keyID: "1")
        #expect(store(client: client) { token("a") }.values(["api"]).values == ["api": "a"])
        client.assertion?.keyID = "2"
        #expect(store(client: client) { token("b") }.values(["api"]).values == ["api": "b"])
    }

    @Test func `another socket or proxy of the endpoint has another token`() {
        let connections = [
            ConnectionOptions(), ConnectionOptions(unixSocket: "/one"), ConnectionOptions(unixSocket: "/two"),
            ConnectionOptions(proxy: .url("http://one@proxy:1")), ConnectionOptions(proxy: .url("http://two@proxy:1")),
        ]
        for (number, connection) in connections.enumerated() {
            let settings = DestinationSettings { $0.connection = connection }
            let token = token("\(number)")
            #expect(store(settings: settings) { token }.values(["api"]).values == ["api": "\(number)"])
            #expect(store(settings: settings, ask: never).values(["api"]).values == ["api": "\(number)"])
        }
    }

    @Test func `runs with different runtime directories never send a refresh token twice`() throws {
        try place.write("R-0", to: "refresh")
        let sent = Mutex([String]())
        let (base, runtime) = (place.path, runtime)
        for number in 0..<4 {
            try FileManager.default.createDirectory(
                atPath: "\(runtime)/\(number)", withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
        DispatchQueue.concurrentPerform(iterations: 4) { number in
            let store = Self.refreshing(base, "\(runtime)/\(number)", at: 1_000_000) { refresh in
                let count = sent.withLock { sent in
                    sent.append(refresh)
                    return sent.count
                }
                return .token(OAuth2.Token(value: "a", lifetime: .seconds(60), refreshToken: "R-\(count)"))
            }
            _ = store.values(["api"])
        }
        #expect(sent.withLock { $0 } == ["R-0", "R-1", "R-2", "R-3"])
    }

    @Test func `a token without a lifetime stays within its run`() throws {
        let first = store { token("a", nil) }
        #expect(first.values(["api"]).values == ["api": "a"])
        #expect(first.values(["api"]).values == ["api": "a"])
        #expect(store { token("b", nil) }.values(["api"]).values == ["api": "b"])
    }

    // MARK: - Refresh tokens, and tokens of commands

    /// A store whose refresh token is in the file `refresh`. `ask` gets the refresh token.
    private func refreshing(at seconds: Int64 = 1_000_000, ask: @escaping (String) -> OAuth2.Answer) -> SecretStore {
        Self.refreshing(place.path, runtime, at: seconds, ask: ask)
    }

    private static func refreshing(
        _ base: String, _ runtime: String, at seconds: Int64, ask: @escaping (String) -> OAuth2.Answer
    ) -> SecretStore {
        var client = OAuth2(tokenURL: "https://id.example/token", clientID: "me")
        client.refreshToken = "${secret:refresh}"
        let tokens = TokenSource(
            directory: RuntimeDirectory(environment: ["RUNTIME_DIRECTORY": runtime]),
            now: { Timestamp(microseconds: seconds * 1_000_000) },
            ask: { _, secrets in ask(secrets.values["refresh"] ?? "") })
        return SecretStore(
            sources: ["api": .oauth2(client), "refresh": .file("refresh")], environment: [:], base: base,
            tokens: tokens)
    }

    private func token(_ value: String, _ lifetime: Duration, refresh: String) -> OAuth2.Answer {
        .token(OAuth2.Token(value: value, lifetime: lifetime, refreshToken: refresh))
    }

    @Test(arguments: ["R-2", "R-2-that-is-longer", "r"])
    func `a new refresh token replaces the old token in its file`(new: String) throws {
        try place.write("R-1-first\n", to: "refresh")
        #expect(
            refreshing { $0 == "R-1-first" ? token("a", .seconds(60), refresh: new) : never() }.values(["api"]).values
                == ["api": "a"])
        #expect(try String(contentsOfFile: "\(place.path)/refresh", encoding: .utf8) == new + "\n")
        #expect(
            refreshing(at: 1_000_060) { $0 == new ? token("b", .seconds(60), refresh: new) : never() }
                .values(["api"]).values == ["api": "b"])
    }

    @Test(arguments: [
        (0o640, "may be read or written by others (mode 0640, should be 0600)"),
        (0o400, "cannot be written: Permission denied"),
    ])
    func `a refresh token that could not be replaced is refused, and the endpoint is not asked`(
        mode: Int, reason: String
    ) throws {
        // Root may write any file.
        if mode == 0o400, geteuid() == 0 { return }
        let file = try place.write("R-1", to: "refresh", mode: mode)
        let asked = Mutex(0)
        let store = refreshing { _ in
            asked.withLock { $0 += 1 }
            return token("a", .seconds(60), refresh: "R-2")
        }
        #expect(store.values(["api"]).failures["api"]?.hasSuffix(reason) == true)
        #expect(asked.withLock { $0 } == 0)
        // A run and `check` ask the same question; the hold ends once the answer is another one.
        #expect(store.values(["refresh"]).failures["refresh"] == "comes from '\(file)', which \(reason)")
        chmod(file, 0o600)
        #expect(store.values(["refresh"]).values["refresh"] == "R-1")
    }

    /// The endpoint accepts a refresh token once, and each access token is valid for a minute.
    @Test func `four runs over two hours refresh once a minute, each time with the newest refresh token`() throws {
        try place.write("R-0", to: "refresh")
        let state = Mutex((refresh: 0, asked: 0, wrong: 0))
        let ask: @Sendable (String) -> OAuth2.Answer = { given in
            state.withLock { state in
                state.asked += 1
                if given != "R-\(state.refresh)" { state.wrong += 1 }
                state.refresh += 1
                return .token(
                    OAuth2.Token(
                        value: "A-\(state.refresh)", lifetime: .seconds(54), refreshToken: "R-\(state.refresh)"))
            }
        }
        let (base, runtime) = (place.path, runtime)
        for minute in 0..<120 {
            DispatchQueue.concurrentPerform(iterations: 4) { _ in
                let store = Self.refreshing(base, runtime, at: 1_000_000 + Int64(minute) * 60, ask: ask)
                let values = store.values(["api"]).values
                state.withLock { if values != ["api": "A-\($0.refresh)"] { $0.wrong += 1 } }
            }
        }
        #expect(state.withLock { $0.asked } == 120)
        #expect(state.withLock { $0.wrong } == 0)
    }

    @Test func `runs share the output of a command only for its ttl`() throws {
        func run(_ ttl: Duration?, at seconds: Int64) -> String? {
            let tokens = TokenSource(
                directory: RuntimeDirectory(environment: ["RUNTIME_DIRECTORY": runtime]),
                now: { Timestamp(microseconds: seconds * 1_000_000) },
                ask: { _, _ in never() })
            let store = SecretStore(
                sources: ["api": .command(["sh", "-c", "echo x >> calls; wc -l < calls"], ttl: ttl)],
                environment: ["PATH": "/usr/bin:/bin"], base: place.path, tokens: tokens)
            return store.values(["api"]).values["api"]
        }
        #expect(run(.seconds(100), at: 1_000_000) == "1")
        #expect(run(.seconds(100), at: 1_000_099) == "1")
        #expect(run(.seconds(100), at: 1_000_100) == "2")
        #expect(run(nil, at: 1_000_101) == "3")
    }

    @Test func `clients whose ids come from secrets of the same name do not share a token`() {
        let client = OAuth2(tokenURL: "https://id.example/token", clientID: "${secret:id}", clientSecret: "secret")
        for (id, value) in [("one", "a"), ("two", "b")] {
            let first = store(client: client, environment: ["ID": id]) { token(value) }
            #expect(first.values(["api"]).values == ["api": value])
        }
        let again = store(client: client, environment: ["ID": "one"], ask: never)
        #expect(again.values(["api"]).values == ["api": "a"])
    }

    @Test(arguments: [nil, Duration.zero, .milliseconds(900)])
    func `an endpoint is not asked at each attempt, even for tokens with a short or no lifetime`(lifetime: Duration?) {
        let asked = Mutex(0)
        let store = store {
            asked.withLock { $0 += 1 }
            return token("a", lifetime)
        }
        let start = ContinuousClock.now
        for _ in 0..<3 { _ = store.values(["api"], at: start + .milliseconds(950)) }
        #expect(asked.withLock { $0 } == 1)
    }

    @Test func `a hanging endpoint is not asked again for each operation`() {
        let asked = Mutex(0)
        let store = store {
            asked.withLock { $0 += 1 }
            usleep(300_000)
            return .unavailable(reason: "does not answer (timeout)", for: .zero)
        }
        let start = ContinuousClock.now
        _ = store.values(["api"], at: start)
        _ = store.values(["api"], at: start + .milliseconds(1_250))
        #expect(asked.withLock { $0 } == 1)
    }

    @Test func `a refused token is renewed, unless another run has renewed the token`() {
        let answers = Mutex(["c", "b", "a"])
        func next() -> OAuth2.Answer { answers.withLock { $0.popLast().map { token($0) } ?? never() } }
        let (first, second) = (store(ask: next), store(ask: next))
        let (used, same) = (first.values(["api"]), second.values(["api"]))
        #expect(used.values == ["api": "a"] && same.values == used.values)
        #expect(first.refresh(after: used))
        #expect(first.values(["api"]).values == ["api": "b"])
        #expect(second.refresh(after: same))
        #expect(second.values(["api"]).values == ["api": "b"])
        #expect(answers.withLock { $0 } == ["c"])
    }

    @Test func `a refused token is forgotten, although the endpoint gives no other one`() {
        let first = store { token("a") }
        let used = first.values(["api"])
        let silent = OAuth2.Answer.unavailable(reason: "does not answer (timeout)", for: .seconds(5))
        let run = store { silent }
        #expect(run.values(["api"]).values == ["api": "a"])
        #expect(run.refresh(after: used))
        #expect(store { silent }.values(["api"]).unavailable["api"] != nil)
        #expect(store { token("b") }.values(["api"]).values == ["api": "b"])
    }

    @Test func `after a 401 a refusal of the endpoint is told, and the refused token is not sent again`() {
        let answers = Mutex([OAuth2.Answer.refused(reason: "answered 401: invalid_client"), token("a")])
        let run = store { answers.withLock { $0.popLast() } ?? never() }
        let used = run.values(["api"])
        #expect(used.values == ["api": "a"])
        #expect(run.refresh(after: used))
        let now = run.values(["api"])
        #expect(now.unavailable.isEmpty && now.failures["api"]?.hasSuffix("answered 401: invalid_client") == true)
    }

    @Test func `simultaneous runs ask the endpoint once`() {
        let asked = Mutex(0)
        let found = Mutex(Set<String>())
        let (runtime, base, oauth2, answer) = (runtime, place.path, oauth2, token("a"))
        DispatchQueue.concurrentPerform(iterations: 6) { _ in
            let tokens = TokenSource(
                directory: RuntimeDirectory(environment: ["RUNTIME_DIRECTORY": runtime]),
                now: { Timestamp(microseconds: 1_000_000_000_000) },
                ask: { _, _ in
                    asked.withLock { $0 += 1 }
                    return answer
                })
            let store = SecretStore(
                sources: ["api": .oauth2(oauth2)], environment: [:], base: base, tokens: tokens)
            let value = store.values(["api"]).values["api"] ?? "none"
            found.withLock { _ = $0.insert(value) }
        }
        #expect(asked.withLock { $0 } == 1)
        #expect(found.withLock { $0 } == ["a"])
    }

    /// Changes that a hostile user may make to the file or to its directory.
    enum Hostility: CaseIterable {
        case readable, link, second, torn, directory, writableDirectory, linkedDirectory, noDirectory
    }

    @Test(arguments: Hostility.allCases)
    func `an untrusted token file is ignored, and the endpoint gives a new token`(hostility: Hostility)
        throws
    {
        _ = store { token("a") }.values(["api"])
        let path = try "\(runtime)/\(#require(try files().first))"
        let manager = FileManager.default
        var directory = runtime
        switch hostility {
        case .readable: try manager.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        case .link:
            try manager.moveItem(atPath: path, toPath: place.path + "/elsewhere")
            try manager.createSymbolicLink(atPath: path, withDestinationPath: place.path + "/elsewhere")
        case .second: try manager.linkItem(atPath: path, toPath: place.path + "/second")
        case .torn:
            try manager.setAttributes([:], ofItemAtPath: path)
            try Data(contentsOf: URL(filePath: path)).dropLast(3).write(to: URL(filePath: path))
            try manager.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        case .directory:
            try manager.removeItem(atPath: path)
            try manager.createDirectory(atPath: path, withIntermediateDirectories: false)
        case .writableDirectory: try manager.setAttributes([.posixPermissions: 0o777], ofItemAtPath: runtime)
        case .linkedDirectory:
            directory = place.path + "/linked"
            try manager.createSymbolicLink(atPath: directory, withDestinationPath: runtime)
        case .noDirectory: directory = place.path + "/none"
        }
        #expect(store(directory: directory) { token("b") }.values(["api"]).values == ["api": "b"])
    }

    @Test func `a silent endpoint is distinguished from a refusing endpoint`() {
        let late = store { .unavailable(reason: "does not answer (dns)", for: .seconds(90)) }.values(["api"])
        #expect(late.unavailable["api"].map { $0 >= .seconds(89) } == true)
        #expect(
            late.failures["api"] == "comes from the endpoint 'https://id.example/token', which does not answer (dns)")
        let refused = store { .refused(reason: "answered 401: invalid_client") }.values(["api"])
        #expect(refused.unavailable.isEmpty)
        #expect(
            refused.failures["api"]
                == "comes from the endpoint 'https://id.example/token', which answered 401: invalid_client")
    }

    @Test func `the directory is systemd's, the session's, or the user's in the temporary directory`() {
        func path(_ environment: [String: String]) -> String { RuntimeDirectory(environment: environment).path }
        #expect(path(["RUNTIME_DIRECTORY": "/run/a:/run/b", "XDG_RUNTIME_DIR": "/x"]) == "/run/a")
        #expect(path(["XDG_RUNTIME_DIR": "/run/user/7", "TMPDIR": "/t"]) == "/run/user/7/drainq")
        #expect(path(["XDG_RUNTIME_DIR": "relative", "TMPDIR": "/t"]) == "/t/drainq-\(getuid())")
        #expect(path([:]) == "/tmp/drainq-\(getuid())")
    }
}
