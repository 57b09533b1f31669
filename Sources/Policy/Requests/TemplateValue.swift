/// The value of a placeholder, not yet escaped for its place.
enum TemplateValue {
    /// A text of the operation's header.
    case text(String)
    /// A JSON value, byte for byte as written.
    case json(ArraySlice<UInt8>)
    /// A body that is no JSON.
    case bytes([UInt8])

    /// The reason why there is no value, or why the value does not fit its place.
    enum Defect: Error {
        case missing
        /// The value is null where no null can stand.
        case null
        /// A predicate for the value: `is null`.
        case unusable(String)
        case other(RequestError)

        /// Whether a default takes its place.
        var isLack: Bool {
            switch self {
            case .missing, .null: true
            case .unusable, .other: false
            }
        }

        func error(of word: TemplateWord) -> RequestError {
            switch self {
            case .missing: .missingValue(placeholder: word.text)
            case .null: .unusableValue(placeholder: word.text, reason: "is null")
            case .unusable(let reason): .unusableValue(placeholder: word.text, reason: reason)
            case .other(let error): error
            }
        }
    }

    /// The value's bytes in Base64: of a text its characters, of any other JSON value its text.
    var inBase64: TemplateValue {
        get throws(Defect) {
            switch self {
            case .json(let written) where isNull: .text(Base64.encode(Array(written)))
            case .bytes(let bytes): .text(Base64.encode(bytes))
            case .text, .json: .text(Base64.encode(try content))
            }
        }
    }

    var isNull: Bool { if case .json(let written) = self { written.first == UInt8(ascii: "n") } else { false } }

    /// Returns the value as written in a place. Throws if the value does not fit: no value ends its place, and if each
    /// line is a value of its own (`isLined`), no value adds a line.
    func escaped(for place: Template.Place, isLined: Bool) throws(Defect) -> [UInt8] {
        switch (self, place) {
        case (.json(let written), .jsonValue): return isLined ? Self.onOneLine(written) : Array(written)
        // Byte for byte here too, so that half a surrogate pair stays one.
        case (.json(let written), .jsonString) where written.first == UInt8(ascii: "\""):
            return Array(written.dropFirst().dropLast())
        default: break
        }
        var content = try content
        switch place {
        case .path, .query, .header, .key, .segment:
            if isContainer { throw .unusable("is neither text nor a number nor true or false") }
        case .jsonValue, .jsonString, .form, .text: break
        }
        switch place {
        case .path where content.isEmpty: throw .unusable("is empty, in the path")
        case .segment where !content.isSegment:
            throw .unusable(
                "is empty, begins with a dot, or has a slash or a control character: it is a part of a file's name")
        case .header where !HeaderField.canSend(value: content):
            throw .unusable("has a control character, in a header")
        case .text where isLined && isContainer: content = Self.onOneLine(content[...])
        case .text where isLined && content.contains(where: { $0 == 0x0A || $0 == 0x0D }):
            throw .unusable("has a line break, and each line is an operation")
        default: break
        }
        return Self.escaped(content, for: place)
    }

    /// Returns valid UTF-8 as written in a place.
    static func escaped(_ text: [UInt8], for place: Template.Place) -> [UInt8] {
        switch place {
        case .path: text.percentEncoded(leaving: ":@!$'()*,")
        case .query, .form: text.percentEncoded(leaving: "")
        case .jsonValue: JSONText.quoted(text)
        case .jsonString: Array(JSONText.quoted(text).dropFirst().dropLast())
        case .header, .text, .key, .segment: text
        }
    }

    private var isContainer: Bool {
        guard case .json(let written) = self else { return false }
        return written.first == UInt8(ascii: "{") || written.first == UInt8(ascii: "[")
    }

    /// The characters of a text; the text of any other JSON value but null. Throws if they are not valid UTF-8.
    private var content: [UInt8] {
        get throws(Defect) {
            switch self {
            case .text(let text): return Array(text.utf8)
            case .bytes(let bytes):
                guard String(validUTF8: bytes[...]) != nil else {
                    throw .unusable("is not UTF-8: {payload:base64} sends any bytes")
                }
                return bytes
            case .json(let written) where written.first == UInt8(ascii: "n"): throw .null
            case .json(let written) where written.first == UInt8(ascii: "\""):
                guard let text = JSONText.string(Array(written), 0..<written.count) else {
                    throw .unusable("has half a surrogate pair, which is no character")
                }
                return Array(text.utf8)
            case .json(let written): return Array(written)
            }
        }
    }

    /// Returns the JSON value with blanks in the place of line breaks, which occur only between its tokens.
    private static func onOneLine(_ json: ArraySlice<UInt8>) -> [UInt8] {
        json.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 }
    }
}

extension [UInt8] {
    /// Whether the text can be a part of a file's name, wherever it stands there.
    fileprivate var isSegment: Bool {
        !isEmpty && first != UInt8(ascii: ".") && count <= 200
            && allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }
    }
}
