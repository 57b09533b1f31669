import Policy
import Spool

/// The input of `add` and `send`, and the options that turn it into operations.
struct InputOptions {
    /// The files to read; `-` or an empty list is standard input.
    var files: [String] = []
    var type: Template?
    var key: Template?
    var url: String?
    var method: String?
    var headers: [HeaderField] = []
    /// The media type, which makes each file one body; `nil` if the input is JSON.
    var contentType: String?
    var expires: PointInTime?
    var id: OperationID?
    var isEnvelope = false
    var isEach = false
    var bodyFiles: [String] = []

    /// How the input is read. Times on the command line are relative to `now`, the start of the command.
    func reading(notBefore: Timestamp? = nil, at now: Timestamp) -> Reading {
        var reading = Reading(isEnvelope ? .envelope : contentType == nil ? .payload : .body)
        (reading.type, reading.key, reading.url, reading.method) = (type, key, url, method)
        (reading.headers, reading.contentType) = (headers, contentType)
        (reading.notBefore, reading.expiresAt) = (notBefore, expires?.timestamp(now: now))
        return reading
    }

    static let exclusive: [[OptionName]] = [
        [.envelope, .contentType], [.envelope, .id], [.envelope, .bodyFile], [.each, .contentType], [.each, .bodyFile],
    ]

    @OptionList<Self> static var options: [Option<Self>] {
        Option(
            .type, short: "t", .template(.type, "TYPE"), \.type, initial: TypeName.default.description,
            "the type, which chooses the route",
            """
            The type of the operations. It chooses their route. `{payload.NAME}` in it stands for a member of each \
            payload.
            """)
        Option(
            .key, .template(.key, "KEY"), \.key, "the sequence key, for order and coalescing",
            """
            Operations with the same key belong together if the route orders or coalesces them. `{payload.NAME}` in it \
            stands for a member of each payload.
            """)
        Option(.url, .url, \.url, "send to this URL instead of the route's", "The URL for these operations alone.")
        Option(
            .method, .method, \.method, "send with this method instead of the route's",
            "The HTTP method for these operations alone, such as `PUT`.")
        Option(
            .header, short: "H", .header, each: \.headers, "add a header field, 'Name: value'",
            """
            A header field for these operations alone, written `Name: value`; it replaces the route's of the same \
            name. Host and other fields that drainq writes itself are refused, see drainq-config(5).
            """)
        Option(
            .contentType, .mediaType, \.contentType, "take the input as one body of this media type",
            """
            Each file, or the whole of standard input, is the body of one operation, sent unchanged with this \
            media type.
            """)
        Option(
            .bodyFile, .file("PATH"), each: \.bodyFiles, "send this file as the body, streamed",
            """
            The file is the body of one operation and stays where it is. A run reads it when it sends the operation, \
            and refuses it if its content has changed since. The command reads it once, for its digest. It must be in one of the directories that \
            `bodyFiles` of the configuration names. The command then does not read standard input. Given more than \
            once, each file is an operation.
            """)
        Option(
            .expires, .time(.future), \.expires, "fail at this time if not delivered",
            "At this time the operations fail if they are not delivered.")
        Option(
            .id, .operationID, \.id, "the id, for a single operation",
            """
            The id instead of a random UUID. If the id is in the queue already, the command does not add or send the \
            operation, and reports it.
            """)
        Option(
            .each, \.isEach, "take the elements of each JSON array",
            """
            Takes each element of an array as a value, as if the elements stood on lines. Without this option an array \
            is one operation, and a message says so.
            """)
        Option(
            .envelope, \.isEnvelope, "each value is a whole operation with its fields",
            """
            Each value on the input is an object with the fields of an operation, such as `payload`, `type` and `key`, \
            and not only its payload. An option takes precedence over the field; the id is only in the value.
            """)
    }
}

/// The durability of operations when the command prints their ids.
enum Sync: String, CaseIterable {
    case full
    case none

    var isDurable: Bool { self == .full }
}

extension Option {
    static func atomic(_ place: any WritableKeyPath<Arguments, Bool> & Sendable) -> Option {
        Option(
            .atomic, place, "queue all operations or none",
            "Queues no operation if a line is bad or the queue lacks room for all of them.")
    }
}

extension Option where Arguments: Command {
    static func sync(_ place: any WritableKeyPath<Arguments, Sync> & Sendable) -> Option {
        Option(
            .sync, .choice, initial: place, "durability of operations whose ids are printed",
            """
            With `full` the command prints an id once its operation survives a power cut. With --sync=none the kernel \
            decides when it writes: this is faster, but a power cut may lose or empty the operations of the last seconds.
            """)
    }
}
