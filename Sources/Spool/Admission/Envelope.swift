package import Policy

/// The JSON by which another program queues an operation: a whole operation as one object with `"drainq": 1`, or any
/// other JSON value, which is the payload of an operation of the default type.
package enum Envelope {
    /// The fields of an operation that leaves them out.
    package struct Defaults: Hashable, Sendable {
        package var id: OperationID
        package var createdAt: Timestamp
        package var type: TypeName

        package init(id: OperationID, createdAt: Timestamp, type: TypeName = .default) {
            self.id = id
            self.createdAt = createdAt
            self.type = type
        }
    }

    /// Returns the operation that the JSON value at `range` asks for, and whether the value has an id of its own.
    ///
    /// Keeps a payload byte for byte. `isMarked` says that the input is envelopes: the value is then a whole operation
    /// even without `"drainq"`. `bodyFile` returns the file that a path stands for; a body file given as an object,
    /// with its length, time and inode, is taken as it is.
    package static func operation(
        from bytes: [UInt8], in range: Range<Int>, file: String, line: Int = 1, defaults: Defaults,
        isMarked isSaidToBe: Bool = false,
        bodyFile: (String) -> Result<BodyFile, BodyFileRefusal> = { _ in .failure(.noRoots) }
    ) throws(OperationFileError) -> (operation: Operation, hasOwnID: Bool) {
        let isObject = bytes[range.lowerBound] == UInt8(ascii: "{")
        var isMarked = false
        // A name that is no text does not hide the mark: the envelope is then refused for this name.
        if isObject {
            _ = try? JSONScanner.forEachMember(of: bytes, in: range) { (name, _, _) throws(JSONSyntaxError) in
                isMarked = isMarked || JSONScanner.text(of: bytes, in: name, repairing: true) == "drainq"
            }
        }
        if isMarked || isSaidToBe {
            let fields = try OperationFields(bytes, in: range, file: file, line: line)
            if isMarked { try fields.version() }
            return try marked(fields, defaults, bodyFile)
        }
        let header = OperationHeader(
            id: defaults.id, type: defaults.type, createdAt: defaults.createdAt, contentType: "application/json")
        return (Operation(header: header, body: Array(bytes[range])), false)
    }

    private static func marked(
        _ fields: OperationFields, _ defaults: Defaults, _ examine: (String) -> Result<BodyFile, BodyFileRefusal>
    ) throws(OperationFileError) -> (operation: Operation, hasOwnID: Bool) {
        for field in ["length", Checksum.field] where fields.range(field) != nil {
            throw fields.error(field, "belongs to the queue")
        }
        let id = try fields.id()
        let method = try fields.string("method")
        if let method, !RequestMethod.isMethod(method) { throw fields.error("method", RequestMethod.rule) }
        let (body, mediaType) = try body(fields, method: method)
        let bodyFile = try bodyFile(fields, examine)
        let header = OperationHeader(
            id: id ?? defaults.id, type: try fields.type() ?? defaults.type,
            createdAt: try fields.time("createdAt") ?? defaults.createdAt,
            contentType: try fields.string("contentType") ?? mediaType, key: try fields.key(), method: method,
            url: try fields.string("url"), headers: try fields.headers(), notBefore: try fields.time("notBefore"),
            expiresAt: try fields.time("expiresAt"), idempotencyKey: try fields.string("idempotencyKey"),
            bodyFile: bodyFile, unknown: fields.unknown(besides: OperationFile.knownFields + bodyFields))
        return (Operation(header: header, body: body), id != nil)
    }

    /// The fields that an envelope may have. Other fields are kept and have no meaning.
    package static let fields =
        OperationFile.knownFields.filter { $0 != "length" && $0 != Checksum.field } + bodyFields

    private static let bodyFields = ["payload", "body", "bodyBase64", "bodyFile"]

    /// Returns the body from the one body field. None is allowed only if the method carries no body.
    private static func body(
        _ fields: OperationFields, method: String?
    ) throws(OperationFileError) -> ([UInt8], mediaType: String?) {
        let given = bodyFields.filter { fields.range($0) != nil }
        if given.count > 1 { throw fields.error(given[1], "only one of payload, body, bodyBase64 and bodyFile") }
        switch given.first {
        case "payload":
            return (Array(fields.bytes[fields.range("payload")!]), "application/json")
        case "body":
            return (Array(try fields.string("body")!.utf8), "text/plain; charset=utf-8")
        case "bodyBase64":
            guard let body = Base64.decode(try fields.string("bodyBase64")!.utf8) else {
                throw fields.error("bodyBase64", "expected base64")
            }
            return (body, "application/octet-stream")
        case "bodyFile":
            return ([], "application/octet-stream")
        default:
            guard let method, ["GET", "HEAD", "DELETE", "OPTIONS"].contains(method) else {
                throw fields.error("payload", "missing (or body, bodyBase64, bodyFile)")
            }
            return ([], nil)
        }
    }

    private static func bodyFile(
        _ fields: OperationFields, _ examine: (String) -> Result<BodyFile, BodyFileRefusal>
    ) throws(OperationFileError) -> BodyFile? {
        guard let range = fields.range("bodyFile"), let path = JSONText.string(fields.bytes, range) else {
            return try fields.bodyFile()
        }
        switch examine(path) {
        case .success(let file): return file
        case .failure(let refusal): throw fields.error("bodyFile", refusal.description)
        }
    }
}
