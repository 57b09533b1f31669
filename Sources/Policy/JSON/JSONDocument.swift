/// Exactly one JSON value in its bytes. Decodes only the parts that are asked for.
package struct JSONDocument: Sendable {
    package let bytes: [UInt8]
    /// The range of the value, without the white space around it.
    package let range: Range<Int>

    /// Throws if the bytes are not JSON (RFC 8259), or contain no value or several.
    package init(_ bytes: [UInt8]) throws(JSONSyntaxError) {
        try self.init(bytes, from: 0)
    }

    /// Reads the body of an answer, without a byte order mark at its start: servers write it, and what would come after
    /// it must not be overlooked (RFC 8259 §8.1 lets readers ignore it).
    package init(answer body: [UInt8]) throws(JSONSyntaxError) {
        try self.init(body, from: body.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
    }

    private init(_ bytes: [UInt8], from start: Int) throws(JSONSyntaxError) {
        var scanner = JSONScanner(bytes, from: start)
        guard let range = try scanner.next() else { throw JSONSyntaxError(offset: 0, reason: "there is no value") }
        if let more = try scanner.next() {
            throw JSONSyntaxError(offset: more.lowerBound, reason: "there is more than one value")
        }
        self.bytes = bytes
        self.range = range
    }

    private init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        self.range = range
    }

    /// Returns the range of the value at `pointer` (RFC 6901 §4); `nil` if there is none. Of a repeated name the last
    /// counts, as in most readers.
    package func range(at pointer: JSONPointer) -> Range<Int>? {
        var range = range
        for token in pointer.tokens {
            guard let next = Self.child(token, of: range, in: bytes) else { return nil }
            range = next
        }
        return range
    }

    var isObject: Bool { bytes[range.lowerBound] == UInt8(ascii: "{") }

    package func value(at pointer: JSONPointer) -> JSONValue? {
        range(at: pointer).map { JSONValue(valid: bytes, in: $0) }
    }

    /// Returns the text or the number at `pointer`, without its quotes; `nil` for any other value.
    func scalar(at pointer: JSONPointer) -> String? {
        switch value(at: pointer) {
        case .string(let text)?, .number(let text)?: text
        default: nil
        }
    }

    /// Returns the elements of the array at `pointer`, in order; `nil` if there is no array, or if it has more than
    /// `most` elements. An element takes more memory than its two bytes in the text.
    package func elements(at pointer: JSONPointer, most: Int = .max) -> [JSONDocument]? {
        guard let range = range(at: pointer) else { return nil }
        var elements: [JSONDocument] = []
        var count = 0
        let isArray = try? JSONScanner.forEachElement(of: bytes, in: range) {
            count += 1
            if count <= most { elements.append(JSONDocument(bytes, $0)) }
        }
        return isArray == true && count <= most ? elements : nil
    }

    private static func child(_ token: String, of range: Range<Int>, in bytes: [UInt8]) -> Range<Int>? {
        var found: Range<Int>?
        // A scanner has accepted these bytes before, so it does not throw.
        switch bytes[range.lowerBound] {
        case UInt8(ascii: "{"):
            _ = try? JSONScanner.forEachMember(of: bytes, in: range) { name, value, _ in
                let text = JSONScanner.text(of: bytes, in: name, repairing: true)
                if let text, text.utf8.elementsEqual(token.utf8) { found = value }
            }
        case UInt8(ascii: "["):
            guard let index = arrayIndex(token) else { return nil }
            var place = 0
            _ = try? JSONScanner.forEachElement(of: bytes, in: range) { value in
                if place == index { found = value }
                place += 1
            }
        default: break
        }
        return found
    }

    /// Returns the index in digits without leading zeros; `nil` for all else, also for `-`, the element after the last.
    private static func arrayIndex(_ token: String) -> Int? {
        guard token == "0" || token.utf8.first != UInt8(ascii: "0"),
            token.utf8.allSatisfy(\.isDigit)
        else { return nil }
        return Int(token)
    }
}
