/// JSON Merge Patches (RFC 7396). A patch changes the members of an object; `null` removes one.
package enum MergePatch {
    /// Returns the one patch that does what `earlier` and then `later` do to any document; `nil` if no patch does, or
    /// if one of them is not JSON.
    ///
    /// A later patch that is no object replaces the document, so nothing of the earlier one remains. No patch replaces
    /// a value by an object: an object that follows a value or `null` in its place cannot be merged with it. Values
    /// keep their text. An object with a repeated name is not merged.
    package static func merged(_ earlier: [UInt8], _ later: [UInt8]) -> [UInt8]? {
        guard let first = try? JSONDocument(earlier), let second = try? JSONDocument(later) else { return nil }
        return merged(earlier, first.range, later, second.range)
    }

    private static func merged(
        _ earlier: [UInt8], _ first: Range<Int>, _ later: [UInt8], _ second: Range<Int>
    ) -> [UInt8]? {
        guard isObject(later, second) else { return Array(later[second]) }
        guard isObject(earlier, first), let old = members(of: earlier, first), let new = members(of: later, second)
        else { return nil }
        var parts = old.map { (name: Array(earlier[$0.text]), value: Array(earlier[$0.value])) }
        let places = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($1.name, $0) })
        for member in new {
            guard let place = places[member.name] else {
                parts.append((Array(later[member.text]), Array(later[member.value])))
                continue
            }
            guard let value = merged(earlier, old[place].value, later, member.value) else { return nil }
            parts[place].value = value
        }
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for (name, value) in parts {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            bytes += name
            bytes.append(UInt8(ascii: ":"))
            bytes += value
        }
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    private static func isObject(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        bytes[range.lowerBound] == UInt8(ascii: "{")
    }

    /// Returns the members with their names as written; `nil` if a name is repeated, or is not valid text.
    private static func members(
        of bytes: [UInt8], _ range: Range<Int>
    ) -> [(name: JSONName, text: Range<Int>, value: Range<Int>)]? {
        var members: [(name: JSONName, text: Range<Int>, value: Range<Int>)] = []
        var seen: Set<JSONName> = []
        var isPlain = true
        _ = try? JSONScanner.forEachMember(of: bytes, in: range) { text, value in
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
