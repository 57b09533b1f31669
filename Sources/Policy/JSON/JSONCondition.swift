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
    package var description: String {
        switch test {
        case .exists(true): "\(location) exists"
        case .exists(false): "\(location) does not exist"
        case .equals(let value): "\(location) equals \(escapedForDisplay(value.description))"
        case .contains(let part): "\(location) contains \(escapedForDisplay(JSONText.quoted(part)))"
        case .unset: "\(location) is not set"
        case .notEmpty: "\(location) is not empty"
        }
    }

    /// The description of the opposite, for a document that fails the condition: `/result/success does not equal true`.
    package var opposite: String {
        switch test {
        case .exists(true): "\(location) does not exist"
        case .exists(false): "\(location) exists"
        case .equals(let value): "\(location) does not equal \(escapedForDisplay(value.description))"
        case .contains(let part): "\(location) does not contain \(escapedForDisplay(JSONText.quoted(part)))"
        case .unset: "\(location) is set"
        case .notEmpty: "\(location) is empty"
        }
    }

    private var location: String {
        pointer.tokens.isEmpty ? "the document" : escapedForDisplay(pointer.description)
    }
}
