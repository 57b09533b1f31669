import Delivery
import Foundation
import Testing

@testable import Policy

/// No error and no description contains the secret.
struct `A secret stays secret` {
    static let marker = "sk_live_4f9a1c77e0"

    /// Returns every text that Swift makes of a value.
    private func texts(of value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return [
            "\(value)", String(describing: value), String(reflecting: value), dumped, "\([value])",
            String(reflecting: ["key": value]), "\(Optional(value) as Any)",
        ]
    }

    private func isSilent(_ value: Any, _ comment: Comment? = nil, location: SourceLocation = #_sourceLocation) {
        for text in texts(of: value) {
            #expect(!text.contains(Self.marker), comment, sourceLocation: location)
        }
    }

    @Test func `descriptions of the values and the store do not contain the secret`() throws {
        let place = try SecretPlace()
        try place.write(Self.marker)
        let store = place.store(
            [
                "file": .file("token"), "variable": .environment("TOKEN"),
                "command": .command(["cat", "token"], ttl: .seconds(60)), "missing": .file("other"),
            ],
            environment: ["TOKEN": Self.marker])
        let names: Set = ["file", "variable", "command", "missing"]
        let values = store.values(names)
        #expect(values.values.values.filter { $0 == Self.marker }.count == 3, "the secrets are there")
        isSilent(values)
        isSilent(store)
        isSilent((values, store))
        #expect("\(values)".contains("variable"), "its name is no secret")
    }

    @Test func `reasons for unusable secrets do not contain the secret`() throws {
        let place = try SecretPlace()
        try place.write(Self.marker, to: "open", mode: 0o644)
        try place.write(Self.marker, to: "shared", mode: 0o660)
        try place.write("\(Self.marker)\n\(Self.marker)", to: "lines")
        try place.write("\(Self.marker)\u{1}", to: "control")
        try place.write(Data(Self.marker.utf8) + [0xff], to: "bytes")
        try place.write(String(repeating: Self.marker, count: 10_000), to: "long")
        let shout = "cat lines; cat lines >&2;"
        let sources: [String: SecretSource] = [
            "open": .file("open"), "shared": .file("shared"), "lines": .file("lines"), "control": .file("control"),
            "bytes": .file("bytes"), "long": .file("long"), "no directory": .credential("lines"),
            "variable": .environment("TOKEN"),
            "fails": .command(["sh", "-c", "\(shout) exit 3"], ttl: .zero),
            "dies": .command(["sh", "-c", "\(shout) kill -9 $$"], ttl: .zero),
            "hangs": .command(["sh", "-c", "\(shout) sleep 1000"], ttl: .zero),
            "many lines": .command(["cat", "lines"], ttl: .zero),
            "endless": .command(["yes", Self.marker], ttl: .zero),
            "too long": .command(["cat", "long"], ttl: .zero),
            "argument": .command(["sh", "-c", "exit 1", Self.marker], ttl: .zero),
        ]
        let store = place.store(
            sources, environment: ["TOKEN": "\(Self.marker)\n\(Self.marker)"], commandTimeout: .milliseconds(300))
        let values = store.values(Set(sources.keys))
        #expect(values.values.isEmpty)
        #expect(values.failures.count == sources.count)
        isSilent(values)
        isSilent(store)
        for (name, reason) in values.failures {
            isSilent(reason)
            isSilent(RequestError.missingSecret(name, reason: reason))
        }
        #expect(!store.refresh(after: values))
    }

    @Test(arguments: [
        ["sh", "-c", "cat; cat >&2"],
        ["sh", "-c", "cat >&2; exit 3"],
        ["sh", "-c", "cat; kill -9 $$"],
        ["sh", "-c", "cat; sleep 1000"],
        ["printf", "Idempotency-Key: \(marker)"],
        ["printf", "\(marker)"],
        ["printf", "my \(marker): x"],
        ["printf", "A: \(marker)\\001"],
        ["yes", "A: \(marker)"],
        ["/nonexistent/sign", marker],
    ])
    func `errors of a header command do not contain a secret of the request`(arguments: [String]) throws {
        let request = OutgoingRequest(
            method: "POST", url: "http://127.0.0.1/",
            headers: [HeaderField(name: "Authorization", value: "Bearer \(Self.marker)")], body: Array(Self.marker.utf8)
        )
        let command = HeadersCommand(
            arguments, directory: "/", environment: ProgramEnvironment(of: ["PATH": "/usr/bin:/bin"]),
            timeout: .milliseconds(300))
        let error = try #require(throws: RequestError.self) { try command.headers(for: request) }
        isSilent(error)
        isSilent(error.description)
    }

    @Test func `a started program does not get the secret in its environment or arguments`() throws {
        let place = try SecretPlace()
        try place.write(Self.marker)
        let store = place.store(
            [
                "variable": .environment("TOKEN"), "file": .file("token"),
                "spy": .command(
                    [
                        "sh", "-c",
                        "tr '\\0' '\\n' < /proc/$$/environ > seen; tr '\\0' '\\n' < /proc/$$/cmdline >> seen; echo x",
                    ], ttl: .zero),
            ],
            environment: ["TOKEN": Self.marker, "OTHER": "seen-1"], passing: ["OTHER"])
        #expect(store.values(["variable", "file", "spy"]).failures.isEmpty)
        let seen = try String(contentsOfFile: "\(place.path)/seen", encoding: .utf8)
        #expect(seen.contains("seen-1"))
        #expect(!seen.contains(Self.marker))
    }
}
