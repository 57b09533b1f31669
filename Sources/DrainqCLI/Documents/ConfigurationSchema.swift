import CSystem
import Configuration
import Policy

/// Returns a JSON Schema of `drainq.json` (draft 7, which most editors know), made from the table that reads the file.
package func configurationSchema() -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
        return String(decoding: try encoder.encode(Schema()), as: UTF8.self) + "\n"
    } catch {
        // The encoder refuses only numbers that have no text in JSON, and the table has none.
        preconditionFailure("cannot encode the schema: \(error)")
    }
}

/// The root of the document.
private struct Schema: Encodable {
    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Keyword.self)
        try fields.encode("http://json-schema.org/draft-07/schema#", forKey: .schema)
        try fields.encode("The configuration of a drainq queue, see drainq-config(5)", forKey: .title)
        try ConfigurationShape.file.encode(into: &fields)
    }
}

private enum Keyword: String, CodingKey {
    case schema = "$schema"
    case title, description, type, pattern, minimum, maximum, items, minItems, properties, required
    case additionalProperties, anyOf
    case `default`, `enum`
}

extension ConfigurationShape: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Keyword.self)
        try encode(into: &fields)
    }

    /// Adds the keywords that describe this shape; `.any` has none.
    fileprivate func encode(into fields: inout KeyedEncodingContainer<Keyword>) throws {
        switch self {
        case .any: break
        case .null: try fields.encode("null", forKey: .type)
        case .boolean: try fields.encode("boolean", forKey: .type)
        case .integer(let range):
            try fields.encode("integer", forKey: .type)
            try fields.encode(range.lowerBound, forKey: .minimum)
            if range.upperBound < .max { try fields.encode(range.upperBound, forKey: .maximum) }
        case .number(let range):
            try fields.encode("number", forKey: .type)
            try fields.encode(range.lowerBound, forKey: .minimum)
            try fields.encode(range.upperBound, forKey: .maximum)
        case .text(let pattern):
            try fields.encode("string", forKey: .type)
            try fields.encodeIfPresent(pattern, forKey: .pattern)
        case .words(let words): try fields.encode(words, forKey: .enum)
        case .list(let element, let count):
            try fields.encode("array", forKey: .type)
            try fields.encode(element, forKey: .items)
            if count > 0 { try fields.encode(count, forKey: .minItems) }
        case .object(let members): try SchemaObject(members).encode(into: &fields)
        case .map(let element):
            try fields.encode("object", forKey: .type)
            try fields.encode(element, forKey: .additionalProperties)
        case .oneOf(let shapes): try fields.encode(shapes, forKey: .anyOf)
        }
    }
}

/// The schema of an object. Groups the members by the first part of their paths.
private struct SchemaObject: Encodable {
    private var properties: [String: Property] = [:]
    private let required: [String]

    init(_ members: [ConfigurationShape.Member]) {
        required = members.map(\.entry).filter(\.isRequired).map(\.path)
        for (name, members) in Dictionary(grouping: members, by: { $0.entry.path.prefix { $0 != "." } }) {
            properties[String(name)] = Property(name: name, members: members)
        }
    }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Keyword.self)
        try encode(into: &fields)
    }

    func encode(into fields: inout KeyedEncodingContainer<Keyword>) throws {
        try fields.encode("object", forKey: .type)
        try fields.encode(properties, forKey: .properties)
        if !required.isEmpty { try fields.encode(required, forKey: .required) }
        try fields.encode(false, forKey: .additionalProperties)
    }
}

/// A member of an object: a key, or the object that several paths begin with.
private enum Property: Encodable {
    case key(ConfigurationShape.Member)
    case object(SchemaObject)

    init(name: Substring, members: [ConfigurationShape.Member]) {
        if members.count == 1, members[0].entry.path == name {
            self = .key(members[0])
        } else {
            self = .object(
                SchemaObject(
                    members.map { member in
                        var member = member
                        member.entry.path = String(member.entry.path.dropFirst(name.count + 1))
                        return member
                    }))
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let object):
            var fields = encoder.container(keyedBy: Keyword.self)
            var either = fields.nestedUnkeyedContainer(forKey: .anyOf)
            try either.encode(object)
            try either.encode(ConfigurationShape.null)
        case .key(let member):
            var fields = encoder.container(keyedBy: Keyword.self)
            try fields.encode(member.entry.prose, forKey: .description)
            try member.shape.encode(into: &fields)
            try fields.encodeIfPresent(member.entry.defaultJSON, forKey: .default)
        }
    }
}

extension JSONValue: Encodable {
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let truth): try container.encode(truth)
        case .number(let text):
            if let whole = Int64(text) { try container.encode(whole) } else { try container.encode(Double(text)) }
        case .string(let text): try container.encode(text)
        case .array(let elements): try container.encode(elements)
        case .object(let members):
            try container.encode(Dictionary(uniqueKeysWithValues: members.map { ($0.key.text, $0.value) }))
        }
    }
}
