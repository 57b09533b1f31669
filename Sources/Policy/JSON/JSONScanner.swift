/// The place where a text stops being JSON, and the reason.
package struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Byte offset from the start of the scanned bytes.
    package var offset: Int
    /// The error, in lower case, without a period: `expected ':' after the name`.
    package var reason: String

    package var description: String { "\(reason) at byte \(offset)" }

    /// The error with its column in the scanned text, and with its line after the first one.
    package func description(in bytes: [UInt8]) -> String {
        let before = bytes[..<min(offset, bytes.count)].split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let line = before.count > 1 ? " in line \(before.count)" : ""
        return reason + line + (before.last ?? []).column(of: .max)
    }
}

extension Collection<UInt8> {
    /// The words for a place in the line: ` at column 12`, counted from 1 in characters as drainq.json is.
    package func column(of offset: Int) -> String {
        " at column \(String(decoding: prefix(offset), as: UTF8.self).unicodeScalars.count + 1)"
    }
}

/// A scanner that finds where JSON values begin and end without decoding them, so a payload is kept byte for byte.
///
/// Strict RFC 8259 (no comments, no trailing commas), UTF-8 checked, at most `maximumDepth` deep, iterative: no input
/// can exhaust the stack. Values are ranges into `bytes`; `JSONDocument` looks into them.
package struct JSONScanner {
    package static let maximumDepth = 512

    package let bytes: [UInt8]
    package private(set) var offset: Int
    /// The end of the scanned range. The scanner reads no byte from here on.
    private let end: Int
    /// Whether all skipped strings are ASCII.
    private var isASCII = true
    /// Whether the last skipped string is ASCII and has no escape.
    private var isPlain = true
    /// The number of open brackets around the value that is skipped.
    private var depth = 0

    package init(_ bytes: [UInt8], from offset: Int = 0) {
        self.init(bytes, in: offset..<bytes.count)
    }

    package init(_ bytes: [UInt8], in range: Range<Int>) {
        self.bytes = bytes
        offset = range.lowerBound
        end = range.upperBound
    }

    /// One member of an object: its name decoded, its value as a range of `bytes`.
    package struct Member: Hashable, Sendable {
        package var name: String
        package var nameOffset: Int
        package var value: Range<Int>
    }

    /// Returns the range of the next value, after white space; `nil` at the end of the bytes.
    package mutating func next() throws(JSONSyntaxError) -> Range<Int>? {
        skipWhitespace()
        guard offset < end else { return nil }
        if bytes[offset] == 0xEF, bytes[offset..<end].starts(with: [0xEF, 0xBB, 0xBF]) {
            throw error("a byte order mark, which JSON does not have (RFC 8259 §8.1)")
        }
        let start = offset
        isASCII = true
        try skipValue()
        try checkValueEnds()
        try checkUTF8(from: start)
        return start..<offset
    }

    private func checkUTF8(from start: Int) throws(JSONSyntaxError) {
        guard isASCII || String(validating: bytes[start..<offset], as: UTF8.self) != nil else {
            throw JSONSyntaxError(offset: start, reason: "the value is not valid UTF-8")
        }
    }

    /// Returns the members of the object at `range`, in order, repeated names included; `nil` if it is no object.
    package static func members(of bytes: [UInt8], in range: Range<Int>) throws(JSONSyntaxError) -> [Member]? {
        var members: [Member] = []
        members.reserveCapacity(8)
        let isObject = try forEachMember(of: bytes, in: range) { (name, value, _) throws(JSONSyntaxError) in
            let text = try Self.name(of: bytes, in: name)
            members.append(Member(name: text, nameOffset: name.lowerBound, value: value))
        }
        return isObject ? members : nil
    }

    /// Whether the name and the value of a member are strings of ASCII without escapes.
    package typealias Plain = (name: Bool, value: Bool)

    /// Calls `take` with the ranges of each name and value, in order. Returns false if there is no object at `range`.
    /// With `isOnly` throws if the range has another value too, or bytes that are not UTF-8.
    package static func forEachMember(
        of bytes: [UInt8], in range: Range<Int>, isOnly: Bool = false,
        _ take: (_ name: Range<Int>, _ value: Range<Int>, _ isPlain: Plain) throws(JSONSyntaxError) -> Void
    ) throws(JSONSyntaxError) -> Bool {
        var scanner = JSONScanner(bytes, in: range)
        scanner.skipWhitespace()
        let start = scanner.offset
        scanner.depth = isOnly ? 1 : 0
        let isObject = try scanner.forEachMember(take)
        guard isOnly else { return isObject }
        scanner.depth = 0
        if isObject { try scanner.checkUTF8(from: start) } else { _ = try scanner.next() }
        if try scanner.next() != nil {
            throw JSONSyntaxError(offset: scanner.offset, reason: "more than one value")
        }
        return isObject
    }

    private mutating func forEachMember(
        _ body: (_ name: Range<Int>, _ value: Range<Int>, _ isPlain: Plain) throws(JSONSyntaxError) -> Void
    ) throws(JSONSyntaxError) -> Bool {
        guard take("{") else { return false }
        skipWhitespace()
        if take("}") { return true }
        while true {
            skipWhitespace()
            let start = offset
            let name = start..<(try skipName())
            let isNamePlain = isPlain
            skipWhitespace()
            let valueStart = offset
            try skipValue()
            let isValuePlain = isPlain && bytes[valueStart] == UInt8(ascii: "\"")
            try body(name, valueStart..<offset, (isNamePlain, isValuePlain))
            skipWhitespace()
            if take("}") { return true }
            guard take(",") else { throw error("expected ',' or '}'") }
        }
    }

    /// Calls `take` with the range of each element, in order. Returns false if there is no array at `range`.
    package static func forEachElement(
        of bytes: [UInt8], in range: Range<Int>, _ take: (_ value: Range<Int>) -> Void
    ) throws(JSONSyntaxError) -> Bool {
        var scanner = JSONScanner(bytes, in: range)
        scanner.skipWhitespace()
        guard scanner.take("[") else { return false }
        scanner.skipWhitespace()
        if scanner.take("]") { return true }
        while true {
            scanner.skipWhitespace()
            let start = scanner.offset
            try scanner.skipValue()
            take(start..<scanner.offset)
            scanner.skipWhitespace()
            if scanner.take("]") { return true }
            guard scanner.take(",") else { throw scanner.error("expected ',' or ']'") }
        }
    }

    // MARK: - Scanning

    /// Returns the error at the next byte. The end is where the last token ends: the line break of a last line does not
    /// begin another line.
    private func error(_ reason: String) -> JSONSyntaxError {
        if offset < end { return JSONSyntaxError(offset: offset, reason: reason) }
        let blank = bytes[..<end].reversed().prefix { [0x20, 0x09, 0x0A, 0x0D].contains($0) }.count
        return JSONSyntaxError(offset: end - blank, reason: "\(reason), found the end")
    }

    private mutating func skipWhitespace() {
        while offset < end {
            switch bytes[offset] {
            case 0x20, 0x09, 0x0A, 0x0D: offset += 1
            default: return
            }
        }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard offset < end, bytes[offset] == UInt8(ascii: character) else { return false }
        offset += 1
        return true
    }

    /// Skips one value of any depth. `closers` is the stack of open brackets.
    private mutating func skipValue() throws(JSONSyntaxError) {
        var closers: [UInt8] = []
        while true {
            skipWhitespace()
            guard offset < end else { throw error("expected a value") }
            switch bytes[offset] {
            case UInt8(ascii: "{"):
                try checkDepth(closers.count + 1)
                offset += 1
                skipWhitespace()
                if !take("}") {
                    closers.append(UInt8(ascii: "}"))
                    try skipName()
                    continue
                }
            case UInt8(ascii: "["):
                try checkDepth(closers.count + 1)
                offset += 1
                skipWhitespace()
                if !take("]") {
                    closers.append(UInt8(ascii: "]"))
                    continue
                }
            case UInt8(ascii: "\""): try skipString()
            case UInt8(ascii: "t"): try skipWord("true")
            case UInt8(ascii: "f"): try skipWord("false")
            case UInt8(ascii: "n"): try skipWord("null")
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try skipNumber()
            default: throw error("expected a value")
            }
            // A value has ended: close the brackets that end here, or continue after a comma.
            var more = false
            while let closer = closers.last {
                skipWhitespace()
                guard offset < end else { throw error("expected ',' or '\(Unicode.Scalar(closer))'") }
                if bytes[offset] == closer {
                    offset += 1
                    closers.removeLast()
                } else if take(",") {
                    if closer == UInt8(ascii: "}") {
                        skipWhitespace()
                        try skipName()
                    }
                    more = true
                    break
                } else {
                    throw error("expected ',' or '\(Unicode.Scalar(closer))'")
                }
            }
            if !more { return }
        }
    }

    /// Throws if a value runs into the next. Values may touch (`{}{}`, `"a""b"`), but a number or a word ends only at
    /// white space, an opening bracket, a quote or the end: `01` is not 0 and then 1, and `nullnull` is no value.
    private func checkValueEnds() throws(JSONSyntaxError) {
        guard offset < end else { return }
        switch bytes[offset - 1] {
        case UInt8(ascii: "}"), UInt8(ascii: "]"), UInt8(ascii: "\""): return
        default: break
        }
        switch bytes[offset] {
        case 0x20, 0x09, 0x0A, 0x0D, UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "\""): return
        default: throw error("expected white space after the value")
        }
    }

    private func checkDepth(_ depth: Int) throws(JSONSyntaxError) {
        if self.depth + depth > Self.maximumDepth { throw error("nested deeper than \(Self.maximumDepth)") }
    }

    /// Skips a name and the colon after it. Returns the end of the name.
    @discardableResult
    private mutating func skipName() throws(JSONSyntaxError) -> Int {
        guard offset < end, bytes[offset] == UInt8(ascii: "\"") else {
            throw error("expected a name in quotes")
        }
        try skipString()
        let nameEnd = offset
        skipWhitespace()
        guard take(":") else { throw error("expected ':' after the name") }
        return nameEnd
    }

    private mutating func skipString() throws(JSONSyntaxError) {
        guard take("\"") else { throw error("expected a string") }
        isPlain = true
        while offset < end {
            switch bytes[offset] {
            case UInt8(ascii: "\""):
                offset += 1
                return
            case UInt8(ascii: "\\"):
                isPlain = false
                offset += 1
                guard offset < end else { throw error("expected the end of a string") }
                switch bytes[offset] {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
                    UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
                    offset += 1
                case UInt8(ascii: "u"):
                    offset += 1
                    for _ in 0..<4 {
                        guard offset < end, bytes[offset].isHexDigit else {
                            throw error("expected four hex digits")
                        }
                        offset += 1
                    }
                default: throw error("no such escape in a string")
                }
            case 0..<0x20: throw error("a control character in a string")
            case 0x80...:
                (isASCII, isPlain) = (false, false)
                offset += 1
            default:
                let (start, end) = (offset + 1, end)
                offset = bytes.withUnsafeBufferPointer { bytes in
                    var next = start
                    while next < end, bytes[next].isPlain { next += 1 }
                    return next
                }
            }
        }
        throw error("expected the end of a string")
    }

    private mutating func skipWord(_ word: StaticString) throws(JSONSyntaxError) {
        let after = offset + word.utf8CodeUnitCount
        let matches = word.withUTF8Buffer { after <= end && bytes[offset..<after].elementsEqual($0) }
        guard matches else { throw error("expected a value") }
        offset = after
    }

    private mutating func skipNumber() throws(JSONSyntaxError) {
        _ = take("-")
        guard offset < end else { throw error("expected a digit") }
        if !take("0") { try skipDigits() }
        if take(".") { try skipDigits() }
        if offset < end, bytes[offset] | 0x20 == UInt8(ascii: "e") {
            offset += 1
            if !take("+") { _ = take("-") }
            try skipDigits()
        }
    }

    private mutating func skipDigits() throws(JSONSyntaxError) {
        let start = offset
        while offset < end, bytes[offset].isDigit { offset += 1 }
        if offset == start { throw error("expected a digit") }
    }
}

extension UInt8 {
    /// Whether the byte is ASCII and stands for itself in a string.
    fileprivate var isPlain: Bool {
        self >= 0x20 && self < 0x80 && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
    }

    package var isJSONWhitespace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
