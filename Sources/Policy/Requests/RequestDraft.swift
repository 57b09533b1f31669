/// A request as far as it can be made without secrets and without an attempt.
struct RequestDraft: Hashable {
    /// What goes out as a body; neither bytes nor a file is no body at all.
    struct Content: Hashable {
        var bytes: [UInt8]?
        var file: BodyFile?
        /// Its media type, unless a header says another.
        var type: String?
    }

    var method: String
    /// Secrets not filled in.
    var url: String
    /// The route's, without those that the operation replaces; secrets not filled in.
    var routeHeaders: [HeaderField]
    var ownHeaders: [HeaderField]
    var content: Content
}

extension Route {
    func draft(of operation: Operation) throws(RequestError) -> RequestDraft {
        try draft(of: operation) { (method) throws(RequestError) in try content(of: operation, method: method) }
    }

    func draft(
        of operation: Operation, content: (_ method: String) throws(RequestError) -> RequestDraft.Content
    ) throws(RequestError) -> RequestDraft {
        let header = operation.header
        try checkOverrides(by: header)
        let method = try method(for: header)
        let url = try url(for: operation)
        for (fields, owner) in [(headers, RequestError.Owner.route), (header.headers, .operation)] {
            for field in fields {
                if let defect = field.defect { throw .badHeader(name: field.name, reason: defect, ownedBy: owner) }
            }
        }
        let own = Set(header.headers.map { $0.name.lowercased() })
        let routeHeaders = headers.filter { !own.contains($0.name.lowercased()) }
        try checkCredentials(routeHeaders, goingTo: header.url)
        try checkRequirements(of: operation)
        return RequestDraft(
            method: method, url: url, routeHeaders: routeHeaders, ownHeaders: header.headers,
            content: try content(method))
    }

    // MARK: - Headers

    /// All fields of a draft, with those that only an attempt knows.
    func headers(
        of draft: RequestDraft, key: String, attempt: Int, version: String, secrets: SecretValues
    ) throws(RequestError) -> [HeaderField] {
        var fields: [HeaderField] = []
        for field in draft.routeHeaders {
            fields.append(HeaderField(name: field.name, value: try SecretText(field.value).expanded(with: secrets)))
        }
        fields += draft.ownHeaders
        let names = Set(fields.map { $0.name.lowercased() })
        if let type = draft.content.type, !names.contains("content-type") {
            fields.append(HeaderField(name: "Content-Type", value: type))
        }
        fields.append(HeaderField(name: "Idempotency-Key", value: try quotedKey(key)))
        fields.append(HeaderField(name: "Drainq-Attempt", value: String(attempt)))
        if !names.contains("user-agent") {
            fields.append(HeaderField(name: "User-Agent", value: "drainq/\(version)"))
        }
        return fields
    }

    func quotedKey(_ key: String) throws(RequestError) -> String {
        guard let quoted = key.structuredString else { throw .badIdempotencyKey }
        return quoted
    }

    // MARK: - Content

    private func content(of operation: Operation, method: String) throws(RequestError) -> RequestDraft.Content {
        if let file = operation.header.bodyFile {
            guard `protocol` == .plain, body == nil else {
                throw .badBodyFile(path: file.path, reason: "cannot be put into the envelope of the route")
            }
            return RequestDraft.Content(file: file, type: try contentType(of: operation.header, hasBody: true))
        }
        switch `protocol` {
        case .callable:
            let data = try json(of: operation)
            return RequestDraft.Content(
                bytes: Array("{\"data\":".utf8) + data + Array("}".utf8), type: "application/json")
        case .plain where body?.text.isEmpty == true:
            return RequestDraft.Content(bytes: Self.noBody(of: method), type: nil)
        case .plain where body != nil:
            return RequestDraft.Content(bytes: try json(of: operation), type: "application/json")
        case .plain:
            let bytes = Self.body(of: operation, method: method)
            return RequestDraft.Content(
                bytes: bytes, type: try contentType(of: operation.header, hasBody: bytes?.isEmpty == false))
        }
    }

