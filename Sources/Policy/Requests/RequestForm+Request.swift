extension RequestForm {
    /// The request that an operation makes on this route: complete, nothing left to look up, nothing in it that a
    /// user's text could have smuggled in.
    ///
    /// The operation's own url, method and headers come before the route's, where the route lets them; its url is taken
    /// as it stands, the route's is a template. Secrets are filled into what the configuration says, never into what an
    /// operation brings. `attempt` counts from 1. GET, HEAD, DELETE and OPTIONS send no body unless one was given; other
    /// methods then send an empty one. On a route with `batch` it is a batch of one.
    package func request(
        for operation: Operation, attempt: Int, version: String, settings: DestinationSettings = DestinationSettings(),
        secrets: SecretValues = .none, available: [Transport] = Transport.allCases
    ) throws(RequestError) -> OutgoingRequest {
        try request(
            try draft(of: operation), for: operation, key: operation.idempotencyKey, attempt: attempt,
            version: version, settings: settings, secrets: secrets, available: available,
            freshConnection: operation.isAnswerDoubted)
    }

    /// One request for several operations: as a draft admitted them, or a part of those in the same order.
    ///
    /// `attempt` is the highest of theirs. The key is made of the members' keys and their order, so the same batch has
    /// the same one at each attempt, and another batch another; that of a batch of one is its member's own.
    package func batchRequest(
        for members: [Operation], attempt: Int, version: String,
        settings: DestinationSettings = DestinationSettings(), secrets: SecretValues = .none,
        available: [Transport] = Transport.allCases
    ) throws(RequestError) -> OutgoingRequest {
        precondition(route.batch != nil && !members.isEmpty, "a batch of a route that has some")
        var draft = try draft(of: members[0])
        var items: [[UInt8]] = []
        for member in members {
            items.append(try route.batchItem(of: member))
        }
        draft.content.bytes = route.batch?.joined(items)
        let keys = members.map(\.idempotencyKey)
        let key = keys.count == 1 ? keys[0] : "batch-\(Digest(of: keys.joined(separator: "\n")))"
        return try request(
            draft, for: members[0], key: key, attempt: attempt, version: version, settings: settings,
            secrets: secrets, available: available, freshConnection: members.contains(where: \.isAnswerDoubted))
    }

    /// A draft with everything filled in that only an attempt knows.
    private func request(
        _ draft: RequestDraft, for operation: Operation, key: String, attempt: Int, version: String,
        settings: DestinationSettings, secrets: SecretValues, available: [Transport],
        freshConnection: Bool
    ) throws(RequestError) -> OutgoingRequest {
        let url = needsSecretsForAddress(of: operation) ? try address(of: operation, secrets: secrets) : draft.url
        var request = OutgoingRequest(
            method: draft.method, url: url,
            headers: try draft.headers(key: key, attempt: attempt, version: version, secrets: secrets),
            body: draft.content.bytes, bodyFile: draft.content.file, timeouts: route.timeouts,
            answerLimit: route.answerLimit, connection: try settings.connection.expanded(with: secrets),
            redirects: route.redirects, freshConnection: freshConnection)
        request.transport =
            try TransportChoice.choose(for: request, settings: settings, available: available).transport
        return request
    }
}

extension Route {
    /// Why the operation can never be sent, as its form says.
    package func defect(of operation: Operation) -> RequestError? {
        RequestForm(self).defect(of: operation)
    }

    /// The address alone, for an operation whose destination must be known before it is attempted. Secrets in it are not
    /// filled in: it may be shown.
    package func url(for operation: Operation) throws(RequestError) -> String {
        try RequestForm(self).address(of: operation, secrets: nil)
    }

    /// The secrets that attempts on this route need.
    package func secretNames(settings: DestinationSettings) -> Set<String> {
        RequestForm(self).secretNames(settings: settings)
    }
}

extension Operation {
    /// What the server knows the operation by, at each of its attempts.
    var idempotencyKey: String { header.idempotencyKey ?? header.id.description }

    /// Whether the last attempt brought an answer that could not be read, or that may have been another request's.
    var isAnswerDoubted: Bool { attempts.last?.error == NetworkError.malformedAnswer.rawValue }
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
