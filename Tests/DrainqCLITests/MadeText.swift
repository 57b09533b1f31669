import Foundation

/// A made document: the committed text and the text made now.
struct MadeText {
    let committed: String
    let made: String

    /// Whether the tests write documents anew.
    static let isRecording = ProcessInfo.processInfo.environment["DRAINQ_RECORD"] == "1"

    /// The first differing line, and the command that writes the document anew; `nil` without a difference. A whole
    /// document in the message of a failed test would hide both.
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
