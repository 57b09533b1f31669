package import Policy
package import Spool

/// The failed operations and files in quarantine that an operator's command has named, by their marks:
/// `state/seen.json`. They need no attention: `status` counts them, and says that all is well. The mark of a file is
/// its name and the time at which it came, because another file may come under the same name.
///
/// Losing the file makes them new again.
package struct SeenFiles: Hashable, Sendable {
    /// The most names that are kept, the latest. More are new again.
    package static let most = 50_000

    private(set) var names: [String] = []

    package init() {}

    mutating func add(_ new: [String]) {
        let added = Set(new)
        names = Array((names.filter { !added.contains($0) } + new).suffix(Self.most))
    }

    package static func read(from spool: SpoolDirectory) throws(SpoolError) -> SeenFiles {
        try StateFile.seen.read(SeenFiles.self, in: spool) ?? SeenFiles()
    }

    /// Returns the mark of a failed operation; `nil` if its file is gone. A later failure of the operation has another
    /// one, also under the same file name.
    package static func mark(of entry: Entry, in spool: SpoolDirectory) throws(SpoolError) -> String? {
        try spool.status(of: entry).map { "\(entry.name) \($0.changedAt.microseconds)" }
    }

    /// Returns the mark of a file in quarantine; `nil` if the file is gone.
    package static func mark(of item: QuarantineItem, in spool: SpoolDirectory) throws(SpoolError) -> String? {
        try spool.status(of: item).map { "\(item.fileName) \($0.changedAt.microseconds)" }
    }

    /// Notes that an operator has seen the files with these marks.
    package static func note(_ names: [String], in spool: SpoolDirectory) throws(SpoolError) {
        if !names.isEmpty { try StateFile.seen.update(SeenFiles(), in: spool) { $0.add(names) } }
    }
}

extension SeenFiles: StoredObject {
    package static let blank = SeenFiles()
    package static let fields: [StoredField<SeenFiles>] = [.version(1), .init("names", \.names, .required)]
}
