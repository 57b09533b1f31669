#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The name of a member, its escapes decoded by Foundation only where it has any.
func decodeName(_ bytes: [UInt8], _ range: Range<Int>) throws(JSONSyntaxError) -> String {
    let inner = bytes[range].dropFirst().dropLast()
    if !inner.contains(UInt8(ascii: "\\")) {
        guard let name = String(validating: inner, as: UTF8.self) else {
            throw JSONSyntaxError(offset: range.lowerBound, reason: "the name is not valid UTF-8")
        }
        return name
    }
    guard let name = try? JSONDecoder().decode(String.self, from: Data(bytes[range])) else {
        throw JSONSyntaxError(offset: range.lowerBound, reason: "the name is not valid text")
    }
    return name
}
