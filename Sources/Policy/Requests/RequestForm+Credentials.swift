extension RequestForm {
    /// Returns the credentials of a request for these operations with these secrets.
    ///
    /// The inputs are the values of the route's secrets, wherever they stand; the filled-in header fields and
    /// parameters of the url that are credentials, of the route and of the operations; the keys of `sign`; and
    /// `headersCommand`, by its command. A secret whose source has effects counts by its source: each call of a command
    /// or an endpoint may return another token, and all of them stand for the same login.
    package func credentials(
        of operations: some Sequence<Operation>, secrets: SecretValues, sources: [String: SecretSource]
    ) -> RequestCredentials {
        var secrets = secrets
        for (name, source) in sources where source.hasEffects && secrets.values[name] != nil {
            secrets.values[name] = "source \(source)"
        }
        var filled: [String] = []
        var own: [String] = []
        for operation in operations {
            own += operation.header.ownCredentials
            for field in fields where isFilledIn(field) {
                // try?: a request that cannot be made has no credentials.
                let value = try? field.value.fieldValue(TemplateValues(operation, secrets: secrets))
                filled.append("\(field.name.lowercased()): \(value ?? "")")
            }
        }
        return RequestCredentials(
            secrets.values.values.uniqueByBytes + ["route"] + writtenCredentials(secrets)
                + ["operation"] + (own + filled).uniqueByBytes,
            areOwn: !own.isEmpty || !secrets.files.isEmpty || fields.contains(where: isOfOperation))
    }

    /// Whether the credentials of requests depend on their operations, even if these bring none.
    package var fillsInCredentials: Bool { fields.contains(where: isFilledIn) }

    /// The credentials of the route by the names of its secrets. Requests of routes with the same text usually have
    /// equal credentials.
    package func credentialNames(settings: DestinationSettings) -> String {
        let names = secretNames(settings: settings).sorted()
        let marks = SecretValues(values: Dictionary(uniqueKeysWithValues: names.map { ($0, "${secret:\($0)}") }))
        return (names + writtenCredentials(marks)).joined(separator: ",")
    }

    /// The credentials that the route writes out around its secrets. Values of operations stand as placeholders.
    private func writtenCredentials(_ secrets: SecretValues) -> [String] {
        let fields = fields.filter { isNamedAsCredential($0.name) || !$0.value.secretNames.isEmpty }
        var texts = fields.map { "\($0.name.lowercased()): \($0.value.text(filling: secrets))" }.uniqueByBytes
        // try?: a url that is no template makes no request.
        texts += (route.url ?? "").credentialParameters
            .map { (try? Template($0, for: .url))?.text(filling: secrets) ?? $0 }
        texts += route.headersCommand ?? []
        return texts + (route.awsSigning.map { ["\($0)"] } ?? [])
    }

    /// Whether the value of a field is a credential that takes values from the operation. As in an operation, only the
    /// fields by which clients send credentials count: `X-Partition-Key: {key}` is none.
    private func isFilledIn(_ field: Field) -> Bool {
        OperationHeader.credentialFields.contains(field.name.lowercased()) && !field.value.placeholders.isEmpty
    }

    /// Whether a field has the credentials of its operation: all operations of a type share those made from the type.
    private func isOfOperation(_ field: Field) -> Bool {
        isFilledIn(field) && field.value.placeholders.contains { $0.word != .type }
    }
}

extension Template {
    /// Returns the text with these values of its secrets, and with its placeholders as they are.
    fileprivate func text(filling secrets: SecretValues) -> String {
        parts.map { part in
            switch part {
            case .text(let bytes): String(decoding: bytes, as: UTF8.self)
            case .base64(let template): "Base64 of \(template.text(filling: secrets))"
            case .value(let placeholder): "{\(placeholder.word.text)}"
            case .secret(let name, _, _): secrets.values[name] ?? ""
            }
        }.joined()
    }
}

extension OperationHeader {
    /// The fields by which clients send credentials.
    fileprivate static let credentialFields: Set<String> = [
        "authorization", "cookie", "proxy-authorization", "x-api-key", "api-key", "apikey", "x-auth-token",
    ]

    /// The credentials that the operation brings itself.
    fileprivate var ownCredentials: [String] {
        let fields = headers.filter { Self.credentialFields.contains($0.name.lowercased()) }
        return fields.map { "\($0.name.lowercased()): \($0.value)" } + (url?.credentialParameters ?? [])
    }
}

extension String {
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
