/// A name of a file. A rename moves the entry, so an open file knows its present name (readlink of `/proc/self/fd`).
final class DirectoryEntry {
    var name: FileName
    /// The directory of the entry; after a removal, the last directory.
    var parent: Inode
    let inode: Inode
    var isRemoved = false

    init(_ name: FileName, in parent: Inode, of inode: Inode) {
        self.name = name
        self.parent = parent
        self.inode = inode
    }
}
