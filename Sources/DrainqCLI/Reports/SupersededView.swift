import Policy

/// An operation that a run has removed, because a newer one of its key replaces it, in `run --json`.
struct SupersededView: JSONObject {
    var id: String
    var type: String
    var destination: String
    var by: String

    static let fields: [JSONField<SupersededView>] = [
        .event("superseded"),
        .field("id", .text, "the operation", \.id),
        .field("type", .text, "its type", \.type),
        .field("destination", .text, "the destination of its request", \.destination),
        .field("by", .text, "the id of the newer one", \.by),
    ]

    init(_ name: EntryName, by newer: OperationID, _ destination: String) {
        id = name.id.description
        type = name.type.description
        self.destination = destination
        by = newer.description
    }
}
