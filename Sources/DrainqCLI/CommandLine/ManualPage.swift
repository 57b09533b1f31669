import CManual

/// A manual page that `drainq manual` prints, by its name. The program has all pages of man/.
enum ManualPage: String, CaseIterable, Sendable {
    case drainq
    case apps = "drainq-apps"
    case config = "drainq-config"
    case json = "drainq-json"
    case queue = "drainq-queue"
    case setup = "drainq-setup"
    case sizing = "drainq-sizing"

    /// The page in mdoc(7).
    var text: String { String(cString: cmanual_text(rawValue)) }
}
