/// Something in a queue directory that is not as it should be. Paths are relative to the queue, control characters
/// escaped.
package enum Damage: Hashable, Sendable {
    /// A directory of the layout is not there.
    case missingDirectory(String)
    /// Something else, such as a symbolic link, is in the place of a directory of the layout.
    case notADirectory(String, FileStatus.Kind)
    /// A directory that is not 0700.
    case directoryMode(String, is: UInt32)
    /// Files of the queue in that directory that are not 0600.
    case fileModes(in: String, count: Int)
    /// Files that a dead writer left in `tmp/`.
    case leftover(String)
    /// A dead run, and how many claims it left.
    case deadRun(String, claims: Int)
    /// One file under two names after an interrupted move. `of` is the later name.
    case interruptedMove(String, of: String)
    /// A file from before a move, brought back by a file system that reorders. `of` is the later file.
    case earlierGeneration(String, of: String)
    /// Another operation under an id that is in the queue already. Only an operator can tell which to keep.
    case conflict(String, of: String)
    /// A document in `state/` that cannot be read.
    case unreadableState(String)
    /// The reason of a file that is no longer in quarantine.
    case orphanedReason(String)
}
