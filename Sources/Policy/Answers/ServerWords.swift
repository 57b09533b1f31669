/// The words of an answer for people: the message of a JSON object, or the text of a page without its tags.
///
/// The text may be cut anywhere, as an excerpt is.
package enum ServerWords {
    /// The length of the words at most, in scalars.
    static let longest = 160
    /// The members whose text is a message, the best first. Without one of these all texts of the object are the words.
    private static let messages = [
        "message", "error_description", "errormessage", "detail", "msg", "description", "reason", "title",
    ]

    /// Returns the words of the beginning of an answer; `nil` if there are none.
    package static func readable(_ excerpt: String) -> String? {
        let bytes = Array(excerpt.utf8.drop { isSpace($0) })
        let words: [UInt8] =
            switch bytes.first {
            case UInt8(ascii: "{"), UInt8(ascii: "["): ofJSON(bytes) ?? bytes
            case UInt8(ascii: "<"): ofMarkup(bytes)
            default: bytes
            }
        let parts = words.split(whereSeparator: isSpace).joined(separator: [UInt8(ascii: " ")])
        let line = escapedForDisplay(String(decoding: Array(parts), as: UTF8.self)).unicodeScalars
        if line.isEmpty { return nil }
        return line.count <= longest ? String(line) : String(String.UnicodeScalarView(line.prefix(longest - 1))) + "…"
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    // MARK: - JSON

    /// Returns the texts of the members that have a message, else all texts; `nil` if there are none.
    private static func ofJSON(_ bytes: [UInt8]) -> [UInt8]? {
        var (members, key): ([(key: String, text: [UInt8])], String) = ([], "")
        var rest = bytes[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "\"")) {
            rest = rest[(start + 1)...]
            let string = takeString(&rest)
            if rest.first(where: { !isSpace($0) }) == UInt8(ascii: ":") {
                key = String(decoding: string, as: UTF8.self).lowercased()
            } else if !string.isEmpty {
                members.append((key, string))
            }
        }
        let best = messages.first { message in members.contains { $0.key == message } }
        let texts = members.filter { best == nil || $0.key == best }.map(\.text)
        return texts.isEmpty ? nil : Array(texts.joined(separator: Array("; ".utf8)))
    }

    /// Removes a string up to its closing quotation mark, and returns it without its escapes.
    private static func takeString(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        var string: [UInt8] = []
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            guard byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() else {
                string.append(byte)
                continue
            }
            switch escaped {
            case UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"), UInt8(ascii: "b"), UInt8(ascii: "f"):
                string.append(UInt8(ascii: " "))
            case UInt8(ascii: "u"):
                let digits = String(decoding: rest.prefix(4), as: UTF8.self)
                rest = rest.dropFirst(4)
                let scalar = UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init) ?? "\u{FFFD}"
                string += UTF8.encode(scalar).map { Array($0) } ?? []
            default: string.append(escaped)
            }
        }
        return string
    }

    // MARK: - Markup

    private static let (less, greater) = (UInt8(ascii: "<"), UInt8(ascii: ">"))
    private static let entities = [
        ("nbsp", " "), ("lt", "<"), ("gt", ">"), ("quot", "\""), ("#39", "'"), ("apos", "'"), ("amp", "&"),
    ].map { (Array("\($0);".utf8), Array($1.utf8)) }

    /// Returns the text between the tags, without the head of a page; the title if there is no other text.
    private static func ofMarkup(_ bytes: [UInt8]) -> [UInt8] {
        let body = withoutTags(["head", "script", "style"].reduce(bytes) { withoutElements($1, $0) })
        if body.contains(where: { !isSpace($0) }) { return body }
        guard let start = place(ofTag: "<title", in: bytes[...]),
            let end = bytes[start...].firstIndex(of: greater)
        else { return withoutTags(bytes) }
        return withoutTags(Array(bytes[(end + 1)...].prefix { $0 != less }))
    }

    private static func withoutElements(_ name: String, _ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        while let start = place(ofTag: "<\(name)", in: bytes[...]) {
            let end = place(ofTag: "</\(name)", in: bytes[start...]).flatMap { bytes[$0...].firstIndex(of: greater) }
            bytes.removeSubrange(start..<(end.map { $0 + 1 } ?? bytes.count))
        }
        return bytes
    }

    /// Returns the start of a tag, whatever its case; `nil` if there is none.
    private static func place(ofTag tag: String, in bytes: ArraySlice<UInt8>) -> Int? {
        let tag = Array(tag.utf8)
        return bytes.indices.first { index in
            let rest = bytes[index...]
            guard rest.count >= tag.count, zip(rest, tag).allSatisfy({ $0 | 0x20 == $1 | 0x20 }) else { return false }
            return !(rest.dropFirst(tag.count).first.map { (0x61...0x7A).contains($0 | 0x20) } ?? false)
        }
    }

    private static func withoutTags(_ bytes: [UInt8]) -> [UInt8] {
        var (result, isTag, rest): ([UInt8], Bool, ArraySlice<UInt8>) = ([], false, bytes[...])
        while let byte = rest.popFirst() {
            switch byte {
            case less:
                isTag = true
                result.append(UInt8(ascii: " "))
            case greater where isTag: isTag = false
            case UInt8(ascii: "&") where !isTag:
                let entity = entities.first { rest.starts(with: $0.0) }
                rest = rest.dropFirst(entity?.0.count ?? 0)
                result += entity?.1 ?? [byte]
            default: if !isTag { result.append(byte) }
            }
        }
        return result
    }
}
