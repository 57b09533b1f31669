/// The method of a request as users write it. Methods are case-sensitive (RFC 9110 §9.1), and those in use are in
/// capitals: a method in small letters is a mistake.
package enum RequestMethod {
    /// The words for a text that is no method.
    package static let rule = "methods are written in capitals"

    /// Whether the text is a method: 1 to 32 capitals and hyphens.
    package static func isMethod(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x41...0x5A).contains($0) || $0 == UInt8(ascii: "-") }
    }
}
