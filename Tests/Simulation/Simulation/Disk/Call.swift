/// A system call that is about to be made.
package struct Call: Hashable, Sendable {
    package enum Name: String, Hashable, Sendable, CaseIterable {
        case open, close, write, read, fsync, syncfs, chmod, rename, renameNoReplace, link, unlink, removeDirectory
        case makeDirectory, status, statusAt, realPath, lock, unlock, list, listPart, freeBytes

        /// Its place in the list, for digests.
        var order: Int { Self.allCases.firstIndex(of: self)! }
    }

    package var name: Name
    /// Relative to the queue: `new/2026…`, and `.` for the queue itself. The absolute path of a file elsewhere. For a
    /// call on a descriptor the path under which it was opened.
    package var path: String
    /// The new name of a rename or link.
    package var target: String?

    package init(_ name: Name, path: String, target: String? = nil) {
        self.name = name
        self.path = path
        self.target = target
    }
}
