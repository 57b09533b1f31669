import Policy
import Spool

/// The expiries that operations have of their own (`expiresAt`), read from their files: names lack them. A run reads
/// the file of an operation only while the operation is not attempted, and again only if the file is another one:
/// `import --replace` gives its name to a file with another expiry.
final class OwnExpiries {
    /// Upper bound on the files read by a listing. Of more operations, a listing reads a random part, so a later
    /// listing reads the others.
    static let mostRead = 10_000
    private static let mostKnown = 10 * mostRead
    private var known: [OperationID: Known] = [:]

    /// What a file said when it was read.
    private struct Known {
        let inode: UInt64
        let changedAt: Timestamp
        /// `nil` for an operation without an expiry.
        let expiry: Timestamp?
    }

    /// Returns `expiresAt` of an operation; `nil` if it has none, or has gone.
    func expiry(of entry: Entry, in spool: SpoolDirectory) throws(SpoolError) -> Timestamp? {
        // Before the read: a file that comes in between is read again next time.
        guard let file = try spool.status(of: entry) else { return nil }
        if let known = known[entry.name.id], (known.inode, known.changedAt) == (file.inode, file.changedAt) {
            return known.expiry
        }
        if known.count >= Self.mostKnown { known = [:] }
        let expiry = try spool.header(of: entry)?.expiresAt
        known[entry.name.id] = Known(inode: file.inode, changedAt: file.changedAt, expiry: expiry)
        return expiry
    }
}

/// A random part of the operations of one listing that are not attempted.
struct PassedOver {
    /// What a waiting operation counts as, unless it has expired.
    enum Count {
        case nothing
        /// It is due, and held behind a failed operation.
        case heldBehindFailed
        /// It waits for a time.
        case waiting(until: Timestamp)
        /// It is due, and its destination is blocked.
        case skipped(RunDestination)
    }

    /// An operation, with what its expiry needs.
    struct Element {
        let candidate: Candidate
        let kind: OperationKinds.Kind
        let count: Count
    }

    private(set) var elements: [Element] = []
    private var count: UInt64 = 0
    /// Differs from listing to listing.
    private let salt: UInt64

    init(at now: Timestamp) {
        salt = UInt64(bitPattern: now.microseconds)
    }

    /// Takes in an operation by the mark of its name: each has the same chance, however many there are. Returns what an
    /// operation without a place counts as.
    mutating func offer(
        _ mark: UInt64, _ own: Count, _ candidate: @autoclosure () -> Candidate, _ kind: OperationKinds.Kind
    )
        -> Count
    {
        count += 1
        if elements.count < OwnExpiries.mostRead {
            elements.append(Element(candidate: candidate(), kind: kind, count: own))
            return .nothing
        }
        let index = Int((((mark ^ salt) &* 0x9E37_79B9_7F4A_7C15) >> 16) % count)
        guard index < elements.count else { return own }
        defer { elements[index] = Element(candidate: candidate(), kind: kind, count: own) }
        return elements[index].count
    }
}

/// How long an operation that is not attempted may wait.
enum WaitBound {
    /// Until it expires, by its own time or by its route.
    case expiry
    /// Also until the age of its schedule is over: it waits for a kept value.
    case age
}

extension Listing {
    /// Whether an operation that is not attempted has waited too long, as far as the time of creation in its name says.
    func hasExpired(createdAt: Timestamp, _ kind: OperationKinds.Kind, _ bound: WaitBound, at now: Timestamp) -> Bool {
        guard let age = bound == .age ? kind.longestAge : kind.expiresAfter else { return false }
        return createdAt.isOfSetClock && createdAt + age <= now
    }
}
