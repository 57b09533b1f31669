import Policy

/// The reason why the bytes of a file are no operation.
package struct OperationFileError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        case malformed
        /// The file ends before its end.
        case truncated
        /// A newer drainq wrote the file: nothing is wrong with it.
        case newerFormat(Int)
    }

    package var kind: Kind
    /// The file's name, as the caller gave it.
    package var file: String
    /// The line, counted from 1.
    package var line: Int
    package var field: String?
    package var reason: String

    package init(kind: Kind = .malformed, file: String, line: Int, field: String? = nil, reason: String) {
        self.kind = kind
        self.file = file
        self.line = line
        self.field = field
        self.reason = reason
    }

    /// `new/x.json:1: field 'id': expected a string`
    package var description: String {
        "\(file):\(line): " + detail
    }

    /// The description without the file and the line.
    package var detail: String {
        if let field { return "field '\(QueuePath.escaped(Array(field.utf8)))': \(reason)" }
        return reason
    }
}
