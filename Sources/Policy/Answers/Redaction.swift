/// The replacement of the secrets of requests in text that comes back from the server, from a proxy or from the
/// network.
///
/// Finds a secret in capitals or small letters, percent-encoded, escaped as in JSON or HTML, in Base64 at any offset,
/// and in up to three layers of these; also the decoded text of a Base64 secret, as in Basic authentication.
package struct Redaction: Sendable {
    /// The text that replaces a secret.
    package static let mark = "[secret]"
    /// The redaction for a request without secrets.
    package static let none = Redaction(.none)

    private struct Needle: Hashable {
        /// The bytes in small letters.
        var bytes: [UInt8]
        /// Whether a match extends to the whole word around it: Base64 of the secret with its neighbours.
        var isBase64 = false
    }

    /// The needles, longest first.
    private let needles: [Needle]
    /// Whether a match can begin with a byte, plain or escaped; indexed by the byte.
    private let canBegin: [Bool]

    /// Creates the redaction for these secrets. `signed` are the fields added by the headers command or AWS signing:
    /// their values, and the words in these from 8 bytes on, are secrets too, but for `Content-*` and `Accept*`.
    package init(_ secrets: SecretValues, signed: [HeaderField] = []) {
        let plain = secrets.values.values.map { Array($0.utf8) }.filter { $0.count >= Self.shortestSecret }
        let values = plain + signed.flatMap(Self.secrets(in:))
        var needles: Set<Needle> = []
        for value in values + values.flatMap(Self.decoded) {
            needles.insert(Needle(bytes: value.map(\.asciiLowercased)))
            for offset in 0..<3 {
                let letters = Base64.letters(of: value, after: offset)
                needles.insert(Needle(bytes: letters.map(\.asciiLowercased), isBase64: true))
                needles.insert(Needle(bytes: letters.map(Base64.inURLAlphabet).map(\.asciiLowercased), isBase64: true))
            }
        }
        self.init(needles)
    }

    private init(_ needles: Set<Needle>) {
        self.needles = needles.sorted { $0.bytes.count > $1.bytes.count }
        var canBegin = [Bool](repeating: false, count: 256)
        let first = Set(needles.map { $0.bytes[0] })
        for byte in UInt8.min ... .max where first.contains(byte.asciiLowercased) || Escape.canBegin(with: byte) {
            canBegin[Int(byte)] = true
        }
        self.canBegin = canBegin
    }

    /// Returns the redaction of these secrets and of others.
    package func joined(with others: Redaction) -> Redaction {
        if needles.isEmpty || needles == others.needles { return others }
        return others.needles.isEmpty ? self : Redaction(Set(needles + others.needles))
    }

    /// The least length of a secret to replace. A shorter one stands in many words by chance: `e` would turn `here`
    /// into `h[secret]r[secret]`, which tells the secret and hides the answer.
    package static let shortestSecret = 4
    /// The least length at which the end of a cut text counts as the beginning of a secret.
    static let shortestBeginning = 4
    /// The least length of a secret word in a signed field. Versions and schemes are shorter, and are not secrets.
    private static let shortestWord = 8
    private static let layers = 3

    // MARK: - Secrets

    private static func secrets(in field: HeaderField) -> [[UInt8]] {
        let name = field.name.utf8.map(\.asciiLowercased)
        if name.starts(with: "content-".utf8) || name.starts(with: "accept".utf8) { return [] }
        let value = Array(field.value.utf8)
        let words = value.split(whereSeparator: { " ,;\"".utf8.contains($0) })
        let parameters = words.compactMap { word in
            word.firstIndex(of: UInt8(ascii: "=")).map { word[($0 + 1)...] }
        }
        return ([value[...]] + words + parameters).map { Array($0) }.filter { $0.count >= shortestWord }
    }

    /// Returns the decoded text of a Base64 secret, and the password of `user:password` by itself.
    private static func decoded(_ secret: [UInt8]) -> [[UInt8]] {
        guard secret.count >= shortestWord, let bytes = Base64.decodeLeniently(secret),
            let text = String(validating: bytes, as: UTF8.self),
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return [] }
        let password = bytes.firstIndex(of: UInt8(ascii: ":")).map { Array(bytes[($0 + 1)...]) } ?? []
        return [bytes] + (password.count >= shortestBeginning ? [password] : [])
    }

    // MARK: - Texts

    /// Returns the bytes with a mark in the place of each secret. They may be the beginning of a longer text: an end
    /// that can be the beginning of a secret is redacted too.
    package func callAsFunction(_ bytes: [UInt8]) -> [UInt8] {
        if needles.isEmpty || bytes.isEmpty { return bytes }
        var hidden = [Bool](repeating: false, count: bytes.count)
        var text = bytes
        /// The place in `bytes` at which each byte of `text` begins, followed by the end of `bytes`.
        var places = Array(0...bytes.count)
        for _ in 0..<Self.layers {
            for range in matches(in: text) {
                for place in places[range.lowerBound]..<places[range.upperBound] { hidden[place] = true }
            }
            guard let inner = Self.unescaped(text, places) else { break }
            (text, places) = inner
        }
        return Self.marked(bytes, hidden)
    }

    private static func marked(_ bytes: [UInt8], _ hidden: [Bool]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        for (index, byte) in bytes.enumerated() {
            if !hidden[index] {
                result.append(byte)
            } else if index == 0 || !hidden[index - 1] {
                result += Array(mark.utf8)
            }
        }
        return result
    }

    /// Returns the matches. Overlapping Base64 words are one: a server can fill its answer with a word of thousands.
    private func matches(in text: [UInt8]) -> [Range<Int>] {
        var found: [Range<Int>] = []
        var word = 0..<0
        var searches = needles.map { RedactionSearch(needle: $0.bytes) }
        let escapes = text.indices.map { canBegin[Int(text[$0])] ? Escape(in: text, at: $0) : nil }
        var nextEscape = 0
        for start in text.indices where canBegin[Int(text[start])] {
            while nextEscape < text.count, nextEscape < start || escapes[nextEscape] == nil { nextEscape += 1 }
            for (index, needle) in needles.enumerated()
            where needle.bytes[0] == text[start].asciiLowercased || Escape.canBegin(with: text[start]) {
                guard let end = searches[index].end(in: text, escapes, from: start, nextEscape) else { continue }
                if !needle.isBase64 {
                    found.append(start..<end)
                } else if !word.contains(start) {
                    word = Self.word(around: start..<end, in: text)
                    found.append(word)
                } else if end > word.upperBound {
                    // An escaped letter ended the word.
                    let rest = word.upperBound..<Self.word(around: end..<end, in: text).upperBound
                    word = word.lowerBound..<rest.upperBound
                    found.append(rest)
                }
                break
            }
        }
        return found
    }

    /// Returns the Base64 word around a match, which includes the letters that the secret shares with its neighbours.
    private static func word(around range: Range<Int>, in text: [UInt8]) -> Range<Int> {
        // A slash or a hyphen before the match may belong to a path.
        let isPart: (UInt8) -> Bool = {
            Base64.isLetter($0) && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "-")
        }
        var (start, end) = (range.lowerBound, range.upperBound)
        while start > 0, isPart(text[start - 1]) { start -= 1 }
        while end < text.count, Base64.isLetter(text[end]) || text[end] == UInt8(ascii: "=") { end += 1 }
        return start..<end
    }

    /// Returns the text with one layer of escapes removed; `nil` if there is none.
    private static func unescaped(_ text: [UInt8], _ places: [Int]) -> (text: [UInt8], places: [Int])? {
        var inner: [UInt8] = []
        var innerPlaces: [Int] = []
        var index = 0
        while index < text.count {
            if text[index] != UInt8(ascii: "+"), let escape = Escape(in: text, at: index), !escape.isCut {
                inner += escape.bytes
                innerPlaces += repeatElement(places[index], count: escape.bytes.count)
                index += escape.length
            } else {
                inner.append(text[index])
                innerPlaces.append(places[index])
                index += 1
            }
        }
        return inner.count == text.count ? nil : (inner, innerPlaces + [places[text.count]])
    }
}

/// Shows only whether there are secrets.
extension Redaction: Confidential {
    package var description: String { needles.isEmpty ? "Redaction(none)" : "Redaction" }
}
