import Drain
import Policy

/// One line of `retry --json`, `drop --json`, `hold --json` and `release --json`.
struct ActionResult: JSONObject {
    var id: OperationID?
    var state: String?
    var path: String?
    var due: Timestamp?
    var destination: String?

    static let fields: [JSONField<ActionResult>] = [
        .maybe("id", .text, "the operation", \.id?.description),
        .maybe("state", .word(ShownState.allCases.map(\.rawValue)), "its state before", \.state),
        .maybe("path", .text, "the file, if it is in quarantine", \.path),
        .maybe("due", .time, "the time before which a run does not send it, with --rate", \.due),
        .maybe("destination", .text, "the destination that was held or released", \.destination),
    ]
}
