package import Policy

/// What the file system knows of a file, as far as the queue asks.
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
    package var modifiedAt: Timestamp
    /// When the inode last changed: a rename counts, so it is when the file came to its state.
    package var changedAt: Timestamp

    func isSameFile(as other: FileStatus) -> Bool {
        inode == other.inode && device == other.device
    }
}

extension FileStatus.Kind {
    /// Why a thing of this kind is no operation; `nil` for a regular file.
    var reason: String? {
        switch self {
        case .regular: nil
        case .directory: "it is a directory"
        case .symbolicLink: "it is a symbolic link"
        case .fifo: "it is a FIFO"
        case .socket: "it is a socket"
        case .other: "it is a device"
        }
    }
}
