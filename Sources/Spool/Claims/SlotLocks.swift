import CSystem
package import Policy

/// The slots of a destination: a lock file, `state/slots/DIGEST-NUMBER`, for each attempt that may be in flight from
/// all processes of the queue together. Only taken slots have an open file.
///
/// A slot is free again when its process ends, however it ends. The files stay. If locks reach only this host
/// (`FileSystem.lockReach`), each host has slots of its own.
package final class SlotLocks {
    static let directory = QueuePath("state/slots")
    /// The most slots tried by one `acquire`. If there are more slots, usually a tried slot is free, or all slots are
    /// taken.
    private static let mostTried = 32

    private let queue: SpoolDirectory
    private let digest: Digest
    private let size: Int
    /// The locked files of this process's slots, by number.
    private var taken: [Int: LockFile] = [:]

    /// Makes `size` slots for the destination with this digest.
    package init(of digest: Digest, size: Int, in queue: SpoolDirectory) {
        self.queue = queue
        self.digest = digest
        self.size = size
    }

    /// The number of slots that this process has.
    package var count: Int { taken.count }

    /// Acquires a slot. Returns false if other processes have every tried slot.
    package func acquire() throws(SpoolError) -> Bool {
        var generator = queue.system.generator
        let first = Int.random(in: 0..<size, using: &generator)
        let numbers = (first..<first + size).lazy.map { $0 % self.size }
        for number in numbers.filter({ self.taken[$0] == nil }).prefix(Self.mostTried) {
            let path = QueuePath(in: Self.directory, "\(digest)-\(number)".utf8)
            let file = try queue.attempt("lock", path) { () throws(Errno) -> LockFile? in
                let file = try LockFile.inDirectory(path, queue)
                return try file.tryLock() ? file : nil
            }
            guard let file else { continue }
            taken[number] = file
            return true
        }
        return false
    }

    /// Gives slots back until this process has no more than `count`.
    package func giveBack(downTo count: Int) {
        while taken.count > max(count, 0), let (_, file) = taken.popFirst() { file.release() }
    }
}
