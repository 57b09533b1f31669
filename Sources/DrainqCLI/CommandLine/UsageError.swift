/// A command line that drainq cannot understand, or that makes no sense. The process ends with `ExitStatus.usage`.
package struct UsageError: Error, Hashable, Sendable {
    package var message: String
    /// A command or a fact that helps, without the word "hint".
    package var hint: String?

    package init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }
}
