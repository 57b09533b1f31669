/// The fingerprint of a destination's configuration and credentials, in ten digits. A hold stores it, and ends when it
/// changes. `5f0a1-9c3e7`: the configuration, then the credentials.
///
/// It stands in a file, beside its salt, so it must not help anybody who reads that file to find a secret by trying. Of
/// either digest only 20 bits are kept: of a million wrong guesses one passes, so whoever has a list of guesses is left
/// with a thousand of each billion, and can try those only against the server, as without it. A change that goes
/// unnoticed, one in a million, costs the wait for the next probe, or `drainq release`. The two are apart so that a
/// configuration which changes often does not give away another 20 bits of the same secret each time; and literal values
/// in a configuration (a header, a proxy's user) are no better guarded than in the configuration itself, so 20 bits of
/// these are enough too.
package struct CredentialFingerprint: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// - `leads` are the routes that lead to the destination, see `DestinationTable.routes`.
    /// - `sources` are those of the secrets that they and the `settings` name; `values` what they are now. A secret that
    ///   cannot be had is another one than an empty one, and the values of what has effects are left out: a command may answer
    ///   with another token every time, and each would end the hold.
    package init(
        of leads: [DestinationTable.Lead], _ settings: DestinationSettings, sources: [String: SecretSource],
        values: [String: String], salt: String
    ) {
        var configuration = leads.flatMap { lead -> [String] in
            [lead.type?.description ?? "", "\(lead.route.whatMayBeBlamed)"]
        }
        configuration += ["\(settings.connection)", "\(settings.transport)"]
        for (name, source) in sources.sorted(by: { $0.key < $1.key }) { configuration += [name, "\(source)"] }
        let credentials = sources.keys.sorted().flatMap { name -> [String] in
            if sources[name]?.hasEffects == true { return [name] }
            return values[name].map { [name, "is", $0] } ?? [name, "is missing"]
        }
        description =
            Self.digits(of: ["configuration", salt] + configuration) + "-"
            + Self.digits(of: ["credentials", salt] + credentials)
    }

    /// The first 20 bits of the SHA-256 of the texts, each behind its length, so that none can pass for two.
    private static func digits(of texts: [String]) -> String {
        let bytes = texts.flatMap { Array("\($0.utf8.count):".utf8) + Array($0.utf8) }
        return String(
            SHA256.hash(bytes).prefix(3).flatMap { [$0 >> 4, $0 & 15] }.prefix(5).map { digit in
                Character(UnicodeScalar(UInt8.lowerHexDigit(digit)))
            })
    }
}

extension Route {
    /// The parts of a route that can lead to a hold; schedules, limits and orders cannot. Only arrays, because the text
    /// of a set changes from process to process.
    fileprivate var whatMayBeBlamed: [String] {
        [
            "\(url ?? "")", destination ?? "", method, "\(headers)", "\(self.protocol)", body ?? "",
            idempotencyKey ?? "", batch?.body ?? "", accept?.description ?? "",
            "\((answers + classify).map(\.description))", "\(redirects)", "\(headersCommand ?? [])",
            overrides.map(\.rawValue).sorted().joined(),
        ] + (awsSigning.map { ["\($0)"] } ?? [])
    }
}
