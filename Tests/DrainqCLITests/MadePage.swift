import Foundation

/// A manual page with parts made from the tables of the program. Each part stands between `.\" made: NAME` and
/// `.\" end of NAME`; the remaining text is written by hand.
struct MadePage: Sendable {
    /// The name of the file in man/.
    let name: String
    let parts: [(name: String, text: String)]

    static let command = MadePage(name: "drainq.1", parts: ManualWriter.parts)
    static let configuration = MadePage(name: "drainq-config.5", parts: ConfigurationManual.parts)

    /// Returns the committed page.
    static func text(_ name: String) throws -> String {
        try String(
            contentsOf: URL(filePath: #filePath).appending(path: "../../../man/\(name)").standardized, encoding: .utf8)
    }

    /// Returns the names of the made parts, in the order of the page.
    func names() throws -> [String] {
        try Self.text(name).matches(of: /\.\\" made: (.*)\n/).map { String($0.1) }
    }

    /// Returns the page with each part made anew from the tables.
    func made() throws -> String {
        var page = try Self.text(name)
        for (name, text) in parts {
            guard let start = page.range(of: ".\\\" made: \(name)\n")?.upperBound,
                let end = page.range(of: ".\\\" end of \(name)\n", range: start..<page.endIndex)?.lowerBound
            else { continue }
            page.replaceSubrange(start..<end, with: text)
        }
        return page
    }
}
