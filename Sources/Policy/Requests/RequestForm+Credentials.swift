extension RequestForm {
    /// Returns the credentials of a request for these operations with these secrets.
    ///
    /// The inputs are the values of the route's secrets, wherever they stand; the credentials that the route or an
    /// operation writes out; the keys of `sign`; and `headersCommand`, by its command. A secret whose source has
    /// effects counts by its source: each call of a command or an endpoint may return another token, and all of them
    /// stand for the same login.
    package func credentials(
        of operations: some Sequence<Operation>, secrets: SecretValues, sources: [String: SecretSource]
    ) -> RequestCredentials {
        let values = Set(
            secrets.values.map { name, value in
                sources[name].flatMap { $0.hasEffects ? "source \($0)" : nil } ?? "value \(value)"
            })
        let own = operations.reduce(into: Set<String>()) { $0.formUnion($1.header.ownCredentials) }
        return RequestCredentials(
            values.sorted() + ["route"] + writtenCredentials + ["operation"] + own.sorted(),
            areOwn: !own.isEmpty || !secrets.files.isEmpty)
    }

    /// The credentials of the route by its secrets' names. Requests of routes with the same text usually share them.
    package func credentialNames(settings: DestinationSettings) -> String {
        (secretNames(settings: settings).sorted() + writtenCredentials).joined(separator: ",")
    }

    /// The credentials that the route writes out, instead of naming secrets.
    private var writtenCredentials: [String] {
        let fields = route.headers.filter { isNamedAsCredential($0.name) && !$0.value.namesSecret }
        var texts = fields.map { "\($0.name.lowercased()): \($0.value)" }.sorted()
        texts += (route.url ?? "").credentialParameters.filter { !$0.namesSecret }
        texts += [route.basicUser, route.basicPassword].compactMap(\.self).filter { !$0.namesSecret }
        texts += route.headersCommand ?? []
        return texts + (route.awsSigning.map { ["\($0)"] } ?? [])
    }
}

extension OperationHeader {
    /// The fields by which clients send credentials.
    private static let credentialFields: Set<String> = [
        "authorization", "cookie", "proxy-authorization", "x-api-key", "api-key", "apikey", "x-auth-token",
    ]

    /// The credentials that the operation brings itself.
    fileprivate var ownCredentials: [String] {
        let fields = headers.filter { Self.credentialFields.contains($0.name.lowercased()) }
        return fields.map { "\($0.name.lowercased()): \($0.value)" } + (url?.credentialParameters ?? [])
    }
}

extension String {
    fileprivate var namesSecret: Bool { contains("${secret:") }

    /// The parameters of a url's query whose names are those of credentials: `key=…`, `access_token=…`.
    fileprivate var credentialParameters: [String] {
        guard let start = utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        let query = utf8[start...].dropFirst().prefix { $0 != UInt8(ascii: "#") }
        return query.split(separator: UInt8(ascii: "&")).map { String(decoding: $0, as: UTF8.self) }
            .filter { isNamedAsCredential(String($0.upTo("="))) }
    }
}

private let credentialWords: Set<String> = [
    "authorization", "auth", "cookie", "credential", "credentials", "key", "password", "secret", "signature", "token",
]

/// Returns whether a field or a parameter is a credential by its name: `X-Api-Key`, `apikey`, `access_token`.
func isNamedAsCredential(_ name: String) -> Bool {
    name.lowercased().utf8.split(whereSeparator: { "-_".utf8.contains($0) }).contains { bytes in
        let word = Substring(bytes)
        return credentialWords.contains(String(word)) || word.ends(with: "key") || word.ends(with: "token")
    }
}
