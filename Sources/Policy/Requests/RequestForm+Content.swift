extension RequestForm {
    func content(
        of operation: Operation, method: String, _ values: TemplateValues
    ) throws(RequestError) -> RequestDraft.Content {
        // A body file is sent alone, and unchanged.
        if let batch = route.batch, operation.header.bodyFile == nil {
            let item = try batchItem(of: operation, values)
            return RequestDraft.Content(
                bytes: try joined([item], values),
                type: batchBody == nil ? batch.format.contentType : "application/json")
        }
        if let file = operation.header.bodyFile {
            guard body == nil else {
                throw .badBodyFile(path: file.path, reason: "cannot be put into the envelope of the route")
            }
            return RequestDraft.Content(file: file, type: try contentType(of: operation.header, hasBody: true))
        }
        guard let body else {
            if let part = operation.bodyPart, sendsBodiesAsTheyAre {
                return RequestDraft.Content(part: part, type: try contentType(of: operation.header, hasBody: true))
            }
            let bytes = operation.body.isEmpty ? Self.noBody(of: method) : operation.body
            return RequestDraft.Content(
                bytes: bytes, type: try contentType(of: operation.header, hasBody: bytes?.isEmpty == false))
        }
        if body.text.isEmpty { return RequestDraft.Content(bytes: Self.noBody(of: method)) }
        var values = values
        values.isLined = route.isBodyLined
        return RequestDraft.Content(
            bytes: try body.bytes(values), type: route.bodySyntax == .json ? "application/json" : nil)
    }

    /// Returns the declared type, else `application/octet-stream` if there is a body: transports would call it a form.
    private func contentType(of header: OperationHeader, hasBody: Bool) throws(RequestError) -> String? {
        guard let type = header.contentType ?? (hasBody ? "application/octet-stream" : nil) else { return nil }
        guard HeaderField.canSend(value: type) else {
            throw .badHeader(name: "Content-Type", reason: .value, ownedBy: .operation)
        }
        return type
    }

    /// Returns the body of a request without content, by method.
    private static func noBody(of method: String) -> [UInt8]? {
        switch method {
        case "GET", "HEAD", "DELETE", "OPTIONS": nil
        default: []
        }
    }
}

extension Route {
    /// The body's template within what its protocol puts around it: a callable function takes `{"data": …}`.
    var bodyInItsProtocol: String? {
        switch `protocol` {
        case .plain: body
        case .callable: "{\"data\":\(body ?? "{payload}")}"
        }
    }

    var bodySyntax: BodySyntax { BodySyntax(mediaType: contentType) }

    /// Whether each line of a request's body is a value of its own.
    var isBodyLined: Bool {
        batch?.format == .ndjson || contentType.map { $0.utf8.map(\.asciiLowercased).contains("ndjson".utf8) } ?? false
    }

    private var contentType: String? { headers.first { $0.isNamed("content-type" as StaticString) }?.value }
}
