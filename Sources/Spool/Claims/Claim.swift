package import Policy

/// The exclusive right to attempt one operation.
package final class Claim: Sendable {
    package let name: EntryName
    /// `new` or `deferred`.
    package let from: QueueState
    /// The text of the name: written once for all paths, marks and lines.
    let fileName: String
    /// The file's path while it is claimed.
    let path: QueuePath

    init(_ name: EntryName, from: QueueState, by run: SpoolRun) {
        self.name = name
        self.from = from
        fileName = name.description
        path = QueuePath(in: run.directory.path, fileName.utf8)
    }
}
