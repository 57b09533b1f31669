/// A value of the input of `add` or `import`.
package struct GivenValue: Hashable, Sendable {
    /// The value as given; empty if the user has it in a file.
    package var text: [UInt8]
    package var place: Place

    /// The place of a value in the input.
    package struct Place: Hashable, Sendable, CustomStringConvertible {
        package var source: String
        package var line: Int

        package var description: String { "line \(line) of '\(source)'" }

        package init(source: String, line: Int) {
            self.source = source
            self.line = line
        }
    }

    package init(_ text: [UInt8], _ place: Place) {
        self.text = text
        self.place = place
    }
}
