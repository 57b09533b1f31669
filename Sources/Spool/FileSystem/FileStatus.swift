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
    /// The user it belongs to.
    package var owner: UInt32
    /// What its owner, its group and others may do with it: 0o600.
    package var permissions: UInt32
    /// Of a directory: only the owner of what is in it may rename or remove that.
    package var isSticky = false
    /// Of a directory: what is made in it belongs to its group.
    package var setsGroup = false
    /// When its content was last written, nanoseconds since 1970; after 2262 the last that 64 bits hold, before 1677 the first.
    package var modifiedNanoseconds: Int64
    /// When the inode last changed: a rename counts, so it is when the file came to its state.
    package var changedAt: Timestamp

    package var modifiedAt: Timestamp { Timestamp(microseconds: modifiedNanoseconds / 1000) }

    func isSameFile(as other: FileStatus) -> Bool {
        inode == other.inode && device == other.device
    }
}

extension FileStatus.Kind {
    /// Why a thing of this kind is no operation; `nil` for a regular file.
    var reason: String? { self == .regular ? nil : "it is \(words)" }

    var words: String {
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
