import CSystem
import Policy

/// What the processes that add to a queue tell each other, so that none has to list the queue for each batch.
///
/// `state/admissions` has one record. Its reader and its writer have the names lock, and the
/// writer replaces it before the files of its batch enter. So after a crash the record may count operations that are
/// not there, never the reverse. `state/removals` has a mark, which changes whenever operations have left the rows
/// counted by the limits in another way than by this record. Both are caches of a living process: a beginning process,
/// or a process that finds either missing, lists the queue. So neither is synced, and a queue without them has the same
/// format.
struct AdmissionRecord: Hashable {
    /// Differs after each batch.
    var generation: UInt64
    /// The operations that batches have brought in, less those they have removed to make room, and the bytes of both.
    var operations = 0
    var bytes = 0
    /// The latest time of creation given by a batch to an operation with an order; earlier times may be forgotten once
    /// nothing of a later time is in the queue.
    var latest = Timestamp(microseconds: 0)

    private static let path = QueuePath("state/admissions")
    private static let removals = QueuePath("state/removals")
    private static let width = 20

    /// Reads the record; `nil` if there is none that can be read.
    static func read(in queue: SpoolDirectory) throws(SpoolError) -> AdmissionRecord? {
        let numbers = try queue.readFile(path, limit: 256)?.split(separator: UInt8(ascii: "\n"))
            .map { Int64(String(decoding: $0, as: UTF8.self).filter { $0 != " " }) }
        guard let numbers, numbers.count == 4, let generation = numbers[0], let operations = numbers[1],
            let bytes = numbers[2], let latest = numbers[3]
        else { return nil }
        return AdmissionRecord(
            generation: UInt64(bitPattern: generation), operations: Int(operations), bytes: Int(bytes),
            latest: Timestamp(microseconds: latest))
    }

    /// Writes the record, not durably. The lines have a fixed width, because the file is overwritten in its place.
    func write(in queue: SpoolDirectory) throws(SpoolError) {
        let numbers = [Int64(bitPattern: generation), Int64(operations), Int64(bytes), latest.microseconds]
        try Self.overwrite(Self.path, numbers, in: queue)
    }

    /// Reads the mark of removals. Makes one if there is none. While a run is at work each call returns another mark:
    /// operations leave before the run's next sync, which changes the mark.
    static func removals(in queue: SpoolDirectory) throws(SpoolError) -> [UInt8] {
        if try !queue.names(in: QueueState.claimed.path).isEmpty {
            return text([Int64(bitPattern: queue.system.random())])
        }
        if let mark = try queue.readFile(removals, limit: 256), !mark.isEmpty { return mark }
        try overwrite(removals, [Int64(bitPattern: queue.system.random())], in: queue)
        return try queue.readFile(removals, limit: 256) ?? []
    }

    /// Changes the mark of removals. Does nothing in a queue in which no process keeps a count. An error leaves a count
    /// that is too high: its process may reject or evict an operation until the next removal.
    static func noteRemovals(in queue: SpoolDirectory) {
        // try?: see above.
        try? overwriteIfThere(removals, text([Int64(bitPattern: queue.system.random())]), in: queue)
    }

    /// Makes the record unreadable, after a batch without the lock: its configuration has neither limits nor an order,
    /// and another process's configuration may. Processes with such a configuration then count and list anew.
    static func invalidate(in queue: SpoolDirectory) {
        let blank = [UInt8](repeating: UInt8(ascii: " "), count: 4 * (width + 1))
        // try?: without a readable record the other processes count anew all the same.
        try? overwriteIfThere(path, blank, in: queue)
    }

    private static func text(_ numbers: [Int64]) -> [UInt8] {
        numbers.flatMap { number in
            let digits = Array(String(number).utf8)
            return Array(repeating: UInt8(ascii: " "), count: width - digits.count) + digits + [UInt8(ascii: "\n")]
        }
    }

    private static func overwrite(_ path: QueuePath, _ numbers: [Int64], in queue: SpoolDirectory) throws(SpoolError) {
        try queue.attempt("write", path) { () throws(Errno) in
            do throws(Errno) {
                try overwriteIfThere(path, text(numbers), in: queue)
            } catch let error where error == .missing {
                do throws(Errno) {
                    try queue.createFile(path, text(numbers), durable: false)
                } catch let error where error == .exists {}
            }
        }
    }

    private static func overwriteIfThere(
        _ path: QueuePath, _ bytes: [UInt8], in queue: SpoolDirectory
    ) throws(Errno) {
        try SpoolDirectory.withDescriptor(queue.system, queue.root, path, O_WRONLY | O_NOFOLLOW) {
            (descriptor) throws(Errno) in try queue.write(descriptor, bytes)
        }
    }
}
