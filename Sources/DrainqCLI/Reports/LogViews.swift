import Drain
import Policy
import Spool

/// A line of the log: the object of an event, with when and how much it matters besides.
struct LogLine<Event: Encodable>: Encodable {
    var time: Timestamp
    var level: Messages.Level
    var event: Event

    private enum CodingKeys: String, CodingKey {
        case time
        case level
    }

    func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(time.rfc3339, forKey: .time)
        try fields.encode("\(level)", forKey: .level)
        try event.encode(to: encoder)
    }
}

/// What was said in words.
struct MessageView: Encodable {
    var event = "message"
    var schema = 1
    var message: String
    var hint: String?
}

/// A destination is held from now on.
struct HeldView: Encodable {
    var event = "held"
    var schema = 1
    var destination: String
    var status: Int?
    var error: String?
    var rule: String
    var excerpt: String?

    init(_ destination: String, _ record: AttemptRecord) {
        self.destination = destination
        status = record.status
        error = record.error
        rule = record.rule
        excerpt = record.excerpt
    }
}

struct ReleasedView: Encodable {
    var event = "released"
    var schema = 1
    var destination: String
}

struct SupersededView: Encodable {
    var event = "superseded"
    var schema = 1
    var id: String
    var type: String
    var destination: String
    /// The id of the newer one.
    var by: String

    init(_ name: EntryName, by newer: OperationID, _ destination: String) {
        id = name.id.description
        type = name.type.description
        self.destination = destination
        by = newer.description
    }
}

/// An operation that a run which died had claimed, and that waits again.
struct RecoveredView: Encodable {
    var event = "recovered"
    var schema = 1
    var id: String
    var type: String
    var interruptions: Int

    init(_ entry: Entry) {
        id = entry.name.id.description
        type = entry.name.type.description
        interruptions = entry.name.interruptions
    }
}
