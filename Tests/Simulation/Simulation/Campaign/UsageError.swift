/// Arguments, or a file that they name, that `simulate` cannot use: exit status 64.
package struct UsageError: Error, CustomStringConvertible {
    package var description: String

    init(_ description: String) {
        self.description = description
    }
}
