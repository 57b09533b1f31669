import Testing

/// The folders of DrainqCLI depend on each other in a single direction.
struct `The folders of DrainqCLI` {
    /// The folders from the ground up: a folder uses the types of earlier folders. A new folder needs a place.
    static let floors = [
        "CommandLine", "Output", "Queue", "Input", "Reports", "Metrics", "Page", "Hooks", "Documents", "Commands",
    ]

    /// Returns the floor of a file. A file outside the folders is above all floors.
    static func floor(of file: SourceFile) -> Int? {
        let parts = file.path.split(separator: "/")
        return parts.count < 4 ? floors.count : floors.firstIndex(of: String(parts[2]))
    }

    static let files = House.sources.filter { $0.target == "DrainqCLI" }

    /// The floor of each type visible outside its file. A member has the floor of its type.
    static let types: [String: Int] = files.reduce(into: [:]) { types, file in
        let kinds: Set = ["struct", "class", "enum", "actor", "protocol", "typealias"]
        for line in file.lines where line.code.first != " " && line.words.first?.hasSuffix("private") == false {
            guard let kind = line.words.firstIndex(where: kinds.contains), kind + 1 < line.words.count else { continue }
            types[line.words[kind + 1]] = floor(of: file)
        }
    }

    @Test(arguments: files)
    func `a folder uses no types of folders above`(file: SourceFile) throws {
        let own = try #require(Self.floor(of: file), "a new folder needs a place in FolderTests.floors")
        let lines = file.lines { line in
            line.words.contains { Self.types[$0.hasSuffix("(") ? String($0.dropLast()) : $0] ?? 0 > own }
        }
        for line in lines { Issue.record("\(line)\nthis type stands on a floor above: move one of the two") }
    }

    /// The compiler does not report a command without a row, and the parser would not know the command.
    @Test func `every command has a row in the table of commands`() {
        let table = House.text("Sources/DrainqCLI/Commands/CommandTable.swift")
        let commands = Self.files.flatMap(\.lines).filter {
            $0.code.hasPrefix("struct ") && $0.code.hasSuffix(": Command {")
        }
        #expect(commands.count > 20)
        for command in commands.map({ $0.words[1] }) {
            #expect(table.contains(" \(command).self,"), "add \(command).self to CommandTable.swift")
        }
    }

    @Test func `the search for types finds them`() {
        #expect(Self.types["ParsedCommand"] == 0 && Self.types["OpenQueue"] == 2 && Self.types.count > 50)
    }
}
