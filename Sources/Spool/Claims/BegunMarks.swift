import CSystem
import Policy

/// The marks of the claims for which a request has begun, in the lock file of a run's directory. After the death of the
/// process recovery counts an interruption of the marked claims, and of no others.
///
/// The file has records of `length` bytes, filled up with newlines. The first has the name of the directory and the
/// boot of the machine; each further record has the name of a claim, or nothing. Nothing is synced: the kernel keeps
/// the marks when the process dies, and after a power cut the boot differs, so a power cut never counts. A mark that
/// cannot be written is left out, and the interruption is not counted: an operation must not be held up by its count.
struct BegunMarks {
    private static let length = 256
    /// The most bytes that recovery reads.
    private static let limit = 64 << 20

    private var free: [Int] = []
    /// The number of records that have been used; 0 before the first mark.
    private var count = 0

    /// Marks a claim. Returns its record.
    mutating func mark(_ name: EntryName, in directory: LockedDirectory, _ system: SystemCalls) -> Int {
        if count == 0 {
            directory.write(Self.record("\(directory.name) \(system.boot())"), at: 0)
            count = 1
        }
        let record = free.popLast() ?? count
        count = max(count, record + 1)
        directory.write(Self.record(name.description), at: record * Self.length)
        return record
    }

    /// Forgets the mark of a claim whose file has left the directory. `isBack`: the file may be claimed again under its
    /// name.
    mutating func end(_ record: Int, isBack: Bool, in directory: LockedDirectory) {
        free.append(record)
        if isBack { directory.write(Self.record(""), at: record * Self.length) }
    }

    /// Returns the names of the claims for which a dead run of this boot, or of another host, had begun a request.
    static func read(of dead: LockedDirectory, _ queue: SpoolDirectory) throws(SpoolError) -> Set<String> {
        let bytes = try queue.readFile(dead.lockPath, limit: limit) ?? []
        let records = stride(from: 0, to: bytes.count, by: length).map { start in
            String(
                decoding: bytes[start..<min(start + length, bytes.count)].prefix { $0 != UInt8(ascii: "\n") },
                as: UTF8.self)
        }
        guard let head = records.first?.split(separator: " "), head.first.map(String.init) == dead.name else {
            return []
        }
        // The boots of another host are unknown here.
        let isOfThisBoot = head.dropFirst().first.map(String.init) ?? "" == queue.system.boot()
        guard isOfThisBoot || !dead.name.dropFirst(24).hasPrefix(queue.hostTag) else { return [] }
        return Set(records.dropFirst())
    }

    private static func record(_ text: String) -> [UInt8] {
        Array(text.utf8.prefix(length))
            + [UInt8](repeating: UInt8(ascii: "\n"), count: max(0, length - text.utf8.count))
    }
}
