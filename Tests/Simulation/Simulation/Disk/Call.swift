/// A system call before its effect.
package struct Call: Hashable, Sendable {
    package enum Name: String, Hashable, Sendable, CaseIterable {
        case open, close, write, read, fsync, syncfs, chmod, rename, renameNoReplace, link, unlink, removeDirectory
        case makeDirectory, status, statusAt, realPath, lock, unlock, list, listPart, freeBytes

        /// The place of the call in the list, for digests.
        var order: Int { Self.allCases.firstIndex(of: self)! }
    }

    package var name: Name
    /// The path relative to the queue, such as `new/2026…`; `.` for the queue. A file outside the queue has its
    /// absolute path. A call on a descriptor has the path of the `open`.
    package var path: String
    /// The new name of a rename or link.
    package var target: String?

    package init(_ name: Name, path: String, target: String? = nil) {
        self.name = name
        self.path = path
        self.target = target
    }
}
