/// An error in the arguments, or in a file named by the arguments: exit status 64.
package struct UsageError: Error, CustomStringConvertible {
    package var description: String

    init(_ description: String) {
        self.description = description
    }
}
