import CSystem
import Policy

/// A new file outside the queue, which gets exported operations and is readable by its owner alone.
///
/// The file and its name survive a power cut once `finish` has returned. Without `finish` the file is removed with the
/// value. A crash before that may leave a part of the file; the queue has every operation then.
package final class ExportFile {
    private let queue: SpoolDirectory
    private let path: QueuePath
    /// `nil` once the file is closed.
    private var descriptor: Int32?
    private var buffer: [UInt8] = []

    private static let bufferSize = 1 << 18

    /// Makes the file at an absolute path. Throws EEXIST if a file has that name: its operations may be nowhere else.
    package init(creating path: String, besides queue: SpoolDirectory) throws(SpoolError) {
        self.queue = queue
        self.path = QueuePath(path)
        let name = self.path
        descriptor = try queue.attempt("create", name) { () throws(Errno) in
            try queue.system.open(queue.root, name.bytes, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        }
    }

    deinit {
        guard let descriptor else { return }
        try? queue.system.close(descriptor)
        try? queue.system.unlink(queue.root, path.bytes)
    }

    package func append(_ bytes: [UInt8]) throws(SpoolError) {
        buffer += bytes
        if buffer.count >= Self.bufferSize { try flush() }
    }

    /// Writes the rest, and syncs the file and then its directory.
    package func finish() throws(SpoolError) {
        try flush()
        guard let descriptor else { return }
        try queue.attempt("sync", path) { () throws(Errno) in
            try queue.system.fsync(descriptor)
            try queue.sync(path.parent)
        }
        self.descriptor = nil
        do throws(Errno) {
            try queue.system.close(descriptor)
        } catch {
            // NFS reports a lost write here. The file stays: it is what there is of the export.
            throw SpoolError(error, "close", path)
        }
    }

    private func flush() throws(SpoolError) {
        guard let descriptor, !buffer.isEmpty else { return }
        try queue.attempt("write", path) { () throws(Errno) in try queue.write(descriptor, buffer) }
        buffer.removeAll(keepingCapacity: true)
    }
}

extension SpoolDirectory {
    /// Whether a new file at an absolute path would be in the queue's directory, whatever links lead there. Runs sweep
    /// and send what is there.
    package func contains(_ path: String) throws(SpoolError) -> Bool {
        let file = QueuePath(path)
        return try attempt("create", file) { () throws(Errno) in
            let own = try system.statusAt(root, QueuePath(".").bytes)
            var directory = QueuePath(in: file.parent, ".".utf8)
            while true {
                let status = try system.statusAt(root, directory.bytes)
                if status.isSameFile(as: own) { return true }
                directory = QueuePath(in: directory, "..".utf8)
                // The root directory is its own parent.
                if try system.statusAt(root, directory.bytes).isSameFile(as: status) { return false }
            }
        }
    }
}
