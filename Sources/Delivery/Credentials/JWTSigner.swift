package import Policy

/// The signer of assertions: openssl(1), which reads the private key itself. The key is never in drainq's memory for
/// longer than its kind takes to find.
package struct JWTSigner {
    private let directory: String
    private let environment: ProgramEnvironment
    private static let program = "/usr/bin/openssl"

    /// - Parameters:
    ///   - directory: the directory of the configuration.
    ///   - environment: `SecretStore.commandEnvironment`.
    package init(directory: String, environment: ProgramEnvironment) {
        self.directory = directory
        self.environment = environment
    }

    /// Returns the signed assertion. A failure is a predicate of the assertion, without any part of the key.
    package func sign(_ assertion: JWTAssertion, audience: String, at now: Timestamp) -> Result<String, JWTFailure> {
        let path = assertion.keyFile
        let algorithm: JWTAssertion.Algorithm
        do throws(SecretDefect) {
            guard let found = Self.algorithm(of: try SecretFile(path: path).content(base: directory)) else {
                return .failure(JWTFailure(reason: "needs '\(path)' to be an RSA or P-256 key in PEM"))
            }
            algorithm = found
        } catch {
            return .failure(JWTFailure(reason: "has a key that \(error)"))
        }
        let input = assertion.signingInput(algorithm, audience: audience, at: now)
        let command = ExternalCommand(
            [Self.program, "dgst", "-sha256", "-sign", path], directory: directory, environment: environment)
        let ended = command.run(input: Array(input.utf8), within: .seconds(10), outputLimit: 4096)
        if let failure = ended.failure {
            return .failure(JWTFailure(reason: "cannot be signed: \(Self.program) \(failure)"))
        }
        guard let signed = JWTAssertion.signed(input, algorithm, ended.output) else {
            return .failure(JWTFailure(reason: "cannot be signed: \(Self.program) wrote no signature"))
        }
        return .success(signed)
    }

    /// Returns the algorithm for a key in PEM (RFC 5958, RFC 8017, RFC 5915); `nil` for other keys.
    private static func algorithm(of pem: [UInt8]) -> JWTAssertion.Algorithm? {
        let text = String(decoding: pem, as: UTF8.self)
        if text.contains("-----BEGIN RSA PRIVATE KEY-----") { return .rs256 }
        let begins = ["-----BEGIN PRIVATE KEY-----", "-----BEGIN EC PRIVATE KEY-----"]
        guard let start = begins.lazy.compactMap({ text.firstRange(of: $0)?.upperBound }).first,
            let end = text[start...].firstRange(of: "-----END")?.lowerBound
        else { return nil }
        let letters = text[start..<end].utf8.filter { $0 > 0x20 }
        guard let key = Base64.decode(letters) else { return nil }
        // The object identifiers of rsaEncryption and of P-256.
        if key.firstRange(of: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]) != nil { return .rs256 }
        return key.firstRange(of: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]) != nil ? .es256 : nil
    }
}

/// The reason why an assertion cannot be signed, as a predicate.
package struct JWTFailure: Error, Hashable, Sendable {
    package var reason: String
}
