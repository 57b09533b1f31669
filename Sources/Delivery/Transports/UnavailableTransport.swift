import CSystem

/// The reason why a transport cannot be used on this machine.
package struct UnavailableTransport: Error, Hashable, Sendable {
    package var reason: String
    /// Whether this process has no memory or no descriptor left, which is a state of the moment, not of the machine.
    package var isPassing: Bool

    /// Creates the reason. `isPassing` is by default what this process finds now.
    package init(reason: String, isPassing: Bool = Errno.shortage(ofMemory: libraryMemory) != nil) {
        (self.reason, self.isPassing) = (reason, isPassing)
    }

    /// Upper bound on the memory of a library and all the libraries that it needs, in bytes.
    package static let libraryMemory = 64 << 20
}
