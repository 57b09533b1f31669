extension Route {
    /// The request that an operation makes on this route: complete, nothing left to look up, nothing in it that a
    /// user's text could have smuggled in.
    ///
    /// The operation's own url, method and headers come before the route's; its url is taken as it stands, the route's
    /// is a template. `attempt` counts from 1. GET, HEAD, DELETE and OPTIONS send no body unless one was given; other
    /// methods then send an empty one.
    package func request(
        for operation: Operation, attempt: Int, version: String, settings: DestinationSettings = DestinationSettings(),
        secrets: SecretValues = .none, hasLibcurl: Bool = false
    ) throws(RequestError) -> OutgoingRequest {
        let header = operation.header
        let method = try method(for: header)
        let body = Self.body(of: operation, method: method)
        return OutgoingRequest(
            method: method, url: try url(for: operation),
            headers: try headers(for: header, hasBody: body?.isEmpty == false, attempt: attempt, version: version),
            body: body, timeouts: timeouts, answerLimit: answerLimit)
    }

    /// The address alone, for an operation whose destination must be known before it is attempted.
    package func url(for operation: Operation) throws(RequestError) -> String {
        if let own = operation.header.url {
            guard let parts = URLParts(own) else { throw .badURL(own, ownedBy: .operation) }
            return try parts.encoded(as: own, ownedBy: .operation)
        }
        guard let url else { throw .noURL(operation.header.type) }
        guard let parts = URLParts(url) else { throw .badURL(url, ownedBy: .route) }
        var template = parts
        template.rest = Substring(try URLTemplate(parts.rest).expanded(for: operation))
        return try template.encoded(as: url, ownedBy: .route)
    }

    private func method(for header: OperationHeader) throws(RequestError) -> String {
        let chosen = header.method ?? self.method
        // CONNECT and TRACE are for proxies, and URLs are not what they take.
        guard chosen.isToken, chosen.utf8.count <= 32, !["CONNECT", "TRACE"].contains(chosen.uppercased()) else {
            throw .badMethod(chosen, ownedBy: header.method == nil ? .route : .operation)
        }
        return chosen
    }

    private func headers(
        for header: OperationHeader, hasBody: Bool, attempt: Int, version: String
    ) throws(RequestError) -> [HeaderField] {
        for (fields, owner) in [(headers, RequestError.Owner.route), (header.headers, .operation)] {
            for field in fields {
                if let defect = field.defect { throw .badHeader(name: field.name, reason: defect, ownedBy: owner) }
            }
        }
        let own = Set(header.headers.map { $0.name.lowercased() })
        var fields = headers.filter { !own.contains($0.name.lowercased()) } + header.headers
        let names = Set(fields.map { $0.name.lowercased() })
        // Bytes of no declared type are said to be just that: a transport left alone would call them a form.
        let contentType = header.contentType ?? (hasBody ? "application/octet-stream" : nil)
        if let contentType, !names.contains("content-type") {
            let field = HeaderField(name: "Content-Type", value: contentType)
            if let defect = field.defect {
                throw .badHeader(name: field.name, reason: defect, ownedBy: .operation)
            }
            fields.append(field)
        }
        let key = header.idempotencyKey ?? header.id.description
        guard let quoted = key.structuredString else { throw .badIdempotencyKey }
        fields.append(HeaderField(name: "Idempotency-Key", value: quoted))
        fields.append(HeaderField(name: "Drainq-Attempt", value: String(attempt)))
        if !names.contains("user-agent") {
            fields.append(HeaderField(name: "User-Agent", value: "drainq/\(version)"))
        }
        return fields
    }

    private static func body(of operation: Operation, method: String) -> [UInt8]? {
        if !operation.body.isEmpty { return operation.body }
        switch method {
        case "GET", "HEAD", "DELETE", "OPTIONS": return nil
        default: return []
        }
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
