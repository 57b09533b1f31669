import CSystem
import Configuration
import Policy

/// Returns a JSON Schema of `drainq.json` (draft 7, which most editors know), made from the table that reads the file.
package func configurationSchema() -> String {
    var keywords = ConfigurationShape.file.keywords
    keywords["$schema"] = .string("http://json-schema.org/draft-07/schema#")
    keywords["title"] = .string("The configuration of a drainq queue, see drainq-config(5)")
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
        return String(decoding: try encoder.encode(JSONValue.object(keywords)), as: UTF8.self) + "\n"
    } catch {
        // The encoder refuses only numbers that have no text in JSON, and the table has none.
        preconditionFailure("cannot encode the schema: \(error)")
    }
}

extension ConfigurationShape {
    /// The keywords that describe this shape; `.any` has none.
    fileprivate var keywords: [JSONName: JSONValue] {
        switch self {
        case .any: [:]
        case .null: Self.keywords("null")
        case .boolean: Self.keywords("boolean")
        case .integer(let range):
            Self.keywords(
                "integer",
                [
                    "minimum": .number("\(range.lowerBound)"),
                    "maximum": range.upperBound < .max ? .number("\(range.upperBound)") : nil,
                ])
        case .number(let range):
            Self.keywords(
                "number", ["minimum": .number("\(range.lowerBound)"), "maximum": .number("\(range.upperBound)")])
        case .text(let pattern): Self.keywords("string", ["pattern": pattern.map(JSONValue.string)])
        case .words(let words): ["enum": .array(words.map(JSONValue.string))]
        case .list(let element, let count):
            Self.keywords(
                "array", ["items": .object(element.keywords), "minItems": count > 0 ? .number("\(count)") : nil])
        case .object(let members): Self.keywords(of: members)
        case .map(let element): Self.keywords("object", ["additionalProperties": .object(element.keywords)])
        case .oneOf(let shapes): ["anyOf": .array(shapes.map { .object($0.keywords) })]
        }
    }

    private static func keywords(_ type: String, _ others: [JSONName: JSONValue?] = [:]) -> [JSONName: JSONValue] {
        others.compactMapValues { $0 }.merging(["type": .string(type)]) { $1 }
    }

    /// Groups the members by the first part of their paths: those with more parts are in an object of that name.
    private static func keywords(of members: [Member]) -> [JSONName: JSONValue] {
        var properties: [JSONName: JSONValue] = [:]
        for (name, group) in Dictionary(grouping: members, by: { $0.entry.path.prefix { $0 != "." } }) {
            var keywords: [JSONName: JSONValue]
            if group.count == 1, group[0].entry.path == name {
                keywords = group[0].shape.keywords
                keywords["description"] = .string(group[0].entry.prose)
                keywords["default"] = group[0].entry.defaultJSON
            } else {
                let inner = group.map { member in
                    var member = member
                    member.entry.path = String(member.entry.path.dropFirst(name.count + 1))
                    return member
                }
                keywords = ConfigurationShape.oneOf([.object(inner), .null]).keywords
            }
            properties[JSONName(String(name))] = .object(keywords)
        }
        let required = members.filter(\.entry.isRequired).map { JSONValue.string($0.entry.path) }
        return Self.keywords(
            "object",
            [
                "properties": .object(properties), "additionalProperties": .bool(false),
                "required": required.isEmpty ? nil : .array(required),
            ])
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
