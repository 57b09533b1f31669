import Foundation
import LoopbackReceiver
import Synchronization
import Testing

/// Tokens for client credentials, in runs of the program.
struct TokenRunTests {
    /// The endpoint and the API: `/token` gives the next token, and all further paths accept valid tokens.
    private final class Service: Sendable {
        let tokens: Mutex<[String]>
        let good: Mutex<Set<String>>
        let asked = Mutex([String]())

        init(tokens: [String], good: Set<String>) {
            self.tokens = Mutex(tokens)
            self.good = Mutex(good)
        }

        func receiver() throws -> LoopbackReceiver {
            try LoopbackReceiver(
                script: .deciding { request, _ in
                    guard request.target == "/token" else {
                        let bearer = request.header("Authorization")?.dropFirst("Bearer ".count) ?? ""
                        return .status(self.good.withLock { $0.contains(String(bearer)) } ? 200 : 401)
                    }
                    let form = "\(request.header("Authorization") ?? "") \(request.text)"
                    self.asked.withLock { $0.append(form) }
                    guard let token = self.tokens.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
                        return .status(401, body: #"{"error":"invalid_client"}"#)
                    }
                    return .status(200, body: #"{"access_token":"\#(token)","expires_in":3600}"#)
                })
        }
    }

    private func drainq(_ url: String, tokenURL: String? = nil) throws -> Drainq {
        let drainq = try Drainq(
            """
            { routes: { default: { url: "\(url)/in", headers: { Authorization: "Bearer ${secret:api}" },
                retry: { base: "1s" } } },
              secrets: {
                api: { oauth2: { tokenUrl: "\(tokenURL ?? url + "/token")", clientId: "me", clientSecret: "${secret:client}",
                                 scope: "orders.write" } },
                client: { file: "../client" } } }
            """)
        try drainq.write("TOPSECRET", as: "client")
        try FileManager.default.createDirectory(
            at: drainq.directory.appending(path: "run"), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        drainq.environment["XDG_RUNTIME_DIR"] = drainq.directory.appending(path: "run").path
        return drainq
    }

    @Test func `ten runs ask for one token`() throws {
        let service = Service(tokens: ["T0KEN-1"], good: ["T0KEN-1"])
        let receiver = try service.receiver()
        let drainq = try drainq(receiver.url)
        for number in 1...10 {
            try drainq.run("add", input: "\(number)\n")
            #expect(try drainq.run("run").status == 0)
        }
        #expect(
            service.asked.withLock { $0 } == ["Basic bWU6VE9QU0VDUkVU grant_type=client_credentials&scope=orders.write"]
        )
        #expect(receiver.receivedCount == 11)
    }

    @Test func `a 401 renews the token, for this run and the next`() throws {
        let service = Service(tokens: ["T0KEN-1", "T0KEN-2"], good: ["T0KEN-1"])
        let receiver = try service.receiver()
        let drainq = try drainq(receiver.url)
        try drainq.run("add", input: "1\n")
        try drainq.run("run")
        service.good.withLock { $0 = ["T0KEN-2"] }
        for number in 2...4 {
            try drainq.run("add", input: "\(number)\n")
            #expect(try drainq.run("run").status == 0)
        }
        #expect(service.asked.withLock { $0.count } == 2)
        #expect(try drainq.waiting() == 0)
    }

    @Test func `an endpoint that refuses after a 401 holds the destination with its own words`() throws {
        let service = Service(tokens: ["T0KEN-1"], good: ["T0KEN-1"])
        let receiver = try service.receiver()
        let drainq = try drainq(receiver.url)
        try drainq.run("add", input: "1\n")
        #expect(try drainq.run("run").status == 0)
        service.good.withLock { $0 = [] }
        try drainq.run("add", input: "2\n")
        let held = try drainq.run("run")
        #expect(held.status == 69 && held.error.contains("which answered 401: invalid_client"))
        #expect(receiver.requests().map(\.target) == ["/token", "/in", "/in", "/token"])
    }

    @Test func `an unreachable endpoint defers the operation, and a refusing endpoint holds the destination`() throws {
        let service = Service(tokens: [], good: [])
        let receiver = try service.receiver()
        let away = try drainq(receiver.url, tokenURL: "http://127.0.0.1:1/token")
        try away.run("add", input: "1\n")
        let deferred = try away.run("run", "-v")
        #expect(deferred.status == 75 && deferred.error.contains("which does not answer (refused)"))
        #expect(try away.names("deferred").count == 1)
        #expect(try away.list().map { $0["attempts"] as? Int } == [0])
        let refused = try drainq(receiver.url)
        try refused.run("add", input: "1\n")
        let held = try refused.run("run", "-v")
        #expect(held.status == 69 && held.error.contains("which answered 401: invalid_client"))
        #expect(receiver.requests().allSatisfy { $0.target == "/token" })
    }

