import CSystem
import Policy

/// The marks of claims in the lock file of a run's directory. A mark says that a request with the claim's operation has
/// begun, or that the operation was delivered. If the process dies, recovery counts an interruption of a begun
/// operation, and removes the file of a delivered one.
///
/// The file has records of `length` bytes, filled up with newlines. The first has the name of the directory and the
/// boot of the machine; each further record has the name of a claim, after a `+` if the operation was delivered, or
/// nothing. Nothing is synced: the kernel keeps the marks when the process dies, and after a power cut the boot
/// differs, so no mark counts. A begun mark that cannot be written is left out, and the interruption is not counted: an
/// operation must not be held up by its count.
struct ClaimMarks {
    /// What a mark says of a claim.
    enum Meaning {
        case begun
        case delivered
    }

    /// The mark of a claim.
    struct Mark {
        fileprivate let record: Int
        fileprivate var meaning: Meaning
    }

    private static let length = 256
    private static let delivered = "+"
    /// The most bytes that recovery reads.
    private static let limit = 64 << 20

    private var free: [Int] = []
    /// The number of records that have been used; 0 before the first mark.
    private var count = 0

    /// Marks a claim.
    mutating func mark(
        _ name: EntryName, _ meaning: Meaning, in directory: LockedDirectory, _ system: SystemCalls
    ) -> Mark {
        if count == 0 {
            directory.write(Self.record("\(directory.name) \(system.boot())"), at: 0)
            count = 1
        }
        let mark = Mark(record: free.popLast() ?? count, meaning: meaning)
        count = max(count, mark.record + 1)
        directory.write(Self.record(Self.text(name, meaning)), at: mark.record * Self.length)
        return mark
    }

    /// Marks a begun claim as delivered. Returns false if the system refuses.
    static func deliver(_ mark: inout Mark, _ name: EntryName, in directory: LockedDirectory) -> Bool {
        guard directory.write(record(text(name, .delivered)), at: mark.record * length) else { return false }
        mark.meaning = .delivered
        return true
    }

    /// Ends the mark of a claim whose file has left the directory. `isBack`: the file may be claimed again under its
    /// name. An operation that was delivered may come again under its name, too: by an import.
    mutating func end(_ mark: Mark, isBack: Bool, in directory: LockedDirectory) {
        free.append(mark.record)
        if isBack || mark.meaning == .delivered { directory.write(Self.record(""), at: mark.record * Self.length) }
    }

    /// Returns what the marks of a dead run of this boot, or of another host, say, by the names of the claims.
    static func read(of dead: LockedDirectory, _ queue: SpoolDirectory) throws(SpoolError) -> [String: Meaning] {
        let bytes = try queue.readFile(dead.lockPath, limit: limit) ?? []
        let records = stride(from: 0, to: bytes.count, by: length).map { start in
            String(
                decoding: bytes[start..<min(start + length, bytes.count)].prefix { $0 != UInt8(ascii: "\n") },
                as: UTF8.self)
        }
        guard let head = records.first?.split(separator: " "), head.first.map(String.init) == dead.name else {
            return [:]
        }
        // The boots of another host are unknown here.
        let isOfThisBoot = head.dropFirst().first.map(String.init) ?? "" == queue.system.boot()
        guard isOfThisBoot || !dead.name.dropFirst(24).hasPrefix(queue.hostTag) else { return [:] }
        var meanings: [String: Meaning] = [:]
        for record in records.dropFirst() {
            if record.hasPrefix(delivered) {
                meanings[String(record.dropFirst())] = .delivered
            } else if meanings[record] == nil {
                meanings[record] = .begun
            }
        }
        return meanings
    }

    private static func text(_ name: EntryName, _ meaning: Meaning) -> String {
        switch meaning {
        case .begun: name.description
        case .delivered: delivered + name.description
        }
    }

    private static func record(_ text: String) -> [UInt8] {
        Array(text.utf8.prefix(length))
            + [UInt8](repeating: UInt8(ascii: "\n"), count: max(0, length - text.utf8.count))
    }
}
