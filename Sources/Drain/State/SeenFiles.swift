package import Policy
package import Spool

/// The failed operations and files in quarantine that an operator's command has named, by their file names:
/// `state/seen.json`. They need no attention: `status` counts them, and says that all is well.
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

    mutating func remove(_ old: [String]) {
        let removed = Set(old)
        names.removeAll(where: removed.contains)
    }

    package static func read(from spool: SpoolDirectory) throws(SpoolError) -> SeenFiles {
        try StateFile.seen.read(SeenFiles.self, in: spool) ?? SeenFiles()
    }

    /// Notes that an operator has seen these files.
    package static func note(_ names: [String], in spool: SpoolDirectory) throws(SpoolError) {
        if !names.isEmpty { try StateFile.seen.update(SeenFiles(), in: spool) { $0.add(names) } }
    }

    /// Notes that these files leave their directory: what comes there later under such a name is new.
    package static func forget(_ names: [String], in spool: SpoolDirectory) throws(SpoolError) {
        if try read(from: spool).names.isEmpty { return }
        try StateFile.seen.update(SeenFiles(), in: spool) { $0.remove(names) }
    }
}

extension SeenFiles: StoredObject {
    package static let blank = SeenFiles()
    package static let fields: [StoredField<SeenFiles>] = [.version(1), .init("names", \.names, .required)]
}
