package import Policy

/// The exclusive right to attempt one operation.
package final class Claim: Sendable {
    package let name: EntryName
    /// `new` or `deferred`.
    package let from: QueueState
    /// The file's path while it is claimed.
    let path: QueuePath

    init(name: EntryName, from: QueueState, path: QueuePath) {
        self.name = name
        self.from = from
        self.path = path
    }
}
