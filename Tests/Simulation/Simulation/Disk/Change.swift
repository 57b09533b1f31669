/// A change of metadata that is not synced, and how it is undone.
struct Change {
    /// Changes of one call have the same number; in one journal a power cut keeps all of them or none.
    var group: Int
    /// The directory whose name has changed, or the file whose mode has.
    var inode: Inode
    /// `nil` for a change of the mode.
    var name: FileName?
    /// What had the name before.
    var before: Inode?
    /// The mode before.
    var mode: UInt32 = 0
}
