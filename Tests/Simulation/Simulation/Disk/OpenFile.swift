/// An open file description: what open(2) makes and a lock belongs to.
final class OpenFile {
    let inode: Inode
    /// The name under which it was opened; `nil` for the root directory.
    let entry: DirectoryEntry?
    let flags: Int32
    var position = 0
    /// The path in `Call`s.
    let path: String
    /// Whether it is the queue's directory, to which paths are relative.
    let isQueue: Bool
    let host: String
    let process: ProcessID
    /// How many failed syncs of the file, and of the whole disk, it has been told of.
    var knownFailures: (file: Int, disk: Int)

    init(
        _ inode: Inode, _ entry: DirectoryEntry?, flags: Int32, path: String, host: String, process: ProcessID,
        failuresOfDisk: Int
    ) {
        self.inode = inode
        self.entry = entry
        self.flags = flags
        self.path = path
        isQueue = path == "."
        self.host = host
        self.process = process
        knownFailures = (inode.hasUntoldFailure ? inode.failures - 1 : inode.failures, failuresOfDisk)
    }
}
