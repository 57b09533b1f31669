/// A system call that is about to be made.
package struct Call: Hashable, Sendable {
    package enum Name: String, Hashable, Sendable, CaseIterable {
        case open, close, write, read, fsync, syncfs, chmod, rename, renameNoReplace, link, unlink, removeDirectory
        case makeDirectory, status, statusAt, realPath, lock, unlock, list, listPart, freeBytes

        /// Its place in the list, for digests.
        var order: Int { Self.allCases.firstIndex(of: self)! }
    }

    package var name: Name
    /// Relative to the queue: `new/2026…`. For calls on descriptors the path under which it was opened.
    package var path: String
    /// The new name of a rename or link.
    package var target: String?
}