    /// The payload, in its envelope if the route has one.
    func json(of operation: Operation) throws(RequestError) -> [UInt8] {
        if let body { return try body.expanded(for: operation) }
        let payload = try operation.payload
        return Array(payload.bytes[payload.range])
    }

    /// Bytes of no declared type are said to be just that: a transport left alone would call them a form.
    private func contentType(of header: OperationHeader, hasBody: Bool) throws(RequestError) -> String? {
        guard let type = header.contentType ?? (hasBody ? "application/octet-stream" : nil) else { return nil }
        if let defect = HeaderField(name: "Content-Type", value: type).defect {
            throw .badHeader(name: "Content-Type", reason: defect, ownedBy: .operation)
        }
        return type
    }

    private static func body(of operation: Operation, method: String) -> [UInt8]? {
        operation.body.isEmpty ? noBody(of: method) : operation.body
    }

    /// What a method sends that has nothing to send.
    private static func noBody(of method: String) -> [UInt8]? {
        switch method {
        case "GET", "HEAD", "DELETE", "OPTIONS": nil
        default: []
        }
    }

    // MARK: - Checks

    private func method(for header: OperationHeader) throws(RequestError) -> String {
        let chosen = header.method ?? self.method
        // CONNECT and TRACE are for proxies, and URLs are not what they take.
        guard chosen.isToken, chosen.utf8.count <= 32, !["CONNECT", "TRACE"].contains(chosen.uppercased()) else {
            throw .badMethod(chosen, ownedBy: header.method == nil ? .route : .operation)
        }
        return chosen
    }

    private func checkOverrides(by header: OperationHeader) throws(RequestError) {
        let brought: [(OverridableField, Bool)] = [
            (.method, header.method != nil), (.url, header.url != nil), (.headers, !header.headers.isEmpty),
        ]
        for (field, isBrought) in brought where isBrought && !overrides.contains(field) { throw .notOverridable(field) }
    }

    /// Anybody who may add an operation could have the credentials sent home otherwise. What the operation replaces by
    /// its own is not sent; a route without a url has no origin to which its credentials belong.
    private func checkCredentials(_ fields: [HeaderField], goingTo own: String?) throws(RequestError) {
        guard let own, let origin = Origin(url: own), origin != url.flatMap(Origin.init(url:)) else { return }
        if headersCommand != nil || fields.contains(where: \.carriesCredentials) {
            throw .credentialsElsewhere(origin: origin.description)
        }
    }

    private func checkRequirements(of operation: Operation) throws(RequestError) {
        guard !require.isEmpty else { return }
        if let file = operation.header.bodyFile {
            throw .badBodyFile(path: file.path, reason: "is not looked into, and the route has requirements")
        }
        let payload = try operation.payload
        for condition in require where !condition.holds(in: payload) { throw .requirementNotMet(condition) }
    }
}

extension HeaderField {
    private static let credentialWords: Set<String> = [
        "authorization", "auth", "cookie", "credential", "credentials", "key", "password", "secret", "signature",
        "token",
    ]

    /// Whether the field is one that lets its sender in: by a secret in it, or by its name (`X-Api-Key`, `apikey`).
    var carriesCredentials: Bool {
        if !SecretText(value).names.isEmpty { return true }
        return name.lowercased().split(whereSeparator: { $0 == "-" || $0 == "_" }).contains { word in
            Self.credentialWords.contains(String(word)) || word.hasSuffix("key") || word.hasSuffix("token")
        }
    }
}

extension OutgoingRequest {
    /// Puts the fields that the route's command has answered in the place of those of the same names.
    package mutating func setHeaders(fromCommand fields: [HeaderField]) throws(RequestError) {
        for field in fields {
            if let defect = field.defect {
                throw .headersCommand(reason: "answered the header '\(escapedForDisplay(field.name))', which \(defect)")
            }
        }
        let names = Set(fields.map { $0.name.lowercased() })
        headers.removeAll { names.contains($0.name.lowercased()) }
        headers += fields
    }
}

extension String {
    /// The text as a string of RFC 8941 §3.3.3, in its quotes; `nil` if it is empty or has other than printable ASCII.
    var structuredString: String? {
        guard !isEmpty, utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        var quoted = "\""
        for scalar in unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted += "\\" }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }
}
