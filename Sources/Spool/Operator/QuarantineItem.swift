package import Policy

/// A file in `quarantine/`, with what its reason file says.
package struct QuarantineItem: Hashable, Sendable {
    static let reasonSuffix = ".reason"
    /// The most bytes of a reason file: the reading has the key, URL and headers of a header line.
    static let reasonLimit = 2 * OperationFile.headerLimit

    /// The file's name in `quarantine/`; control characters escaped.
    package var fileName: String
    /// Its name as an operation, or that of the operation that its bytes ask for; `nil` if neither is known.
    package var name: EntryName?
    package var at: Timestamp?
    /// `nil` if the reason was lost: a full disk, a crash.
    package var reason: String?
    /// Its name before, escaped.
    package var originalName: String?
    /// Its origin: `new`, `claimed`, `add`.
    package var source: String?
    /// How its bytes are read as an operation; `nil` if that is not known, or if it is a file with an operation's name.
    package var reading: Reading?

    /// Whether the file is an operation's. If not, its bytes ask for one.
    package var isOperation: Bool { name.map { !$0.isInput } ?? false }

    /// Whether `retry` can make an operation of the file: the bytes of a replacement, and bytes without a record of how
    /// they are read, are for another command.
    package var isReadable: Bool { isOperation || reading.map { $0.form != .replacement } ?? false }

    /// The id of the operation that it is, or that `retry` would make of it; `nil` if that is not known.
    package var id: OperationID? { name?.id ?? reading?.id }

    /// The type, if it is known without its content.
    package var type: TypeName? { name?.type ?? reading?.fixedType }

    var path: QueuePath { QueuePath("quarantine/\(fileName)") }
    var reasonPath: QueuePath { QueuePath("quarantine/\(fileName)\(Self.reasonSuffix)") }

    /// The content of the reason file.
    var reasonBytes: [UInt8] {
        var line = OrderedJSONLine()
        line.member("at", at?.rfc3339)
        line.member("reason", reason)
        line.member("originalName", originalName)
        line.member("source", source)
        if let reading { line.member("reading", raw: reading.json) }
        return line.ended()
    }

    /// Makes the item of a value that a command has put into quarantine.
    package static func refused(as fileName: String, reason: String) -> QuarantineItem {
        QuarantineItem(fileName: fileName, reason: reason)
    }

    mutating func readReason(_ bytes: [UInt8]) {
        var scanner = JSONScanner(bytes)
        guard let range = try? scanner.next(),
            let fields = try? OperationFields(bytes, in: range, file: fileName, line: 1)
        else { return }
        at = try? fields.time("at")
        reason = try? fields.string("reason")
        originalName = try? fields.string("originalName")
        source = try? fields.string("source")
        if let range = fields.range("reading") {
            // try?: a reading that cannot be read is not known.
            reading = (try? OperationFields(bytes, in: range, file: fileName, line: 1)).flatMap { Reading($0) }
        } else if source == "new" {
            // Earlier versions recorded no reading. A file that came from `new/` is another program's.
            reading = Reading(.foreign)
        }
    }
}
