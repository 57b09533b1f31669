extension RequestForm {
    /// Returns the complete request that an operation makes on this route. A user's text cannot smuggle anything into
    /// it.
    ///
    /// The operation's own url, method and headers replace the route's, if the route lets them. Only the route's url is
    /// a template. Secrets are filled into texts of the configuration, never into texts of an operation. `attempt`
    /// counts from 1. GET, HEAD, DELETE and OPTIONS send no body unless one was given; other methods then send an empty
    /// body. On a route with `batch` the request is a batch of one. `base` is that of an earlier request of this form,
    /// with the same settings and transports, to be used again if it is the same.
    package func request(
        for operation: Operation, attempt: Int, version: String, settings: DestinationSettings = DestinationSettings(),
        secrets: SecretValues = .none, available: [Transport] = Transport.allCases, base: RequestBase? = nil
    ) throws(RequestError) -> OutgoingRequest {
        try request(
            try complete(TemplateValues(operation, attempt: attempt, secrets: secrets)),
            key: try idempotencyKey(of: operation), attempt: attempt, version: version, settings: settings,
            secrets: secrets, available: available, base: base, freshConnection: operation.isAnswerDoubted)
    }

    /// Returns one request for several operations: all of a draft, or a part of them in the same order.
    ///
    /// `attempt` is the highest of theirs. The key is made of the members' keys and their order, so the same batch has
    /// the same key at each attempt, and another batch another key. A batch of one has its member's own key.
    package func batchRequest(
        for members: [Operation], attempt: Int, version: String,
        settings: DestinationSettings = DestinationSettings(), secrets: SecretValues = .none,
        available: [Transport] = Transport.allCases, base: RequestBase? = nil
    ) throws(RequestError) -> OutgoingRequest {
        precondition(route.batch != nil && !members.isEmpty, "a batch of a route that has some")
        func values(_ member: Operation) -> TemplateValues {
            TemplateValues(member, attempt: attempt, secrets: secrets)
        }
        var draft = try complete(values(members[0]))
        var items: [[UInt8]] = []
        var keys: [String] = []
        for member in members {
            items.append(try batchItem(of: member, values(member)))
            keys.append(try idempotencyKey(of: member))
        }
        draft.content.bytes = try joined(items, values(members[0]))
        let key = keys.count == 1 ? keys[0] : "batch-\(Digest(of: keys.joined(separator: "\n")))"
        return try request(
            draft, key: key, attempt: attempt, version: version, settings: settings, secrets: secrets,
            available: available, base: base, freshConnection: members.contains(where: \.isAnswerDoubted))
    }

    /// Returns a draft with its secrets. Throws a defect of the operation before a missing secret.
    private func complete(_ values: TemplateValues) throws(RequestError) -> RequestDraft {
        do throws(RequestError) {
            return try draft(values)
        } catch {
            switch error {
            case .missingSecret, .missingOwnSecret, .noCredentials:
                if let operation = values.operation { _ = try draft(of: operation) }
            default: break
            }
            throw error
        }
    }

    /// Returns the request of a draft, with what the transport and the destination add.
    private func request(
        _ draft: RequestDraft, key: String, attempt: Int, version: String, settings: DestinationSettings,
        secrets: SecretValues, available: [Transport], base: RequestBase?, freshConnection: Bool
    ) throws(RequestError) -> OutgoingRequest {
        let hasBody = draft.content.bytes?.isEmpty == false || draft.content.part != nil
        let headers = try draft.headers(key: key, attempt: attempt, version: version)
        let base =
            if let base, base.isBase(of: draft, hasBody: hasBody, settings) { base } else {
                try self.base(of: draft, hasBody, settings, secrets, available)
            }
        return OutgoingRequest(
            base, headers: headers, body: draft.content.bytes, bodyPart: draft.content.part,
            freshConnection: freshConnection)
    }

    private func base(
        of draft: RequestDraft, _ hasBody: Bool, _ settings: DestinationSettings, _ secrets: SecretValues,
        _ available: [Transport]
    ) throws(RequestError) -> RequestBase {
        var values = RequestBase.Values(method: draft.method, url: draft.url)
        (values.bodyFile, values.timeouts, values.answerLimit) = (draft.content.file, route.timeouts, route.answerLimit)
        (values.connection, values.redirects) = (try settings.connection.expanded(with: secrets), route.redirects)
        values.transport =
            try TransportChoice.choose(for: values, hasBody: hasBody, settings: settings, available: available)
            .transport
        return RequestBase(values, hasBody: hasBody)
    }
}

extension Route {
    /// Returns why the operation can never be sent, as `RequestForm.defect(of:)` does.
    package func defect(of operation: Operation) -> RequestError? { RequestForm(self).defect(of: operation) }

    /// The names of the values that requests on this route take from answers to earlier operations of the key.
    package var keptNames: Set<String> {
        // Most routes have none: makes a form only if there may be one.
        let texts = headers.map(\.value) + [url, body].compactMap(\.self)
        let mayHave = texts.contains { $0.pieces(at: "{").dropFirst().contains { $0.begins(with: "kept.") } }
        return mayHave ? RequestForm(self).keptNames : []
    }

    /// Returns the names of the secrets that attempts on this route need.
    package func secretNames(settings: DestinationSettings) -> Set<String> {
        RequestForm(self).secretNames(settings: settings)
    }
}

extension Operation {
    /// Whether the last attempt's answer could not be read, or may have been another request's.
    var isAnswerDoubted: Bool { attempts.last?.error == NetworkError.malformedAnswer.rawValue }
}

extension ConnectionOptions {
    /// Parses a text that may name secrets; `nil` if it is no template.
    private static func setting(_ text: String) -> Template? { try? Template(text, for: .setting) }

    /// The names of the secrets in the proxy and in the passphrase.
    package var secretNames: [String] {
        var texts: [String] = []
        if case .url(let proxy) = proxy { texts.append(proxy) }
        if let passphrase = clientCertificate?.passphrase { texts.append(passphrase) }
        return texts.flatMap { Self.setting($0)?.secretNames ?? [] }
    }

    /// Returns the options with their secrets filled in.
    package func expanded(with secrets: SecretValues) throws(RequestError) -> ConnectionOptions {
        var expanded = self
        if case .url(let proxy) = proxy {
            let template = try Template(proxy, for: .proxy, of: "proxy")
            expanded.proxy = .url(try template.text(TemplateValues(nil, secrets: secrets)))
        }
        if let passphrase = clientCertificate?.passphrase {
            let template = try Template(passphrase, for: .setting, of: "clientCertificate.passphrase")
            expanded.clientCertificate?.passphrase = try template.text(TemplateValues(nil, secrets: secrets))
        }
        return expanded
    }
}
