/// A JSON Merge Patch (RFC 7396) that takes in later ones. A patch changes the members of an object; `null` removes
/// one.
///
/// Taking in costs time by the length of the later patch alone, however many came before.
package struct MergePatch {
    private var value: Value

    /// Creates the patch from its text; `nil` if that is not JSON.
    package init?(_ text: [UInt8]) {
        guard let document = try? JSONDocument(text) else { return nil }
        value = .text(Array(text[document.range]))
    }

    /// Takes in a later patch: this patch then changes any document as both patches do, one after the other. Returns
    /// false if no patch does that, or if the later patch is not JSON; this patch is then of no use any more.
    ///
    /// A later patch that is no object replaces the document, so nothing of the earlier one remains. No patch replaces
    /// a value by an object: an object that follows a value or `null` in its place cannot be merged with it. Values
    /// keep their text. An object with a repeated name is not merged.
    package mutating func merge(_ later: [UInt8]) -> Bool {
        guard let document = try? JSONDocument(later) else { return false }
        return value.merge(later, document.range)
    }

    /// The patch as JSON text.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        value.write(to: &bytes)
        return bytes
    }

    /// A value of the patch: an object that was taken apart, or any value as its text.
    private enum Value {
        case object(Members)
        case text([UInt8])

        mutating func merge(_ later: [UInt8], _ range: Range<Int>) -> Bool {
            guard later[range.lowerBound] == UInt8(ascii: "{") else {
                self = .text(Array(later[range]))
                return true
            }
            guard let new = Members.ranges(of: later, range), var members = takeMembers() else { return false }
            for member in new where !members.merge(member, of: later) { return false }
            self = .object(members)
            return true
        }

        /// Returns the members of an object, and leaves an empty text: a second reference would copy them all. `nil` if
        /// this is no object, or has a repeated name.
        private mutating func takeMembers() -> Members? {
            switch self {
            case .object(let members):
                self = .text([])
                return members
            case .text(let text):
                guard text.first == UInt8(ascii: "{") else { return nil }
                return Members(text)
            }
        }

        func write(to bytes: inout [UInt8]) {
            switch self {
            case .text(let text): bytes += text
            case .object(let members): members.write(to: &bytes)
            }
        }
    }

    /// The members of an object, in their order.
    private struct Members {
        typealias Range = (name: JSONName, text: Swift.Range<Int>, value: Swift.Range<Int>)

        private var parts: [(text: [UInt8], value: Value)] = []
        private var places: [JSONName: Int] = [:]

        init?(_ text: [UInt8]) {
            guard let members = Self.ranges(of: text, 0..<text.count) else { return nil }
            for member in members { append(member, of: text) }
        }

        /// Takes in a member of a later patch. Returns false if no patch does what both do.
        mutating func merge(_ member: Range, of later: [UInt8]) -> Bool {
            guard let place = places[member.name] else {
                append(member, of: later)
                return true
            }
            return parts[place].value.merge(later, member.value)
        }

        private mutating func append(_ member: Range, of text: [UInt8]) {
            places[member.name] = parts.count
            parts.append((Array(text[member.text]), .text(Array(text[member.value]))))
        }

        func write(to bytes: inout [UInt8]) {
            bytes.append(UInt8(ascii: "{"))
            for (index, part) in parts.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                bytes += part.text
                bytes.append(UInt8(ascii: ":"))
                part.value.write(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }

        /// Returns the members with their names as written; `nil` if a name is repeated, or is not valid text.
        static func ranges(of bytes: [UInt8], _ range: Swift.Range<Int>) -> [Range]? {
            var members: [Range] = []
            var seen: Set<JSONName> = []
            var isPlain = true
            _ = try? JSONScanner.forEachMember(of: bytes, in: range) { text, value, _ in
                let name = JSONScanner.text(of: bytes, in: text, repairing: false).map { JSONName($0) }
                guard let name, seen.insert(name).inserted else {
                    isPlain = false
                    return
                }
                members.append((name, text, value))
            }
            return isPlain ? members : nil
        }
    }
}