    @Test func `an endpoint that asks for time is not asked before, and its operations lose no attempt`() throws {
        let endpoint = try LoopbackReceiver(
            script: .deciding { _, _ in .status(429, headers: ["Retry-After: 3600"]) })
        let receiver = try LoopbackReceiver()
        let drainq = try drainq(receiver.url, tokenURL: endpoint.url + "/token")
        for number in 1...3 {
            try drainq.run("add", input: "\(number)\n")
            #expect(try drainq.run("run").status == 75)
        }
        #expect(endpoint.receivedCount == 1 && receiver.receivedCount == 0)
        #expect(try drainq.list().map { $0["attempts"] as? Int } == [0, 0, 0])
    }

    @Test func `a hold for a client's secret ends after the secret is mended`() throws {
        let service = Service(tokens: [], good: ["T0KEN-1"])
        let receiver = try service.receiver()
        let drainq = try drainq(receiver.url)
        try drainq.run("add", input: "1\n")
        #expect(try drainq.run("run").status == 69)
        service.tokens.withLock { $0 = ["T0KEN-1"] }
        try drainq.write("MENDED", as: "client")
        #expect(try drainq.run("run").status == 0)
        #expect(try drainq.waiting() == 0)
    }

    @Test func `no token and no client's secret is in the queue`() throws {
        let service = Service(tokens: ["T0KEN-1"], good: [])
        let receiver = try service.receiver()
        let drainq = try drainq(receiver.url)
        try drainq.run("add", input: "1\n")
        let said = try drainq.run("run", "-v")
        let found = try drainq.shell("grep -r -e T0KEN -e TOPSECRET queue; true")
        #expect(found.output == "" && !(said.output + said.error).contains("T0KEN"))
    }

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl"), "openssl signs"),
        arguments: ["RSA -pkeyopt rsa_keygen_bits:2048", "EC -pkeyopt ec_paramgen_curve:P-256"])
    func `openssl signs the assertion for a token with the configured key`(kind: String) throws {
        let service = Service(tokens: ["T0KEN-1"], good: ["T0KEN-1"])
        let receiver = try service.receiver()
        let drainq = try drainq(receiver.url)
        let isRSA = kind.hasPrefix("RSA")
        let made = try drainq.shell(
            "umask 077; openssl genpkey -algorithm \(kind) -out queue/key.pem 2>&1 && openssl pkey -in queue/key.pem -pubout -out public.pem"
        )
        #expect(made.status == 0, "\(made)")
        try drainq.write(
            """
            { routes: { default: { url: "\(receiver.url)/in", headers: { Authorization: "Bearer ${secret:api}" } } },
              secrets: { api: { oauth2: { tokenUrl: "\(receiver.url)/token",
                assertion: { key: "key.pem", claims: { iss: "me@example.com" } } } } } }
            """, as: "queue/drainq.json")
        try drainq.run("add", input: "1\n")
        let run = try drainq.run("run")
        #expect(run.status == 0, "\(run)")
        let form = try #require(service.asked.withLock { $0.first })
        #expect(form.contains("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="))
        let parts = form.split(separator: "=").last!.split(separator: ".").map(String.init)
        try drainq.write("\(parts[0]).\(parts[1])", as: "input")
        func decoded(_ text: String) throws -> Data {
            let standard = text.replacing("-", with: "+").replacing("_", with: "/")
            return try #require(
                Data(base64Encoded: standard + String(repeating: "=", count: (4 - standard.count % 4) % 4)))
        }
        #expect(String(decoding: try decoded(parts[0]), as: UTF8.self).contains(isRSA ? "RS256" : "ES256"))
        var signature = try decoded(parts[2])
        if !isRSA {
            #expect(signature.count == 64)
            // Back to DER: each number with a leading zero, as openssl accepts.
            let numbers = [signature.prefix(32), signature.suffix(32)].map { number -> [UInt8] in
                let bytes = Array(number.drop { $0 == 0 })
                let signed = bytes.first.map { $0 >= 0x80 } ?? true ? [0] + bytes : bytes
                return [2, UInt8(signed.count)] + signed
            }.flatMap { $0 }
            signature = Data([0x30, UInt8(numbers.count)] + numbers)
        }
        try signature.write(to: drainq.directory.appending(path: "signature"))
        let verified = try drainq.shell("openssl dgst -sha256 -verify public.pem -signature signature input")
        #expect(verified.output == "Verified OK\n", "\(verified)")
    }

    @Test func `Basic authentication is made of a user and a secret, and shown with the secret's name`() throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(
            """
            { routes: { default: { url: "\(receiver.url)/in", auth: { basic: { user: "api", password: "${secret:p}" } } } },
              secrets: { p: { env: "P" } } }
            """)
        drainq.environment["P"] = "s:ü"
        try drainq.run("add", "--id", "a", input: "1\n")
        let shown = try drainq.run("show", "--request", "a")
        #expect(shown.output.contains("\nAuthorization: Basic [Base64 of api:[secret p]]\n"), "\(shown)")
        let curl = try drainq.run("show", "--curl", "a")
        #expect(try drainq.run("run").status == 0)
        #expect(receiver.requests().first?.header("Authorization") == "Basic YXBpOnM6w7w=")
        try drainq.write(curl.output, as: "send.sh")
        #expect(try drainq.shell("p='s:ü' sh send.sh").status == 0)
        #expect(receiver.requests().last?.header("Authorization") == "Basic YXBpOnM6w7w=")
        #expect(receiver.receivedCount == 2)
    }
}
