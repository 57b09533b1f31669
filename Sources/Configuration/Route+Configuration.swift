import Policy

extension ConfigurationValue<String> {
    /// The destination of a route: a name, or an origin in its normal form.
    static let destination = ConfigurationValue("destination", .text()) { value, findings in
        guard let text = plainText.read(value, &findings) else { return nil }
        return destinationName(text, at: value.position, &findings)
    }
}

/// Returns the name of a destination: the name itself, or an origin's normal form; `nil`, and an error, if neither.
func destinationName(_ text: String, at position: SourcePosition, _ findings: inout ConfigurationFindings) -> String? {
    if isName(text) { return text }
    guard let origin = Origin(url: text) else {
        return findings.refuse(
            "\(quote(text)) is neither an origin nor a name", at: position,
            hint: "an origin is https://api.example.com, a name 1 to 64 of A-Z a-z 0-9 _ - and .")
    }
    let authority = Substring(text.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst("://".utf8.count))
    if authority.utf8.contains(where: { "?#".utf8.contains($0) })
        || !["", "/"].contains(authority[authority.upTo("/").endIndex...])
    {
        return findings.refuse(
            "\(quote(text)) is more than an origin", at: position,
            hint: "a destination is a whole origin, such as '\(origin)': leave out the path")
    }
    return origin.description
}

extension ConfigurationValue<[OverridableField]> {
    /// A list of fields, which may be empty.
    static let overrides = ConfigurationValue<OverridableField>.word.list(
        atLeast: 0, hint: "a list of \(OverridableField.allCases.map(\.rawValue).joined(separator: ", "))")
}
