/// What a 2xx answer must look like to be a delivery: a captive portal's page and `{"success": false}` are none.
package struct AcceptRule: Hashable, Sendable {
    /// The media type without its parameters, compared without case; `application/*` is any of a kind.
    package var contentType: String?
    /// All of them must hold; an answer that is not JSON meets none.
    package var json: [JSONCondition]
    /// What an answer is that does not agree: `deferred` unless the configuration says otherwise.
    package var otherwise: Outcome

    package init(contentType: String? = nil, json: [JSONCondition] = [], otherwise: Outcome = .deferred) {
        self.contentType = contentType
        self.json = json
        self.otherwise = otherwise
    }
}

/// Something that is true of a JSON document, or is not.
package struct JSONCondition: Hashable, Sendable {
    package enum Test: Hashable, Sendable {
        /// There is a value (`null` is one), or there is none.
        case exists(Bool)
        /// The value is this one, as JSON: numbers by value, objects whatever the order of their members.
        case equals(JSONValue)
        /// There is a value, and it is not `null`, `""`, white space alone, `[]` or `{}`.
        case notEmpty
    }

    package var pointer: JSONPointer
    package var test: Test

    package init(pointer: JSONPointer, test: Test) {
        self.pointer = pointer
        self.test = test
    }
}

/// A JSON value, as far as comparing needs it.
package indirect enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// As it is written, without a value lost: compared as decimal numbers.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])
}

/// A place in a JSON document (RFC 6901): `""` is the whole, `/result/success` a member of a member.
package struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    /// Unescaped.
    package let tokens: [String]

    package init(tokens: [String]) {
        self.tokens = tokens
    }

    /// The text of RFC 6901 §3: empty, or beginning with `/`, with `~0` for `~` and `~1` for `/`; else `nil`.
    package init?(_ text: some StringProtocol) {
        if text.isEmpty {
            tokens = []
            return
        }
        guard text.first == "/" else { return nil }
        var tokens: [String] = []
        for part in text.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            var token = ""
            var rest = part[...]
            while let tilde = rest.firstIndex(of: "~") {
                token += rest[..<tilde]
                let after = rest.index(after: tilde)
                guard after < rest.endIndex, rest[after] == "0" || rest[after] == "1" else { return nil }
                token += rest[after] == "0" ? "~" : "/"
                rest = rest[rest.index(after: after)...]
            }
            tokens.append(token + rest)
        }
        self.tokens = tokens
    }

    package var description: String {
        tokens.map { token in
            var escaped = "/"
            for character in token.unicodeScalars {
                switch character {
                case "~": escaped += "~0"
                case "/": escaped += "~1"
                default: escaped.unicodeScalars.append(character)
                }
            }
            return escaped
        }.joined()
    }
}

extension JSONCondition: CustomStringConvertible {
    /// `/content is not empty`, `/result/success equals true`, `/error does not exist`.
    package var description: String {
        let place = pointer.tokens.isEmpty ? "the document" : escapedForDisplay(pointer.description)
        switch test {
        case .exists(true): return "\(place) exists"
        case .exists(false): return "\(place) does not exist"
        case .equals(let value): return "\(place) equals \(escapedForDisplay(value.description))"
        case .notEmpty: return "\(place) is not empty"
        }
    }
}

extension JSONValue: CustomStringConvertible {
    /// Compact JSON; members in the order of their names.
    package var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let text): text
        case .string(let text): JSONValue.quoted(text)
        case .array(let elements): "[" + elements.map(\.description).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.sorted { $0.key < $1.key }.map { "\(JSONValue.quoted($0.key)):\($0.value)" }
                .joined(separator: ",") + "}"
        }
    }

    /// The text as a JSON string, in its quotes.
    package static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x20:
                let hex = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}
