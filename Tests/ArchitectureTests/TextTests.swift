import Testing

/// The rooms that read foreign text: payloads, answers, secrets, templates and urls. Values are bytes there.
struct `Foreign text is bytes` {
    /// Folders and files from Sources/.
    private static let rooms = [
        "Policy/Requests/", "Policy/JSON/", "Policy/RawText.swift", "Policy/Answers/Redaction",
        "Policy/Answers/Escape.swift", "Policy/Answers/Base64.swift", "Configuration/", "Delivery/Credentials/",
        "Delivery/Surroundings/",
    ]
    private static let words: Set = [
        "Character", "Character(", ".hasPrefix(", ".hasSuffix(", ".replacing(", ".trimmingPrefix(", ".commonPrefix(",
    ]

    @Test func `no room that reads foreign text looks at characters`() {
        let files = House.sources.filter { file in Self.rooms.contains { file.path.hasPrefix("Sources/\($0)") } }
        #expect(files.count > 50)
        for line in files.flatMap({ $0.lines { !Self.words.isDisjoint(with: $0.words) } }) {
            Issue.record(
                "\(line)\na combining mark makes another character of what stands before it: compare bytes, begins(with:)"
            )
        }
    }

    @Test func `only a place that was given bytes makes a text of them that carries any`() {
        let places = [
            "DrainqCLI/CommandLine/OwnArguments.swift", "Delivery/OwnEnvironment.swift",
            "Delivery/Agents/Installation.swift", "Spool/FileSystem/FileContents.swift",
        ]
        for file in House.sources where !places.contains(where: { "Sources/\($0)" == file.path }) {
            for line in file.lines(where: { $0.code.contains("String(raw:") }) {
                Issue.record("\(line)\na text that carries bytes becomes a header, a url, a key or a secret")
            }
        }
    }
}
