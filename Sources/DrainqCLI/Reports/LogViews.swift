import Drain
import Policy
import Spool

/// A destination that is held from now on.
struct HeldView: Encodable {
    var event = "held"
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
    var destination: String
}

struct SupersededView: Encodable {
    var event = "superseded"
    var id: String
    var type: String
    var destination: String
    /// The id of the newer operation.
    var by: String

    init(_ name: EntryName, by newer: OperationID, _ destination: String) {
        id = name.id.description
        type = name.type.description
        self.destination = destination
        by = newer.description
    }
}

/// An operation that a dead run had claimed, and that waits again.
struct RecoveredView: Encodable {
    var event = "recovered"
    var id: String
    var type: String
    var interruptions: Int

    init(_ entry: Entry) {
        id = entry.name.id.description
        type = entry.name.type.description
        interruptions = entry.name.interruptions
    }
}
