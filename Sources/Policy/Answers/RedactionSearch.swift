/// The search for one needle in one text, in which each byte may be plain or escaped. Begin at ascending places.
struct RedactionSearch {
    private struct Step: Hashable {
        var place: Int
        var matched: Int
    }

    let needle: [UInt8]
    /// Steps that lead on in two ways and end without a match, whatever the place at which a match would have begun.
    /// Without them a run of backslashes would be read in each combination, from each of its places.
    private var failed: Set<Step> = []
    /// Upper bound on remembered steps. Keeps memory independent of the text.
    private static let mostRemembered = 1 << 14

    /// The length of the common prefix of the needle and each of its suffixes.
    private let prefixes: [Int]
    /// The last plain match of a prefix of the needle, with the latest end.
    private var window = 0..<0

    init(needle: [UInt8]) {
        self.needle = needle
        var prefixes = [needle.count]
        var window = 0..<0
        for start in needle.indices.dropFirst() {
            prefixes.append(Self.extended(in: needle, of: needle, from: start, &window, prefixes))
        }
        self.prefixes = prefixes
    }

    /// Returns how many bytes of the needle stand at `start` as they are (the Z algorithm: no byte of the text is
    /// compared twice with success, however often the needle repeats itself).
    private static func extended(
        in text: [UInt8], of needle: [UInt8], from start: Int, _ window: inout Range<Int>, _ prefixes: [Int]
    ) -> Int {
        var count = start < window.upperBound ? min(window.upperBound - start, prefixes[start - window.lowerBound]) : 0
        while count < needle.count, start + count < text.count, text[start + count].asciiLowercased == needle[count] {
            count += 1
        }
        if start + count > window.upperBound { window = start..<start + count }
        return count
    }

    /// Returns the end of a match that begins at `start`; `nil` if there is none. `escapes` are the escapes of the
    /// text, by the places at which they begin, and `nextEscape` is the place of the first from `start` on.
    mutating func end(in text: [UInt8], _ escapes: [Escape?], from start: Int, _ nextEscape: Int) -> Int? {
        let plain = Self.extended(in: text, of: needle, from: start, &window, prefixes)
        if plain == needle.count { return start + plain }
        if start + plain == text.count, plain >= Redaction.shortestBeginning { return text.count }
        if nextEscape > start + plain { return nil }
        var open = [Step(place: start, matched: 0)]
        while let step = open.popLast() {
            let (place, matched) = (step.place, step.matched)
            if matched == needle.count { return found(place) }
            if place >= text.count {
                if matched >= Redaction.shortestBeginning { return found(text.count) }
                continue
            }
            let isPlain = text[place].asciiLowercased == needle[matched]
            if let escape = escapes[place] {
                if escape.isCut, matched >= Redaction.shortestBeginning { return found(text.count) }
                let bytes = escape.bytes
                if !bytes.isEmpty, needle[matched...].starts(with: bytes.lazy.map(\.asciiLowercased)) {
                    if isPlain, !failed.insert(step).inserted { continue }
                    open.append(Step(place: place + escape.length, matched: matched + bytes.count))
                }
            }
            if isPlain { open.append(Step(place: place + 1, matched: matched + 1)) }
        }
        if failed.count > Self.mostRemembered { failed.removeAll(keepingCapacity: true) }
        return nil
    }

    /// Forgets the steps, some of which lead to this end.
    private mutating func found(_ end: Int) -> Int {
        if !failed.isEmpty { failed.removeAll(keepingCapacity: true) }
        return end
    }
}
