package import Policy

extension ConfigurationEntry {
    /// The default as JSON; `nil` if there is none.
    package var defaultJSON: JSONValue? {
        guard let defaultText, let value = try? JSON5Parser.value(of: Array(defaultText.utf8)) else { return nil }
        var findings = ConfigurationFindings(directory: "/")
        return ConfigurationValue<JSONValue>.json.read(value, &findings)
    }
}
