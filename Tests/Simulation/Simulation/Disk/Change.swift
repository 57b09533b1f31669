/// An unsynced change of metadata, and how to undo the change.
struct Change {
    /// The number of the call. Changes of one call have the same number: if they share a journal, a power cut keeps all
    /// or none of them.
    var group: Int
    /// The directory whose name has changed, or the file whose mode has.
    var inode: Inode
    /// `nil` for a change of the mode.
    var name: FileName?
    /// The file that had the name before; `nil` if the name was free.
    var before: Inode?
    /// The mode before.
    var mode: UInt32 = 0
}
