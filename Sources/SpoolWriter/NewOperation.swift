public import CSystem
internal import Policy

/// An operation to add to a queue: a body, the type that routes it, and fields of its own.
///
/// The queue's configuration supplies fields that are left out, by type (drainq-config(5)). drainq-queue(5) describes
/// each field.
public struct NewOperation: Hashable, Sendable {
    /// The body, sent byte for byte.
    public var body: [UInt8]
    /// The body's media type.
    public var contentType: String
    /// The type: 1 to 64 of `A-Z a-z 0-9 _ - .`, not beginning with a dot.
    public var type: String
    /// The key, at most 1,024 bytes. Of operations that share a key only the newest counts, or they are sent in order.
    /// `nil` is the `key` of the type's route, if the queue's configuration has one.
    public var key: String?
    /// The id: 1 to 64 of `A-Z a-z 0-9 _ -`; `nil` makes a UUID. An id that is in the queue already is not added again,
    /// so a program that cannot know whether it has added an operation may add it once more under the same id.
    public var id: String?
    /// The request's method instead of the route's.
    public var method: String?
    /// The request's url instead of the route's.
    public var url: String?
    /// Header fields besides those of the route, and instead of one of the same name.
    public var headers: [String: String] = [:]
    /// The time before which it is not attempted.
    public var notBefore: Date?
    /// The time at which it fails if it has not been delivered.
    public var expiresAt: Date?
    /// The `Idempotency-Key` that the server sees; the id if `nil`.
    public var idempotencyKey: String?

    /// Creates an operation whose body is these bytes.
    public init(
        body: some Sequence<UInt8>, contentType: String, type: String = "default", key: String? = nil,
        id: String? = nil
    ) {
        self.body = Array(body)
        self.contentType = contentType
        self.type = type
        self.key = key
        self.id = id
    }

    /// Creates an operation whose body is JSON text, which is sent as it is written: `1.10` stays `1.10`.
    public init(json: String, type: String = "default", key: String? = nil, id: String? = nil) {
        self.init(body: json.utf8, contentType: "application/json", type: type, key: key, id: id)
    }

    /// Creates an operation whose body is a value, encoded as JSON. Throws the errors of the encoding.
    public init(
        payload: some Encodable, type: String = "default", key: String? = nil, id: String? = nil
    ) throws {
        self.init(
            body: try JSONEncoder().encode(payload), contentType: "application/json", type: type, key: key, id: id)
    }
}

extension NewOperation {
    /// Returns the operation for the queue, created at `time`. Its id is `newID` if it brings none. Throws the error of
    /// the first invalid field.
    func operation(createdAt time: Timestamp, newID: @autoclosure () -> OperationID) throws(WriteError) -> Operation {
        guard let id = id.map(OperationID.init) ?? newID() else {
            throw WriteError("id", "expected 1 to 64 of A-Z a-z 0-9 _ -")
        }
        guard let type = TypeName(type) else { throw WriteError("type", "expected 1 to 64 of A-Z a-z 0-9 _ - .") }
        if contentType == "application/json", (try? JSONDocument(body)) == nil {
            throw WriteError("body", "expected one JSON value")
        }
        return Operation(
            header: OperationHeader(
                id: id, type: type, createdAt: time, contentType: contentType, key: key, method: method, url: url,
                headers: headers.sorted { $0.key < $1.key }.map { HeaderField(name: $0.key, value: $0.value) },
                notBefore: notBefore.map(Timestamp.init), expiresAt: expiresAt.map(Timestamp.init),
                idempotencyKey: idempotencyKey),
            body: body)
    }
}

extension Timestamp {
    /// Converts a date, with microseconds. A date outside the years that names can have becomes the nearest one inside.
    init(_ date: Date) {
        let microseconds = (date.timeIntervalSince1970 * 1_000_000).rounded()
        self.init(microseconds: min(max(Int64(saturating: microseconds), 0), 253_402_300_799_000_000))
    }
}
