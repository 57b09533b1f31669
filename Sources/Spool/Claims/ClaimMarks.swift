import CSystem
import Policy
import Synchronization

/// The marks of a run's files in the lock file of its directory. A mark says that a request with the operation has
/// begun, that the operation was delivered, or that it is in row X and nobody has been told of it. If the process dies,
/// recovery counts an interruption of a begun operation, finishes the delivery of a delivered one, and tells of a
/// delivered or failed one.
///
/// The file has records of `length` bytes, filled up with newlines. The first has the name of the directory and the
/// boot of the machine; each further record has the name of a claim, after a `+` if the operation was delivered, after
/// a `=` if its copy is to be kept, after a `!` if it has failed, after a `*` if the failure counts towards a storm,
/// after a `-` if its failure is withheld, or nothing.
/// Nothing is synced: the kernel keeps the marks when the process dies, and marks count only within one boot of one
/// kernel, whatever the host's name.
/// A begun mark that cannot be written is left out, and the interruption is not counted: an operation must not be held
/// up by its count.
struct ClaimMarks {
    /// What a mark says of a claim.
    enum Meaning: Hashable {
        case begun
        /// Delivered. `keep`: the file is moved to `delivered/`.
        case delivered(keep: Bool)
        /// On its way to row X, or there, and the ledgers may not know of it yet; or refused to `send`, whose submitter
        /// does not know of it yet. `isOfStorm`: the failure counts towards a storm of its destination.
        case failed(isOfStorm: Bool)
        /// As failed in a storm, until its run knows more.
        case withheld

        /// Whether recovery has to tell of the failure.
        var isFailure: Bool {
            switch self {
            case .failed, .withheld: true
            case .begun, .delivered: false
            }
        }

        static let prefixed: [Meaning] = [
            .delivered(keep: false), .delivered(keep: true), .failed(isOfStorm: false), .failed(isOfStorm: true),
            .withheld,
        ]

        fileprivate var prefix: String {
            switch self {
            case .begun: ""
            case .delivered(keep: false): "+"
            case .delivered(keep: true): "="
            case .failed(isOfStorm: false): "!"
            case .failed(isOfStorm: true): "*"
            case .withheld: "-"
            }
        }
    }

    private static let length = 256
    private static let blank = [UInt8](repeating: UInt8(ascii: "\n"), count: length)
    /// The most bytes that recovery reads.
    private static let limit = 64 << 20
    /// The most marks that wait for a report at a time: recovery reads them all.
    static let mostUntold = limit / length / 2

    /// The mark of a claim: what it says, and its record.
    struct Mark {
        let meaning: Meaning
        fileprivate let record: Int
    }

    /// The bytes of the last record written.
    private var record: [UInt8] = []
    private var free: [Int] = []
    /// The number of records that have been used, with the first.
    private var count = 1
    /// Whether the first record is written. Without it no mark counts.
    private(set) var hasBegun = false

    init() {}

    /// Goes on behind the marks that a dead run has left in the directory.
    init(after inherited: [String: Mark]) {
        count = (inherited.values.map(\.record).max() ?? 0) + 1
        hasBegun = true
    }

    /// Writes the first record, before the first claim: its boot tells that claims without a mark have had no request.
    /// Returns false if the system refuses: the next mark tries again.
    @discardableResult
    mutating func begin(in directory: LockedDirectory, _ queue: SpoolDirectory) -> Bool {
        if !hasBegun { hasBegun = write("", "\(directory.name) \(queue.system.boot())", to: 0, in: directory) }
        return hasBegun
    }

    /// Marks a claim, or changes its mark. Returns false if the system refuses.
    @discardableResult
    mutating func mark(
        _ claim: Claim, _ meaning: Meaning, in directory: LockedDirectory, _ queue: SpoolDirectory
    ) -> Bool {
        let record = claim.mark?.record ?? free.popLast() ?? count
        count = max(count, record + 1)
        claim.place.withLock { $0.mark = Mark(meaning: meaning, record: record) }
        return begin(in: directory, queue) && write(meaning.prefix, claim.fileName, to: record, in: directory)
    }

    /// Ends the mark of a claim whose file has left the directory. `isBack`: the file may be claimed again under its
    /// name. An operation that was delivered may come again under its name, too: by an import.
    mutating func end(_ claim: Claim, isBack: Bool, in directory: LockedDirectory) {
        guard let mark = claim.mark else { return }
        claim.place.withLock { $0.mark = nil }
        free.append(mark.record)
        if isBack || mark.meaning != .begun { write("", "", to: mark.record, in: directory) }
    }

    /// Ends marks of a dead run: what they say has been done.
    static func end(_ marks: some Sequence<Mark>, in dead: LockedDirectory) {
        for mark in marks { dead.write(blank, at: mark.record * length) }
    }

    /// Returns the marks of a run by the names of the claims; `nil` if they are not of this boot.
    static func read(
        of run: String, _ lock: QueuePath, _ queue: SpoolDirectory
    ) throws(SpoolError) -> [String: Mark]? {
        let bytes = try queue.readFile(lock, limit: limit) ?? []
        let records = stride(from: 0, to: bytes.count, by: length).map { start in
            String(
                decoding: bytes[start..<min(start + length, bytes.count)].prefix { $0 != UInt8(ascii: "\n") },
                as: UTF8.self)
        }
        guard records.first == "\(run) \(queue.system.boot())" else { return nil }
        var marks: [String: Mark] = [:]
        for (number, record) in records.enumerated().dropFirst() where !record.isEmpty {
            if let meaning = Meaning.prefixed.first(where: { record.hasPrefix($0.prefix) }) {
                marks[String(record.dropFirst())] = Mark(meaning: meaning, record: number)
            } else if marks[record] == nil {
                marks[record] = Mark(meaning: .begun, record: number)
            }
        }
        return marks
    }

    /// Writes a record, of two texts. Returns false if the system refuses.
    @discardableResult
    private mutating func write(
        _ prefix: String, _ text: String, to number: Int, in directory: LockedDirectory
    ) -> Bool {
        record.removeAll(keepingCapacity: true)
        record += prefix.utf8
        record += text.utf8
        record += Self.blank[min(record.count, Self.length)...]
        record.removeLast(record.count - Self.length)
        return directory.write(record, at: number * Self.length)
    }
}
