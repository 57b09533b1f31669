/// A name of a file. A rename moves the entry, so an open file knows where its name is now (readlink of
/// `/proc/self/fd`).
final class DirectoryEntry {
    var name: FileName
    /// The directory that has it, or had it before it was removed.
    var parent: Inode
    let inode: Inode
    var isRemoved = false

    init(_ name: FileName, in parent: Inode, of inode: Inode) {
        self.name = name
        self.parent = parent
        self.inode = inode
    }
}
