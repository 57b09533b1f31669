/// The errors of one configuration file: at least one, in the order of the file, at most `maximumCount`.
package struct ConfigurationErrors: Error, Hashable, Sendable, CustomStringConvertible {
    package static let maximumCount = 10

    package var errors: [ConfigurationError]
    /// The number of errors beyond the first ten.
    package var omitted: Int

    /// The errors, one a line, without their hints.
    package var description: String {
        (errors.map(\.description) + (omitted > 0 ? ["and \(omitted) more"] : [])).joined(separator: "\n")
    }
}
