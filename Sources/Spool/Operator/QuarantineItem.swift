package import Policy

/// A file in `quarantine/`, with what its reason file says.
package struct QuarantineItem: Hashable, Sendable {
    static let reasonSuffix = ".reason"

    /// The file's name in `quarantine/`; control characters escaped.
    package var fileName: String
    /// Its name as an operation; `nil` if it has none any more.
    package var name: EntryName?
    package var at: Timestamp?
    /// `nil` if the reason was lost: a full disk, a crash.
    package var reason: String?
    /// Its name before, escaped.
    package var originalName: String?
    /// Its origin: `new`, `claimed`, `add`.
    package var source: String?

    var path: QueuePath { QueuePath("quarantine/\(fileName)") }
    var reasonPath: QueuePath { QueuePath("quarantine/\(fileName)\(Self.reasonSuffix)") }

    /// The content of the reason file.
    var reasonBytes: [UInt8] {
        var line = OrderedJSONLine()
        line.member("at", at?.rfc3339)
        line.member("reason", reason)
        line.member("originalName", originalName)
        line.member("source", source)
        return line.ended()
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
    }
}
