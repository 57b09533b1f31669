package import Policy

/// The status of a file, as far as the queue needs it.
package struct FileStatus: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case regular
        case directory
        case symbolicLink
        case fifo
        case socket
        case other
    }

    package var kind: Kind
    package var size: Int
    package var links: Int
    package var device: UInt64
    package var inode: UInt64
    /// The user that owns it.
    package var owner: UInt32
    /// The permission bits of owner, group and others: 0o600.
    package var permissions: UInt32
    /// The sticky bit of a directory: only the owner of a file in the directory may rename or remove the file.
    package var isSticky = false
    /// The setgid bit of a directory: new files in it belong to its group.
    package var setsGroup = false
    /// When its content was last written, in nanoseconds since 1970, clamped to 64 bits (1677 to 2262).
    package var modifiedNanoseconds: Int64
    /// When the inode last changed. A rename counts, so this is when the file came to its state.
    package var changedAt: Timestamp

    package init(
        kind: Kind, size: Int, links: Int, device: UInt64, inode: UInt64, owner: UInt32, permissions: UInt32,
        isSticky: Bool = false, setsGroup: Bool = false, modifiedNanoseconds: Int64, changedAt: Timestamp
    ) {
        self.kind = kind
        self.size = size
        self.links = links
        self.device = device
        self.inode = inode
        self.owner = owner
        self.permissions = permissions
        self.isSticky = isSticky
        self.setsGroup = setsGroup
        self.modifiedNanoseconds = modifiedNanoseconds
        self.changedAt = changedAt
    }

    package var modifiedAt: Timestamp { Timestamp(microseconds: modifiedNanoseconds / 1000) }

    func isSameFile(as other: FileStatus) -> Bool {
        inode == other.inode && device == other.device
    }
}

extension FileStatus.Kind {
    /// Why a file of this kind is no operation; `nil` for a regular file.
    var reason: String? { self == .regular ? nil : "it is \(words)" }

    package var words: String {
        switch self {
        case .regular: "a file"
        case .directory: "a directory"
        case .symbolicLink: "a symbolic link"
        case .fifo: "a FIFO"
        case .socket: "a socket"
        case .other: "a device"
        }
    }
}
