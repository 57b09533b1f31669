package import Policy

/// How bytes become an operation: by which command, and with which of its options.
///
/// Stands beside bytes in quarantine, in the file of their reason: `retry` reads them as the command did, and never in
/// another way.
package struct Reading: Hashable, Sendable {
    /// What the bytes are.
    package enum Form: String, Hashable, Sendable {
        /// A JSON value, the payload of the operation.
        case payload
        /// A body of any bytes.
        case body
        /// A JSON object with the fields of the operation.
        case envelope
        /// A line of `export`.
        case export
        /// A line of `export` that replaces the operation with its id.
        case replacement
        /// A file of another program.
        case foreign
    }

    package var form: Form
    /// The id of the operation if the bytes have none, and its time of creation; `nil` before they are given.
    package var id: OperationID?
    package var createdAt: Timestamp?
    package var type: Template?
    package var key: Template?
    package var url: String?
    package var method: String?
    package var headers: [HeaderField] = []
    package var contentType: String?
    package var notBefore: Timestamp?
    package var expiresAt: Timestamp?

    package init(_ form: Form) { self.form = form }

    /// The type, if it does not depend on the bytes.
    package var fixedType: TypeName? {
        if let type { return type.isFixed ? TypeName(type.text) : nil }
        return hasOwnFields ? nil : .default
    }

    /// The key, if it does not depend on the bytes.
    package var fixedKey: String? { key.flatMap { $0.isFixed ? $0.text : nil } }

    /// Whether the bytes have the fields of the operation, such as its id.
    var hasOwnFields: Bool {
        switch form {
        case .payload, .body: false
        case .envelope, .export, .replacement, .foreign: true
        }
    }

    // MARK: - Operations

    /// Returns the operation that the bytes ask for, and whether they have an id of their own. The options take
    /// precedence over the fields of an envelope. `bodyFile` returns the file that a path stands for.
    package func operation(
        from bytes: [UInt8], id: OperationID, createdAt: Timestamp, file: String, line: Int = 1,
        bodyFile: (String) -> Result<BodyFile, BodyFileRefusal>
    ) throws(OperationFileError) -> (operation: Operation, hasOwnID: Bool) {
        var (operation, hasOwnID): (Operation, Bool)
        if form == .envelope {
            (operation, hasOwnID) = try Envelope.operation(
                from: bytes, in: 0..<bytes.count, file: file, line: line,
                defaults: Envelope.Defaults(id: id, createdAt: createdAt), isMarked: true, bodyFile: bodyFile)
        } else {
            let header = OperationHeader(
                id: id, type: .default, createdAt: createdAt, contentType: contentType ?? "application/json")
            (operation, hasOwnID) = (Operation(header: header, body: bytes), false)
        }
        do throws(RequestError) {
            try override(&operation)
        } catch {
            throw OperationFileError(file: file, line: line, reason: "\(error)")
        }
        return (operation, hasOwnID)
    }

    /// Applies the options to an operation.
    package func override(_ operation: inout Operation) throws(RequestError) {
        if let type {
            let text = try type.text(of: operation)
            guard let name = TypeName(text) else {
                throw .unusableValue(
                    placeholder: String(type.text.dropFirst().dropLast()),
                    reason: "makes '\(QueuePath.escaped(Array(text.utf8)))', which is not a type")
            }
            operation.header.type = name
        }
        if let key { operation.header.key = try key.text(of: operation) }
        if let url { operation.header.url = url }
        if let method { operation.header.method = method }
        if let contentType { operation.header.contentType = contentType }
        let names = Set(headers.map { $0.name.lowercased() })
        operation.header.headers.removeAll { names.contains($0.name.lowercased()) }
        operation.header.headers += headers
        if let notBefore { operation.header.notBefore = notBefore }
        if let expiresAt { operation.header.expiresAt = expiresAt }
    }

    // MARK: - JSON

    /// The object in the file of a reason.
    var json: some Sequence<UInt8> {
        var object = OrderedJSONLine()
        object.member("form", form.rawValue)
        object.member("id", id?.description)
        object.member("createdAt", createdAt?.rfc3339)
        object.member("type", type?.text)
        object.member("key", key?.text)
        object.member("url", url)
        object.member("method", method)
        if !headers.isEmpty { object.member("headers", raw: OperationFile.encode(headers)) }
        object.member("contentType", contentType)
        object.member("notBefore", notBefore?.rfc3339)
        object.member("expiresAt", expiresAt?.rfc3339)
        return object.ended().dropLast()
    }

    /// Reads the object; `nil` if a part of it cannot be read: then nothing is known of the bytes.
    init?(_ fields: OperationFields) {
        do throws(OperationFileError) {
            guard let form = try fields.string("form").flatMap(Form.init) else { return nil }
            self.form = form
            (id, createdAt) = (try fields.id(), try fields.time("createdAt"))
            type = try Self.template(fields, "type", .type)
            key = try Self.template(fields, "key", .key)
            (url, method) = (try fields.string("url"), try fields.string("method"))
            (headers, contentType) = (try fields.headers(), try fields.string("contentType"))
            (notBefore, expiresAt) = (try fields.time("notBefore"), try fields.time("expiresAt"))
        } catch {
            return nil
        }
    }

    private static func template(
        _ fields: OperationFields, _ field: String, _ use: TemplateUse
    ) throws(OperationFileError) -> Template? {
        guard let text = try fields.string(field) else { return nil }
        do throws(RouteProblem) { return try Template(text, for: use) } catch {
            throw fields.error(field, error.reason)
        }
    }
}
