/// An error in a configuration file, with its place.
package struct ConfigurationError: Hashable, Sendable, CustomStringConvertible {
    /// The file's name, as the caller gave it.
    package var file: String
    package var line: Int
    /// The column in Unicode scalars, from 1.
    package var column: Int
    /// The key, from the top: `routes.default.timeouts.total`; `nil` if the text is not JSON5.
    package var path: String?
    /// The error in lower case, without a period: `'2 minuts' is not a duration`.
    package var reason: String
    /// A fact or a command that helps to correct the error.
    package var hint: String?

    /// `drainq.json:12:26: routes.default.timeouts.total: '2 minuts' is not a duration`
    ///
    /// Contains the user's text as written: the printer escapes control characters.
    package var description: String { "\(file):\(line):\(column): " + (path.map { "\($0): " } ?? "") + reason }
}
