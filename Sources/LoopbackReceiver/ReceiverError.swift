import CSystem

/// The receiver cannot listen.
package struct ReceiverError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was being done, `listen at`.
    package var action: String
    /// To what, `http://127.0.0.1:80`.
    package var address: String
    /// The system's number for why.
    package var code: Int32

    /// `cannot listen at 'http://127.0.0.1:80': Permission denied`
    package var description: String {
        "cannot \(action) '\(address)': \(Errno(code))"
    }
}
