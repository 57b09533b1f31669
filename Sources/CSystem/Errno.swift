/// The error of a system call (errno(3)).
package struct Errno: Error, Hashable, Sendable, CustomStringConvertible {
    package var code: Int32

    package init(_ code: Int32) {
        self.code = code
    }

    /// The system's words: `Permission denied`.
    package var description: String { String(cString: strerror(code)) }
}
