/// Something in a queue directory that is not as it should be. Paths are relative to the queue, control characters escaped.
package enum Damage: Hashable, Sendable {
    /// A directory of the layout is not there.
    case missingDirectory(String)
    /// A directory that is not 0700.
    case directoryMode(String, is: UInt32)
    /// Files of the queue in that directory that are not 0600.
    case fileModes(in: String, count: Int)
    /// What a writer that is dead left in `tmp/`.
    case leftover(String)
    /// A run that is dead, and what it had claimed.
    case deadRun(String, claims: Int)
    /// One file under two names, since a move was interrupted. `of` is the later one.
    case interruptedMove(String, of: String)
    /// A file from before a move that a file system which reorders has brought back. `of` is the later one.
    case earlierGeneration(String, of: String)
    /// Another operation under an id that stands in the queue already. Nobody but a person knows which to keep.
    case conflict(String, of: String)
    /// A document in `state/` that is no JSON.
    case unreadableState(String)
    /// The reason of a file that is not in quarantine any more.
    case orphanedReason(String)
}
