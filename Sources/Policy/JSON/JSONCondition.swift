/// A condition on a JSON document: a test of the value at a pointer.
package struct JSONCondition: Hashable, Sendable {
    package enum Test: Hashable, Sendable {
        /// The value exists (`null` is one), or does not.
        case exists(Bool)
        /// The value equals this one as JSON: numbers by value, objects whatever the order of their members.
        case equals(JSONValue)
        /// The value is a text that contains this text.
        case contains(String)
        /// There is no value, or it is `null` or `false`.
        case unset
        /// There is a value, and it is not `null`, `""`, white space alone, `[]` or `{}`.
        case notEmpty
    }

    package var pointer: JSONPointer
    package var test: Test

    package init(pointer: JSONPointer, test: Test) {
        self.pointer = pointer
        self.test = test
    }

    package func holds(in document: JSONDocument) -> Bool {
        switch test {
        case .exists(let wanted): (document.range(at: pointer) != nil) == wanted
        case .equals(let value): document.value(at: pointer) == value
        case .contains(let part):
            if case .string(let text) = document.value(at: pointer) {
                // By code points, as all JSON text is compared.
                text.unicodeScalars.contains(part.unicodeScalars)
            } else {
                false
            }
        case .unset: [nil, .null, .bool(false)].contains(document.value(at: pointer))
        case .notEmpty:
            switch document.value(at: pointer) {
            case nil, .null: false
            case .string(let text): !text.unicodeScalars.allSatisfy(\.properties.isWhitespace)
            case .array(let elements): !elements.isEmpty
            case .object(let members): !members.isEmpty
            case .bool, .number: true
            }
        }
    }
}

extension JSONCondition: CustomStringConvertible {
    /// `/content is not empty`, `/result/success equals true`, `/error does not exist`.
    package var description: String { words(isMet: true) }

    /// The description of the opposite, for a document that fails the condition: `/result/success does not equal true`.
    package var opposite: String { words(isMet: false) }

    private func words(isMet: Bool) -> String {
        let words =
            switch test {
            case .exists(let wanted): wanted == isMet ? "exists" : "does not exist"
            case .equals(let value):
                "\(isMet ? "equals" : "does not equal") \(escapedForDisplay(value.description))"
            case .contains(let part):
                "\(isMet ? "contains" : "does not contain") \(escapedForDisplay(JSONText.quoted(part)))"
            case .unset: isMet ? "is not set" : "is set"
            case .notEmpty: isMet ? "is not empty" : "is empty"
            }
        return "\(location) \(words)"
    }

    private var location: String {
        pointer.tokens.isEmpty ? "the document" : escapedForDisplay(pointer.description)
    }
}
