/// A manual page that `drainq manual` prints, by its name.
enum ManualPage: String, CaseIterable, Sendable {
    case drainq
    case json = "drainq-json"
}
