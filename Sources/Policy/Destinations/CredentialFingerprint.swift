/// The fingerprint of a destination's configuration and credentials, in ten digits: `5f0a1-9c3e7`, first the
/// configuration, then the credentials. A hold stores the fingerprint, and ends when it changes.
///
/// The fingerprint only notices a change, so each of its two digests keeps 20 bits: a change goes unnoticed one time in
/// a million, and then costs the wait for the next probe, or `drainq release`. Even a reader of the queue's key
/// (`state/key`) learns little: a list of a billion guesses of a secret leaves a thousand. The two digests are
/// separate, so that a configuration that changes often does not give away another 20 bits of the same secret each
/// time. What decides about an operation is longer, see `RequestCredentials.mark`.
package struct CredentialFingerprint: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// - `leads` are the routes that lead to the destination, see `DestinationTable.routes`.
    /// - `sources` are the sources of the secrets that they and the `settings` name; `values` are the current values. A
    ///   missing secret differs from an empty one. The value of a source that has effects is left out: a command may
    ///   print another token every time, and each would end the hold. So is a file for each operation.
    /// - `failures` say why files cannot be used: a hold ends, too, when another reason takes the place of its reason.
    package init(
        of leads: [DestinationTable.Lead], _ settings: DestinationSettings, sources: [String: SecretSource],
        values: [String: String], failures: [String: String] = [:], key: String
    ) {
        var configuration = leads.flatMap { lead -> [String] in
            [lead.type?.description ?? "", "\(lead.route.whatMayBeBlamed)"]
        }
        configuration += ["\(settings.connection)", "\(settings.transport)"]
        for (name, source) in sources.sorted(by: { $0.key < $1.key }) { configuration += [name, "\(source)"] }
        let credentials = sources.keys.sorted().flatMap { name -> [String] in
            if sources[name]?.isReadableAlone == false { return [name] }
            if let value = values[name] { return [name, "is", value] }
            return [name, "is missing"] + (failures[name].map { [$0] } ?? [])
        }
        description =
            Self.digits(of: ["configuration", key] + configuration) + "-"
            + Self.digits(of: ["credentials", key] + credentials)
    }

    /// Returns the first 20 bits of the SHA-256 of the texts, each after its length, so that one cannot pass for two.
    private static func digits(of texts: [String]) -> String {
        let bytes = texts.flatMap { Array("\($0.utf8.count):".utf8) + Array($0.utf8) }
        return String(
            SHA256.hash(bytes).prefix(3).flatMap { [$0 >> 4, $0 & 15] }.prefix(5).map { digit in
                Character(UnicodeScalar(UInt8.lowerHexDigit(digit)))
            })
    }
}

extension Route {
    /// The parts of a route that can lead to a hold; schedules, limits and orders cannot. All are arrays, because the
    /// text of a set differs from process to process.
    fileprivate var whatMayBeBlamed: [String] {
        [
            "\(url ?? "")", destination ?? "", method, "\(headers)", "\(self.protocol)", body ?? "",
            idempotencyKey ?? "", batch?.body ?? "", accept?.description ?? "",
            "\((answers + classify).map(\.description))", "\(redirects)", "\(headersCommand ?? [])",
            overrides.map(\.rawValue).sorted().joined(),
        ] + (awsSigning.map { ["\($0)"] } ?? [])
    }
}
