import Foundation

/// The sentences of TEMPLATES and BATCHES in drainq-config(5), applied to bytes. Independent of the code.
enum TemplateOracle {
    enum Place: CaseIterable {
        case path, query, header, json, quotes, form, text, key, idempotencyKey
    }

    /// A value, by its JSON text and its content.
    struct Value {
        enum Kind { case text, plain, null, container }

        var kind: Kind
        /// Its JSON text, byte for byte as given.
        var written: [UInt8]
        /// The code units of a text.
        var units: [UInt16] = []

        /// "A text is its characters, any other value except null its JSON text." `nil` is no characters.
        var content: [UInt8]? {
            switch kind {
            case .text: String(validating: units, as: UTF16.self).map { Array($0.utf8) }
            case .plain, .container: written
            case .null: nil
            }
        }

        /// The value of a field of the operation's header: a text.
        static func text(_ text: String) -> Value {
            Value(kind: .text, written: Array(TemplateOracle.quoted(Array(text.utf8))), units: Array(text.utf16))
        }

        /// ":base64 after any word encodes the value: a text as UTF-8, anything else as JSON." `nil` for no characters.
        var inBase64: Value? {
            (kind == .null ? written : content).map { Self.base64(of: $0) }
        }

        static func base64(of bytes: [UInt8]) -> Value { .text(Data(bytes).base64EncodedString()) }
    }

    /// Returns the bytes of the value in its place; `nil` if the operation fails unsent. With `isLined`, each line of
    /// the body belongs to an operation.
    static func rendered(_ value: Value, in place: Place, isLined: Bool) -> [UInt8]? {
        switch place {
        case .json:
            // "A JSON value, byte for byte as it was given"; in lines, "line breaks within a payload replaced by blanks".
            return isLined ? value.written.map { $0 == 10 || $0 == 13 ? 32 : $0 } : value.written
        case .quotes:
            // "The inside of a string."
            if value.kind == .text { return quoted(value.units) }
            return value.content.map { Array(quoted($0).dropFirst().dropLast()) }
        case .path, .query, .header, .key, .idempotencyKey:
            // "An operation fails unsent if its value there is null, an array or an object."
            guard value.kind != .container, let content = value.content else { return nil }
            switch place {
            // "In the path a value must not be empty, '.' or '..'."
            case .path:
                return ["", ".", ".."].map { Array($0.utf8) }.contains(content)
                    ? nil : percent(content, leaving: ":@!$'()*,")
            case .query: return percent(content)
            // "drainq refuses a value with a control character other than a tab."
            case .idempotencyKey:
                // RFC 8941 §3.3.3: printable ASCII between quotes, with a backslash before a quote or a backslash.
                if content.isEmpty || content.contains(where: { $0 < 32 || $0 > 126 }) { return nil }
                return [34] + content.flatMap { $0 == 34 || $0 == 92 ? [92, $0] : [$0] } + [34]
            case .header: return content.contains { $0 < 32 && $0 != 9 || $0 == 127 } ? nil : content
            default: return content
            }
        case .form: return value.content.map { percent($0) }
        case .text:
            guard let content = value.content else { return nil }
            if !isLined { return content }
            // "An operation with a line break in such a text fails unsent."
            if value.kind == .container { return content.map { $0 == 10 || $0 == 13 ? 32 : $0 } }
            return content.contains(10) || content.contains(13) ? nil : content
        }
    }

    /// "Percent-encoded: in the path all but what RFC 3986 allows in a segment, and `;` too."
    static func percent(_ bytes: [UInt8], leaving others: String = "") -> [UInt8] {
        let plain = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~\(others)".utf8)
        return bytes.flatMap { plain.contains($0) ? [$0] : Array(String(format: "%%%02X", $0).utf8) }
    }

    /// A JSON string with the least escapes.
    static func quoted(_ text: [UInt8]) -> [UInt8] {
        let short: [UInt8: String] = [
            8: "\\u0008", 9: "\\t", 10: "\\n", 12: "\\u000c", 13: "\\r", 34: "\\\"", 92: "\\\\",
        ]
        return [34]
            + text.flatMap {
                short[$0].map { Array($0.utf8) } ?? ($0 < 32 ? Array(String(format: "\\u%04x", $0).utf8) : [$0])
            } + [34]
    }

    /// Returns the inside of a string as code units, for comparison.
    private static func quoted(_ units: [UInt16]) -> [UInt8] {
        units.flatMap { Array(String(format: "\\u%04x", $0).utf8) }
    }

    /// Rewrites each string's inside in a JSON text as code units, so that texts are compared by their characters.
    static func inUnits(_ json: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var inside: [UInt8]?
        var index = 0
        while index < json.count {
            let byte = json[index]
            if inside == nil {
                result.append(byte)
                if byte == 34 { inside = [] }
                index += 1
            } else if byte == 34 {
                result += quoted(Array(String(decoding: inside!, as: UTF8.self).utf16)) + [34]
                inside = nil
                index += 1
            } else if byte == 92 {
                result += quoted(Array(String(decoding: inside!, as: UTF8.self).utf16))
                inside = []
                let escape = json[index + 1]
                if escape == UInt8(ascii: "u") {
                    result +=
                        json[index..<index + 2] + json[index + 2..<index + 6].map { $0 < 97 && $0 > 57 ? $0 | 32 : $0 }
                    index += 6
                } else {
                    let letters: [UInt8: UInt16] = [98: 8, 102: 12, 110: 10, 114: 13, 116: 9]
                    result += quoted([letters[escape] ?? UInt16(escape)])
                    index += 2
                }
            } else {
                inside!.append(byte)
                index += 1
            }
        }
        return result
    }
}
