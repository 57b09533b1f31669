import CSystem
import Policy

/// NDJSON on standard output: one object a line, with sorted names, unescaped slashes, and no member without a value.
/// Every object has the version of the format.
enum JSONLine {
    /// The version of every object. Fields may be added to a version, and none changes its meaning.
    static let schema = 1

    static func write(_ value: some Encodable) { standardOutput.line(text(value)) }

    static func text(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return JSONText.escapedJSONForDisplay(
                String(decoding: try encoder.encode(Versioned(value: value)), as: UTF8.self))
        } catch {
            // The encoder refuses only numbers that have no text in JSON, and no report has one.
            preconditionFailure("cannot encode \(value): \(error)")
        }
    }

    private struct Versioned<Value: Encodable>: Encodable {
        var value: Value

        func encode(to encoder: any Encoder) throws {
            try value.encode(to: encoder)
            var fields = encoder.container(keyedBy: JSONName.self)
            try fields.encode(JSONLine.schema, forKey: "schema")
        }
    }
}
