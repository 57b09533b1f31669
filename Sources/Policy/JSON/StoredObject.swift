/// An object in a file of `state/`. `fields` has each field once: its name, its place in the value, and whether an
/// object must have the field. `encode` writes every such object, and `init(from:)` reads every one.
///
/// Times are RFC 3339 in UTC. Unknown fields are ignored.
package protocol StoredObject: Codable, Equatable, Sendable {
    /// The value of an object that has no fields.
    static var blank: Self { get }
    /// The fields. They are read in this order.
    static var fields: [StoredField<Self>] { get }
}

extension StoredObject {
    /// Throws if the document is not an object, if a required field is absent, or if a field cannot be read.
    package init(from decoder: any Decoder) throws {
        self = Self.blank
        try read(decoder.container(keyedBy: JSONName.self))
    }

    /// Takes the values of the fields. Throws if a required one is absent, or if one cannot be read.
    mutating func read(_ object: KeyedDecodingContainer<JSONName>) throws {
        for field in Self.fields { try field.read(&self, object) }
    }

    package func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: JSONName.self)
        for field in Self.fields { try field.write(self, &object) }
    }
}

extension Decoder {
    /// Reads a text, and returns what `meaning` makes of it. Throws if there is no text, or if it has no meaning.
    func text<Value>(_ meaning: (String) -> Value?) throws -> Value {
        guard let value = meaning(try String(from: self)) else {
            throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: "no such value"))
        }
        return value
    }
}
