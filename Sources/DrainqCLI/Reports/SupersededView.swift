import Policy

/// An operation that a run has removed, because a newer one of its key replaces it, in `run --json`.
struct SupersededView: JSONObject {
    let name: EntryName
    let newer: OperationID
    let destination: String

    static let fields: [JSONField<SupersededView>] = [
        .event("superseded"),
        .field("id", .text, "the operation", \.name.id.description),
        .field("type", .text, "its type", \.name.type.description),
        .field("destination", .text, "the destination of its request", \.destination),
        .field("by", .text, "the id of the newer one", \.newer.description),
    ]
}
