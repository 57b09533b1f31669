import CSystem

/// An error that keeps the receiver from listening.
package struct ReceiverError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The failed action, such as `listen at`.
    package var action: String
    /// The object of the action, such as `http://127.0.0.1:80`.
    package var address: String
    /// The system's error number.
    package var code: Int32

    /// `cannot listen at 'http://127.0.0.1:80': Permission denied`
    package var description: String { "cannot \(action) '\(address)': \(Errno(code))" }
}
