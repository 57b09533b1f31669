import Policy

/// An object that `--json` prints. `fields` has each field once: its name, description (drainq-json(5)) and value.
protocol JSONObject: Encodable {
    /// The fields in the order of the manual. The output is sorted by name.
    static var fields: [JSONField<Self>] { get }
}

extension JSONObject {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: JSONName.self)
        for field in Self.fields { try field.encode(self, &container) }
    }
}

/// A field of an object that `--json` prints.
struct JSONField<Object>: Sendable {
    fileprivate typealias Container = KeyedEncodingContainer<JSONName>

    let documented: OutputField
    fileprivate let encode: @Sendable (Object, inout Container) throws -> Void

    /// Makes a field that every object has.
    static func field<Value: Encodable & SendableMetatype>(
        _ name: String, _ kind: OutputField.Kind, _ meaning: String, _ value: @escaping @Sendable (Object) -> Value
    ) -> JSONField {
        JSONField(documented: OutputField(name, kind, meaning)) { object, container in
            try container.encode(value(object), forKey: JSONName(name))
        }
    }

    /// Makes a field that is omitted if it has no value, and never null.
    static func maybe<Value: Encodable & SendableMetatype>(
        _ name: String, _ kind: OutputField.Kind, _ meaning: String, _ value: @escaping @Sendable (Object) -> Value?
    ) -> JSONField {
        JSONField(documented: .maybe(name, kind, meaning)) { object, container in
            try container.encodeIfPresent(value(object), forKey: JSONName(name))
        }
    }

    /// Makes two fields for bytes: `name` for text, and `nameBase64` for bytes that are not UTF-8.
    static func bytes(
        _ name: String, _ meaning: String, _ value: @escaping @Sendable (Object) -> [UInt8]?
    ) -> [JSONField] {
        let text: @Sendable (Object) -> String? = { value($0).flatMap { String(validating: $0, as: UTF8.self) } }
        return [
            .maybe(name, .text, "\(meaning), if it is UTF-8", text),
            .maybe("\(name)Base64", .text, "\(meaning), if it is not UTF-8") {
                text($0) == nil ? value($0).map { Base64.encode($0) } : nil
            },
        ]
    }

    /// Makes the field that tells objects of one stream apart.
    static func event(_ word: String) -> JSONField {
        field("event", .word([word]), "what kind of object this is") { _ in word }
    }

    /// Returns the same field for an object that contains this one.
    func of<Outer>(_ part: @escaping @Sendable (Outer) -> Object) -> JSONField<Outer> {
        JSONField<Outer>(documented: documented) { [encode] outer, container in try encode(part(outer), &container) }
    }
}
