import Testing

/// The keys of the configuration against the tests: a key that no test names beside those of the parser may do nothing.
struct `Each key of the configuration has a test of its effect` {
    /// Keys whose effect a test sees without their name.
    private static let shownOtherwise = [
        "$schema": "an editor reads it", "oauth2.assertion.keyId": "OAuth2Tests compares the head of the assertion",
    ]

    /// Whether a text has a key with a value, as JSON5, as a property or as an argument.
    private static func names(_ key: String, _ text: String) -> Bool {
        text.ranges(of: key).contains { range in
            let rest = text[range.upperBound...].drop { $0 == "\"" || $0 == "'" || $0 == " " }
            let isWhole = text[..<range.lowerBound].last.map { !$0.isLetter && !$0.isNumber } ?? true
            return isWhole && (rest.first == ":" || rest.first == "=")
        }
    }

    @Test func `each key stands in a test of another room than the configuration's`() throws {
        let keys = House.text("man/drainq-config.5").split(separator: "\n").filter { $0.hasPrefix(".It Ic ") }
            .compactMap { $0.split(separator: " ").dropFirst(2).first.map(String.init) }
        #expect(keys.count > 100)
        let tests = try House.committedFiles().filter { path in
            path.hasPrefix("Tests/") && !path.hasPrefix("Tests/ConfigurationTests/")
                && !path.hasPrefix("Tests/ArchitectureTests/") && !path.hasPrefix("Tests/Benchmarks/")
                && [".swift", ".sh", ".py"].contains(where: path.hasSuffix)
        }.map(House.text)
        let unnamed = Set(keys).filter { key in
            let last = String(key.split(separator: ".").last!)
            return !tests.contains { Self.names(last, $0) }
        }
        #expect(unnamed.sorted() == Self.shownOtherwise.keys.sorted(), "a key needs a test that shows its effect")
    }
}
