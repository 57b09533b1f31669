import Foundation

/// A document that is made, as it is committed and as it would be made now.
struct MadeText {
    let committed: String
    let made: String

    /// Whether this run of the tests writes documents anew.
    static let isRecording = ProcessInfo.processInfo.environment["DRAINQ_RECORD"] == "1"

    /// The first line that differs, and the command that writes the document anew; `nil` if none does. A whole document in
    /// the words of a failed test would hide both.
    var difference: String? {
        let old = committed.split(separator: "\n", omittingEmptySubsequences: false)
        let new = made.split(separator: "\n", omittingEmptySubsequences: false)
        let lines = 0..<max(old.count, new.count)
        guard let place = lines.first(where: { old[at: $0] != new[at: $0] }) else { return nil }
        return """
            line \(place + 1) is committed as '\(old[at: place] ?? "")' and made as '\(new[at: place] ?? "")'; \
            DRAINQ_RECORD=1 swift test --filter 'DocumentTests|documents of the configuration' writes it anew, then \
            read git diff
            """
    }
}

extension Array {
    fileprivate subscript(at index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
