import Drain

/// One line of `add --json` and `import --json`.
struct AddResult: JSONObject {
    var id: String?
    /// The state now, or that of the operation that has the id already.
    var state: String?
    var duplicate: Bool?
    /// Whether the operation replaced the one that had the id.
    var replaced: Bool?
    var error: String?
    /// The file that keeps the refused value.
    var path: String?
    var source: String?
    var line: Int?

    static let fields: [JSONField<AddResult>] = [
        .maybe("id", .text, "the operation, if it is in the queue", \.id),
        .maybe("state", .word(ShownState.allCases.map(\.rawValue)), "its state, unless it was added just now", \.state),
        .maybe(
            "duplicate", .flag, "true if the id was in the queue already; the command did not change it", \.duplicate),
        .maybe("replaced", .flag, "true if it replaced the operation of that id", \.replaced),
        .maybe("error", .text, "the reason why it was not added", \.error),
        .maybe("path", .text, "the file in the queue that keeps the refused value", \.path),
        .maybe("source", .text, "the input file", \.source),
        .maybe("line", .count, "the line of the input", \.line),
    ]
}
