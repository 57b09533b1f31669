/// An open file description: the result of open(2) and the owner of a lock.
final class OpenFile {
    let inode: Inode
    /// The entry of the path at the time of `open`; `nil` for the root directory.
    let entry: DirectoryEntry?
    let flags: Int32
    var position = 0
    /// The path in `Call`s.
    let path: String
    /// Whether the file is the queue's directory, the base of relative paths.
    let isQueue: Bool
    let host: String
    let process: ProcessID
    /// The number of failed syncs already reported to this open file: of the file, and of the whole disk.
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
