package import Policy
package import Spool

/// An operation as it was saved outside the queue: its name, and what its file had.
package struct SavedOperation: Hashable, Sendable {
    package let entry: Entry
    package let fingerprint: Fingerprint

    package init(entry: Entry, fingerprint: Fingerprint) { (self.entry, self.fingerprint) = (entry, fingerprint) }
}

/// The work of one export: chooses operations and reads them. Keeps one operation in memory at a time, and names only
/// while their directory is read, or to drop the operations in the end.
package struct OperationExport {
    /// An event of an export, for the caller to write or report.
    package enum Event {
        /// The line of an operation.
        case line([UInt8])
        /// No operation and no file has this name.
        case missing(NamedTarget)
        /// The target is in quarantine, and not an operation.
        case quarantined(NamedTarget)
        /// The target is in flight, and does not leave the queue.
        case claimed(NamedTarget)
        /// The file is no operation that an export could have.
        case unusable(Entry, OperationFileError)
    }

    private let spool: SpoolDirectory
    /// Whether the exported operations leave the queue: then the export leaves out operations in flight.
    private let isMoving: Bool
    private let report: (Event) throws(SpoolError) -> Void
    /// The exported operations, if they are to be dropped.
    package private(set) var saved: [SavedOperation] = []
    /// The marks of failed operations (`SeenFiles`), which an operator has seen now.
    package private(set) var seen: [String] = []
    /// The exported operations that were in flight.
    package private(set) var claimed = 0
    package private(set) var bodyFiles = 0
    /// The numbers of exported operations, by type.
    package private(set) var types: [TypeName: Int] = [:]
    /// The files in `new/` that no run has read yet.
    package private(set) var foreign = 0

    package init(from spool: SpoolDirectory, isMoving: Bool, report: @escaping (Event) throws(SpoolError) -> Void) {
        (self.spool, self.isMoving, self.report) = (spool, isMoving, report)
    }

    /// Exports the operations that pass the filter, oldest first: a queue whose clock is behind gives them new times in
    /// the order of their lines.
    package mutating func perform(_ filter: OperationFilter, _ known: KnownDestinations) throws(SpoolError) {
        let entries: [Entry]
        (entries, foreign) = try spool.listed(by: filter, known)
        var moved: [OperationID] = []
        for entry in entries.oldestFirst where try !write(entry, filter) { moved.append(entry.name.id) }
        // Runs have claimed these operations, or put them back, since the listing.
        for case .operation(let entry) in try spool.found(moved.map { .id($0) }).values.joined()
        where filter.includes(entry, known) {
            _ = try write(entry, filter)
        }
    }

    /// Exports the named operations.
    package mutating func perform(_ targets: [NamedTarget]) throws(SpoolError) {
        let found = try spool.found(targets)
        for target in targets {
            if found[target] == nil { try report(.missing(target)) }
            for one in found[target] ?? [] {
                switch one {
                case .operation(let entry): try write(entry, named: target)
                case .quarantined: try report(.quarantined(target))
                }
            }
        }
    }

    private mutating func write(_ entry: Entry, named target: NamedTarget) throws(SpoolError) {
        var place = entry
        // A run has claimed the operation, or another command has moved it, since the listing.
        for _ in 0..<2 {
            if try write(place, nil) { return }
            let found = try spool.withNamesLock { () throws(SpoolError) in try spool.find([entry.name.id]) }
            guard let other = found[entry.name.id] else { break }
            place = other
        }
        try report(.missing(target))
    }

    /// Writes the operation if it passes the filter; one in flight does not leave the queue. Returns false if its file
    /// is gone.
    private mutating func write(_ entry: Entry, _ filter: OperationFilter?) throws(SpoolError) -> Bool {
        guard let result = try spool.portable(entry) else { return false }
        let (operation, line): (PortableOperation, [UInt8])
        do throws(OperationFileError) {
            operation = try result.get()
            if let filter, filter.needsContent, !filter.includes(operation.attempts) { return true }
            line = try operation.line()
        } catch {
            try report(.unusable(entry, error))
            return true
        }
        if isMoving, entry.isInFlight {
            try report(.claimed(.id(entry.name.id)))
            return true
        }
        if entry.isInFlight { claimed += 1 }
        if operation.header.bodyFile != nil { bodyFiles += 1 }
        types[entry.name.type, default: 0] += 1
        try report(.line(line))
        if entry.hasFailed, seen.count < SeenFiles.most, let mark = try SeenFiles.mark(of: entry, in: spool) {
            seen.append(mark)
        }
        if isMoving { saved.append(SavedOperation(entry: entry, fingerprint: operation.fingerprint)) }
        return true
    }
}
