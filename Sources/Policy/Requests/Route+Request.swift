extension Route {
    /// The request that an operation makes on this route: complete, nothing left to look up, nothing in it that a
    /// user's text could have smuggled in.
    ///
    /// The operation's own url, method and headers come before the route's, where the route lets them; its url is taken
    /// as it stands, the route's is a template. Secrets are filled into what the configuration says, never into what an
    /// operation brings. `attempt` counts from 1. GET, HEAD, DELETE and OPTIONS send no body unless one was given; other
    /// methods then send an empty one. On a route with `batch` it is a batch of one.
    package func request(
        for operation: Operation, attempt: Int, version: String, settings: DestinationSettings = DestinationSettings(),
        secrets: SecretValues = .none, hasLibcurl: Bool = false
    ) throws(RequestError) -> OutgoingRequest {
        if batch != nil {
            return try batchRequest(
                for: [operation], attempt: attempt, version: version, settings: settings, secrets: secrets,
                hasLibcurl: hasLibcurl)
        }
        return try request(
            try draft(of: operation), for: operation, key: operation.idempotencyKey, attempt: attempt,
            version: version, settings: settings, secrets: secrets, hasLibcurl: hasLibcurl)
    }

    /// A draft with everything filled in that only an attempt knows.
    func request(
        _ draft: RequestDraft, for operation: Operation, key: String, attempt: Int, version: String,
        settings: DestinationSettings, secrets: SecretValues, hasLibcurl: Bool
    ) throws(RequestError) -> OutgoingRequest {
        let hasSecretURL = operation.header.url == nil && url.map { !SecretText($0).names.isEmpty } == true
        var request = OutgoingRequest(
            method: draft.method, url: hasSecretURL ? try url(for: operation, secrets: secrets) : draft.url,
            headers: try headers(of: draft, key: key, attempt: attempt, version: version, secrets: secrets),
            body: draft.content.bytes, bodyFile: draft.content.file, timeouts: timeouts, answerLimit: answerLimit,
            connection: try settings.connection.expanded(with: secrets), redirects: redirects)
        request.transport =
            try TransportChoice.choose(for: request, preference: settings.transport, hasLibcurl: hasLibcurl).transport
        return request
    }

    /// Why the operation can never be sent, whatever the secrets: to be refused when it is added. `nil` if it can, and if
    /// it is the route that has to be mended.
    package func defect(of operation: Operation) -> RequestError? {
        do throws(RequestError) {
            _ = batch == nil ? try draft(of: operation) : try batchDraft(of: operation)
            _ = try quotedKey(operation.idempotencyKey)
            return nil
        } catch {
            return error.outcome == .failed ? error : nil
        }
    }

    /// The address alone, for an operation whose destination must be known before it is attempted. Secrets in it are not
    /// filled in: it may be shown.
    package func url(for operation: Operation) throws(RequestError) -> String {
        try url(for: operation, secrets: nil)
    }

    /// The secrets that attempts on this route need.
    package func secretNames(settings: DestinationSettings) -> Set<String> {
        var names = Set(headers.flatMap { SecretText($0.value).names })
        if let url, url.utf8.contains(UInt8(ascii: "$")), let parts = URLParts(url),
            let template = try? URLTemplate(parts.rest)
        {
            names.formUnion(template.secretNames)
        }
        return names.union(settings.connection.secretNames)
    }

    func url(for operation: Operation, secrets: SecretValues?) throws(RequestError) -> String {
        if let own = operation.header.url {
            guard let parts = URLParts(own) else { throw .badURL(own, ownedBy: .operation) }
            return try parts.encoded(as: own, ownedBy: .operation)
        }
        guard let url else { throw .noURL(operation.header.type) }
        guard let parts = URLParts(url) else { throw .badURL(url, ownedBy: .route) }
        var template = parts
        template.rest = Substring(try URLTemplate(parts.rest).expanded(for: operation, secrets: secrets))
        return try template.encoded(as: url, ownedBy: .route)
    }
}

extension Operation {
    /// What the server knows the operation by, at each of its attempts.
    var idempotencyKey: String { header.idempotencyKey ?? header.id.description }
}

extension ConnectionOptions {
    var secretNames: [String] {
        var texts: [String] = []
        if case .url(let proxy) = proxy { texts.append(proxy) }
        if let passphrase = clientCertificate?.passphrase { texts.append(passphrase) }
        return texts.flatMap { SecretText($0).names }
    }

    func expanded(with secrets: SecretValues) throws(RequestError) -> ConnectionOptions {
        var expanded = self
        if case .url(let proxy) = proxy {
            expanded.proxy = .url(try SecretText(proxy).expanded(with: secrets, encoding: \.percentEncoded))
        }
        if let passphrase = clientCertificate?.passphrase {
            expanded.clientCertificate?.passphrase = try SecretText(passphrase).expanded(with: secrets)
        }
        return expanded
    }
}
