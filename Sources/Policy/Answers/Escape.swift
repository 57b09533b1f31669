/// An escape in a text: `%2F`, `+` for a blank, `\/`, `\u002f`, `\x2f`, `&amp;`, `&#47;`, `&#x2f;`.
struct Escape: Hashable {
    /// The UTF-8 that the escape stands for: the first `count` elements. No array, as a text may be a million escapes.
    private let letters: SIMD4<UInt8>
    private let count: UInt8
    private let taken: UInt8
    /// Whether the text ends within the escape.
    let isCut: Bool

    /// The number of bytes of the text that the escape takes.
    var length: Int { Int(taken) }

    var bytes: LazyMapSequence<Range<Int>, UInt8> { (0..<Int(count)).lazy.map { [letters] in letters[$0] } }

    /// Returns whether an escape can begin with this byte.
    static func canBegin(with byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "%"), UInt8(ascii: "+"), UInt8(ascii: "\\"), UInt8(ascii: "&"): true
        default: false
        }
    }

    /// Reads the escape that begins at `place`; `nil` if none does.
    init?(in text: [UInt8], at place: Int) {
        let rest = text[place...].prefix(12)
        let found: Escape?
        switch text[place] {
        case UInt8(ascii: "%"): found = Self.hexadecimal(rest, prefix: 1, digits: 2).map { Self.byte($0) }
        case UInt8(ascii: "+"): found = Escape(CollectionOfOne(0x20), length: 1)
        case UInt8(ascii: "\\"): found = Self.backslash(rest)
        case UInt8(ascii: "&"): found = Self.entity(rest)
        default: return nil
        }
        if let found {
            self = found
        } else if place + rest.count == text.count, rest.count < 12 {
            // The text ends within what may become an escape.
            self.init([], length: rest.count, isCut: true)
        } else {
            return nil
        }
    }

    private init(_ bytes: some Sequence<UInt8>, length: Int, isCut: Bool = false) {
        var letters = SIMD4<UInt8>()
        var count = 0
        for byte in bytes {
            letters[count] = byte
            count += 1
        }
        (self.letters, self.count, taken, self.isCut) = (letters, UInt8(count), UInt8(length), isCut)
    }

    private static func byte(_ number: (value: UInt32, length: Int)) -> Escape {
        Escape(CollectionOfOne(UInt8(truncatingIfNeeded: number.value)), length: number.length)
    }

    private static func scalar(_ value: UInt32, _ length: Int) -> Escape? {
        Unicode.Scalar(value).map { Escape(UTF8.encode($0)!, length: length) }
    }

    /// Reads `digits` hexadecimal digits that follow `prefix` bytes; `nil` if there are fewer.
    private static func hexadecimal(
        _ text: ArraySlice<UInt8>, prefix: Int, digits: Int
    ) -> (value: UInt32, length: Int)? {
        let digitBytes = text.dropFirst(prefix).prefix(digits)
        guard digitBytes.count == digits, digitBytes.allSatisfy(\.isHexDigit) else { return nil }
        return (number(digitBytes), prefix + digits)
    }

    /// Returns the number that at most seven hexadecimal digits write.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt32 {
        digits.reduce(0) { $0 << 4 | UInt32($1 & 15) + ($1 > UInt8(ascii: "9") ? 9 : 0) }
    }

    private static func backslash(_ text: ArraySlice<UInt8>) -> Escape? {
        guard let letter = text.dropFirst().first else { return nil }
        switch letter {
        case UInt8(ascii: "u"):
            guard let (value, length) = hexadecimal(text, prefix: 2, digits: 4) else { return nil }
            guard (0xD800..<0xDC00).contains(value) else { return scalar(value, length) }
            // The first half of a surrogate pair. The second half must follow.
            let second = text.dropFirst(length)
            guard second.starts(with: #"\u"#.utf8), let (low, more) = hexadecimal(second, prefix: 2, digits: 4),
                (0xDC00..<0xE000).contains(low)
            else { return nil }
            return scalar(0x10000 + (value - 0xD800) << 10 + (low - 0xDC00), length + more)
        case UInt8(ascii: "x"): return hexadecimal(text, prefix: 2, digits: 2).flatMap { scalar($0, $1) }
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "'"):
            return Escape(CollectionOfOne(letter), length: 2)
        default: return nil
        }
    }

    private static let entities: [(name: String, byte: UInt8)] = [
        ("&amp;", UInt8(ascii: "&")), ("&lt;", UInt8(ascii: "<")), ("&gt;", UInt8(ascii: ">")),
        ("&quot;", UInt8(ascii: "\"")), ("&apos;", UInt8(ascii: "'")),
    ]

    private static func entity(_ text: ArraySlice<UInt8>) -> Escape? {
        for (name, byte) in entities where text.starts(with: name.utf8) {
            return Escape(CollectionOfOne(byte), length: name.utf8.count)
        }
        guard let end = text.firstIndex(of: UInt8(ascii: ";")), text.starts(with: "&#".utf8) else { return nil }
        let number = text[(text.startIndex + 2)..<end]
        let isHexadecimal = number.first.map { $0 | 0x20 == UInt8(ascii: "x") } ?? false
        let digits = isHexadecimal ? number.dropFirst() : number
        guard !digits.isEmpty, digits.allSatisfy(\.isHexDigit) else { return nil }
        return UInt32(String(decoding: digits, as: UTF8.self), radix: isHexadecimal ? 16 : 10)
            .flatMap { scalar($0, end + 1 - text.startIndex) }
    }
}
