import Delivery
import Foundation
import Policy
import Synchronization
import Testing

/// A token stands for the credentials that it was made from: with another user's it is not sent.
struct `Another login` {
    private let place: SecretPlace
    private let asked = Asked()

    /// What the endpoint was asked with.
    private final class Asked: Sendable {
        let refreshTokens = Mutex([String]())
        var count: Int { refreshTokens.withLock { $0.count } }
    }

    init() throws {
        place = try SecretPlace()
        for name in ["run", "other"] {
            try FileManager.default.createDirectory(
                atPath: "\(place.path)/\(name)", withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        }
        try logIn("alice", at: 1)
    }

    /// Writes the refresh token of a user, at a time of its own: the file system may have coarse times.
    private func logIn(_ user: String, at second: Int) throws {
        let file = try place.write(user, to: "refresh")
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_000_000 + Double(second))], ofItemAtPath: file)
    }

    /// A store of another run. The endpoint names the token after the refresh token, and replaces that by the new one.
    private func store(
        scope: String? = nil, runtime: String = "run", replacing new: String? = nil,
        change: (inout OAuth2) -> Void = { _ in },
        during: @escaping () -> Void = {}
    ) -> SecretStore {
        var client = OAuth2(tokenURL: "https://id.example/token", clientID: "me", scope: scope)
        client.clientSecret = "${secret:client}"
        client.refreshToken = "${secret:refresh}"
        change(&client)
        let tokens = TokenSource(
            directory: RuntimeDirectory(environment: ["RUNTIME_DIRECTORY": "\(place.path)/\(runtime)"]),
            now: { Timestamp(microseconds: 1_000_000_000_000) },
            ask: { [asked] _, secrets in
                let refresh = secrets.values["refresh"] ?? "none"
                asked.refreshTokens.withLock { $0.append(refresh) }
                during()
                let client = secrets.values["client"] ?? ""
                return .token(
                    OAuth2.Token(value: "\(client)-of-\(refresh)", lifetime: .seconds(3000), refreshToken: new))
            })
        return SecretStore(
            sources: ["api": .oauth2(client), "refresh": .file("refresh"), "client": .file("client")], environment: [:],
            base: place.path, tokens: tokens)
    }

    private func api(_ store: SecretStore) throws -> String? { store.values(["api"]).values["api"] }

    @Test func `a token of another login is used neither by the next run nor by one that stays`() throws {
        try place.write("c", to: "client")
        let staying = store()
        #expect(try api(staying) == "c-of-alice")
        #expect(!staying.mayWait(for: ["api"]))
        try logIn("bob", at: 2)
        #expect(try api(store()) == "c-of-bob")
        #expect(staying.mayWait(for: ["api"]))
        #expect(try api(staying) == "c-of-bob")
        #expect(asked.refreshTokens.withLock { $0 } == ["alice", "bob"])
    }

    @Test func `a token stands for the secret of its client and for the key of its assertion, too`() throws {
        try place.write("one", to: "client")
        let key = try place.write("key", to: "key.pem")
        func run() throws -> String? { try api(store(change: { $0.assertion = JWTAssertion(keyFile: key) })) }
        #expect(try run() == "one-of-alice")
        try place.write("another", to: "client")
        #expect(try run() == "another-of-alice")
        try place.write("another key", to: "key.pem")
        #expect(try run() == "another-of-alice" && asked.count == 3)
        #expect(try run() == "another-of-alice" && asked.count == 3)
    }

    @Test func `without the refresh token's file no token is used`() throws {
        try place.write("c", to: "client")
        let staying = store()
        #expect(try api(staying) == "c-of-alice")
        try FileManager.default.removeItem(atPath: "\(place.path)/refresh")
        #expect(try api(staying) == nil && api(store()) == nil)
    }

    @Test func `a new refresh token of the same login leaves tokens of other scopes and runtime directories valid`()
        throws
    {
        try place.write("c", to: "client")
        let stores = [
            store(scope: "a", replacing: "alice-2"), store(scope: "b", replacing: "alice-3"),
            store(scope: "a", runtime: "other", replacing: "alice-4"),
        ]
        for _ in 0..<3 { #expect(try stores.map(api) == ["c-of-alice", "c-of-alice-2", "c-of-alice-3"]) }
        #expect(try api(store(scope: "b")) == "c-of-alice-2")
        #expect(asked.count == 3)
        #expect(try String(contentsOfFile: "\(place.path)/refresh", encoding: .utf8) == "alice-4\n")
    }

    @Test func `a login during the request for a token keeps its refresh token`() throws {
        try place.write("c", to: "client")
        let store = store(replacing: "alice-2", during: { try? logIn("bob", at: 2) })
        _ = try api(store)
        #expect(try String(contentsOfFile: "\(place.path)/refresh", encoding: .utf8) == "bob")
        #expect(try api(self.store()) == "c-of-bob")
    }

    @Test func `no credential is readable in the file of a token`() throws {
        try place.write("c", to: "client")
        _ = try api(store())
        let runtime = "\(place.path)/run"
        let file = try #require(try FileManager.default.contentsOfDirectory(atPath: runtime).first)
        let text = try String(contentsOfFile: "\(runtime)/\(file)", encoding: .utf8)
        #expect(text.replacing("c-of-alice", with: "").contains("alice") == false)
        // The mark follows from the token as its key: the same credentials have another mark beside another token.
        #expect(text.contains(/"of":"[0-9a-f]{16}"/))
    }

    @Test func `runs share the output of a command only with the same passed variables`() throws {
        func run(_ environment: [String: String]) -> String? {
            let tokens = TokenSource(
                directory: RuntimeDirectory(environment: ["RUNTIME_DIRECTORY": "\(place.path)/run"]),
                now: { Timestamp(microseconds: 1_000_000_000_000) },
                ask: { _, _ in .refused(reason: "was asked") })
            let store = SecretStore(
                sources: [
                    "api": .command(["sh", "-c", "echo x >> runs; echo $AWS_PROFILE-in-$HOME"], ttl: .seconds(3000))
                ],
                environment: environment.merging(["PATH": "/usr/bin:/bin"]) { $1 }, passing: ["AWS_PROFILE"],
                base: place.path, tokens: tokens)
            return store.values(["api"]).values["api"]
        }
        #expect(run(["AWS_PROFILE": "alice", "HOME": "/a"]) == "alice-in-/a")
        #expect(run(["AWS_PROFILE": "alice", "HOME": "/a", "LANG": "C"]) == "alice-in-/a")
        #expect(place.runs() == 1)
        #expect(run(["AWS_PROFILE": "bob", "HOME": "/a"]) == "bob-in-/a")
        #expect(run(["AWS_PROFILE": "bob", "HOME": "/b"]) == "bob-in-/b")
        #expect(run(["HOME": "/b"]) == "-in-/b")
    }
}
