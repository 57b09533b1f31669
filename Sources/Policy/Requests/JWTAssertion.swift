/// An assertion of an identity, signed by a key (RFC 7523), for a token of OAuth 2.
package struct JWTAssertion: Hashable, Sendable {
    /// The signature, which the kind of the key decides (RFC 7518 §3).
    package enum Algorithm: String, Hashable, Sendable {
        case rs256 = "RS256"
        case es256 = "ES256"
    }

    /// The path of the private key, PEM.
    package var keyFile: String
    /// The name of the key, for a service with several keys.
    package var keyID: String?
    /// Claims besides `iat` and `exp`; without `aud` the audience is the token endpoint.
    package var claims: [String: String]

    package init(keyFile: String = "", keyID: String? = nil, claims: [String: String] = [:]) {
        self.keyFile = keyFile
        self.keyID = keyID
        self.claims = claims
    }

    /// The time for which an assertion is valid. Some services accept at most three minutes.
    private static let lifetime: Int64 = 180

    /// Returns the text that the signature covers.
    package func signingInput(_ algorithm: Algorithm, audience: String, at now: Timestamp) -> String {
        var claims = claims
        claims["aud"] = claims["aud"] ?? audience
        let seconds = now.microseconds / 1_000_000
        let members = claims.sorted { $0.key < $1.key }.map {
            "\(JSONText.quoted($0.key)):\(JSONText.quoted($0.value))"
        }
        let times = ["\"iat\":\(seconds)", "\"exp\":\(seconds + Self.lifetime)"]
        let key = keyID.map { ",\"kid\":\(JSONText.quoted($0))" } ?? ""
        let header = "{\"alg\":\"\(algorithm.rawValue)\",\"typ\":\"JWT\"\(key)}"
        return [header, "{\((members + times).joined(separator: ","))}"]
            .map { Self.encoded(Array($0.utf8)) }.joined(separator: ".")
    }

    /// Returns the assertion with a signature as OpenSSL writes it; `nil` if that is no signature of this kind.
    package static func signed(_ input: String, _ algorithm: Algorithm, _ signature: [UInt8]) -> String? {
        switch algorithm {
        case .rs256: signature.isEmpty ? nil : "\(input).\(encoded(signature))"
        case .es256: fixed(signature).map { "\(input).\(encoded($0))" }
        }
    }

    /// Returns the two numbers of an ECDSA signature in DER as 32 bytes each (RFC 7518 §3.4).
    private static func fixed(_ signature: [UInt8]) -> [UInt8]? {
        guard signature.count > 2, signature[0] == 0x30, Int(signature[1]) == signature.count - 2 else { return nil }
        var rest = signature[2...]
        var numbers: [UInt8] = []
        for _ in 0..<2 {
            guard rest.count > 2, rest.popFirst() == 0x02, let length = rest.popFirst(), rest.count >= Int(length)
            else {
                return nil
            }
            let number = rest.prefix(Int(length)).drop { $0 == 0 }
            guard number.count <= 32 else { return nil }
            numbers += [UInt8](repeating: 0, count: 32 - number.count) + number
            rest = rest.dropFirst(Int(length))
        }
        return rest.isEmpty ? numbers : nil
    }

    /// Returns Base64 in the alphabet for URLs, without padding (RFC 4648 §5).
    private static func encoded(_ bytes: [UInt8]) -> String {
        let letters = Base64.encode(bytes).utf8.filter { $0 != UInt8(ascii: "=") }
        return String(decoding: letters.map(Base64.inURLAlphabet), as: UTF8.self)
    }
}
