import Testing

/// The rooms that read foreign text: payloads, answers, secrets, templates, urls, input, arguments. Values are bytes
/// there.
struct `Foreign text is bytes` {
    /// Folders of Sources/.
    private static let rooms = [
        "Policy/", "Configuration/", "Delivery/", "DrainqCLI/Input/", "DrainqCLI/CommandLine/", "DrainqCLI/Metrics/",
        "DrainqCLI/Reports/BodyExcerpt",
    ]
    private static let words: Set = [
        "Character", "Character(", ".hasPrefix(", ".hasSuffix(", ".replacing(", ".trimmingPrefix(", ".commonPrefix(",
    ]
    /// Files that convert digits to letters.
    private static let exceptions = ["Policy/Destinations/CredentialFingerprint.swift"]

    /// Whether a line takes a text apart by its characters. A quoted text is `""` in the code of a line; bytes are
    /// compared with `UInt8(ascii: "")`.
    private static func looksAtCharacters(_ line: SourceFile.Line) -> Bool {
        !words.isDisjoint(with: line.words)
            || line.has("\"\"")
                && line.code.contains(
                    #/split\(separator: ""[,)]|(split|prefix|drop|first|last)( |\(where: |\(while: )\{ \$0 [!=]= ""/#)
            || line.has("Index(of: \"\"") && line.code.contains(#/\.(firstIndex|lastIndex)\(of: ""/#)
    }

    @Test func `code for foreign text does not look at characters`() {
        let files = House.sources.filter { file in
            Self.rooms.contains { file.path.hasPrefix("Sources/\($0)") }
                && !Self.exceptions.contains { file.path == "Sources/\($0)" }
        }
        #expect(files.count > 200)
        for line in files.flatMap({ $0.lines(where: Self.looksAtCharacters) }) {
            Issue.record(
                "\(line)\na combining mark makes another character of what stands before it: pieces(at:), upTo, begins(with:)"
            )
        }
    }

    @Test(arguments: [
        (#"text.split(separator: ",")"#, true), ("text.utf8.split(separator: UInt8(ascii: \",\"))", false),
        (#"text.prefix { $0 != "?" }"#, true), (#"text.first(where: { $0 == "?" })"#, true),
        (#"text.utf8.prefix { $0 != UInt8(ascii: "?") }"#, false), (#"text.hasPrefix("x")"#, true),
        (#"text.firstIndex(of: ":")"#, true), ("text.utf8.firstIndex(of: 58)", false),
    ])
    func `the search for characters finds only characters`(code: String, isFound: Bool) {
        #expect(Self.looksAtCharacters(SourceFile(path: "Sources/Policy/X.swift", text: code).lines[0]) == isFound)
    }

    @Test func `only the allowed files make a text of raw bytes`() {
        let places = [
            "Policy/RawText.swift", "Delivery/OwnEnvironment.swift", "Delivery/Agents/Installation.swift",
            "Spool/FileSystem/FileContents.swift",
        ]
        for file in House.sources where !places.contains(where: { "Sources/\($0)" == file.path }) {
            for line in file.lines(where: { $0.has("String(raw:") }) {
                Issue.record("\(line)\na text that carries bytes becomes a header, a url, a key or a secret")
            }
        }
    }
}
