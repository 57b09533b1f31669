package import Policy

/// drainq.json: its text becomes a `Configuration`, or a list of all that is wrong with it.
package enum ConfigurationFile {
    /// A larger file is somebody's mistake.
    package static let maximumBytes = 1_048_576

    /// What the bytes of a configuration file say; an empty object says nothing and is right.
    ///
    /// - Parameter name: what errors call the file.
    package static func read(_ bytes: [UInt8], name: String) throws(ConfigurationErrors) -> Configuration {
        var findings = ConfigurationFindings()
        var configuration = Configuration()
        let start = SourcePosition(line: 1, column: 1)
        if bytes.count > maximumBytes {
            findings.add("the file is larger than \(maximumBytes) bytes", at: start)
        } else {
            do throws(JSON5SyntaxError) {
                let value = try JSON5Parser.value(of: bytes)
                if let newer = newerVersion(in: value) {
                    // What a newer format means by its keys is unknown, so nothing is said of them.
                    readObject(newer, by: ConfigurationKeys.file, into: &configuration, &findings)
                } else {
                    readObject(value, by: ConfigurationKeys.file, into: &configuration, &findings)
                }
            } catch {
                findings.add(error.reason, at: error.position, hint: error.hint)
            }
        }
        if let errors = findings.errors(in: name) { throw errors }
        return configuration
    }

    /// Why `url` cannot be the url of a route; `nil` when it can.
    package static func urlError(_ url: String) -> String? {
        URLTemplateSyntax.problem(in: url).map {
            "\(quote(url)) \($0.reason)" + ($0.hint.map { hint in " (\(hint))" } ?? "")
        }
    }

    /// The object with nothing but its version, where that is a newer one.
    private static func newerVersion(in value: JSON5Value) -> JSON5Value? {
        guard case .object(let members) = value.content,
            let version = members.first(where: { $0.name == "version" }),
            let number = version.value.integer, number > 1
        else { return nil }
        return JSON5Value(position: value.position, content: .object([version]))
    }
}
