package import Policy

/// The slots of something of which all processes at the queue together may do only so much at once: a lock file for each,
/// `state/slots/DIGEST-NUMBER`.
///
/// A slot is free again when its process ends, whatever ends it. The files stay. Where locks reach this host only
/// (`FileSystem.lockReach`) each host has slots of its own.
package final class SlotLocks {
    static let directory = QueuePath("state/slots")

    private let queue: SpoolDirectory
    private let digest: Digest
    /// By number; `nil` where it has not been tried yet.
    private var files: [LockFile?]
    private var isTaken: [Bool]
    /// How many of them this process has.
    package private(set) var count = 0

    /// The slots of what has this digest; there are `size` of them.
    package init(of digest: Digest, size: Int, in queue: SpoolDirectory) {
        self.queue = queue
        self.digest = digest
        files = Array(repeating: nil, count: size)
        isTaken = Array(repeating: false, count: size)
    }

    /// Takes a slot; false where other processes have all that this one has not.
    package func take() throws(SpoolError) -> Bool {
        for number in files.indices where !isTaken[number] {
            let path = QueuePath(in: Self.directory, "\(digest)-\(number)".utf8)
            let isFree = try queue.attempt("lock", path) { () throws(Errno) in
                if let file = files[number] { return try file.tryLock() }
                let file = try lockFile(path)
                files[number] = file
                return try file.tryLock()
            }
            guard isFree else { continue }
            isTaken[number] = true
            count += 1
            return true
        }
        return false
    }

    /// Gives slots back until this process has no more than `count`.
    package func giveBack(downTo count: Int) {
        for number in files.indices.reversed() where isTaken[number] && self.count > count {
            files[number]?.unlock()
            isTaken[number] = false
            self.count -= 1
        }
    }

    private func lockFile(_ path: QueuePath) throws(Errno) -> LockFile {
        do throws(Errno) {
            return try LockFile(path, queue)
        } catch let error where error == .missing {
            do throws(Errno) {
                try queue.system.makeDirectory(queue.root, Self.directory.bytes, 0o700)
            } catch let error where error == .exists {}
            return try LockFile(path, queue)
        }
    }
}
