import Foundation
import Testing

/// A size of the program against its figure in Sizes.swift.
struct `The program grows only on purpose` {
    /// How far a size may be below its limit, as a part of the limit and in lines. Further below, the limit would permit
    /// growth that no commit explains.
    private static func slack(below limit: Int) -> Int { limit / 50 + 40 }

    /// Returns what is wrong with a size, `nil` if it is within its limit and near it.
    private static func objection(to lines: Int, limit: Int, of name: String) -> String? {
        let table = "in Tests/ArchitectureTests/Sizes.swift"
        if lines > limit {
            return """
                \(name) has \(lines) lines, and its limit is \(limit). Take lines away, or raise the limit \(table) and say \
                in the commit's body what the lines buy
                """
        }
        return lines + slack(below: limit) < limit
            ? "\(name) has only \(lines) lines, and its limit is \(limit). Lower the limit \(table)" : nil
    }

    /// The lines of each room, by its folder below Sources/.
    private static func linesOfRooms() throws -> [String: Int] {
        let code = [".swift", ".c", ".h"]
        return try House.committedFiles().reduce(into: [:]) { lines, path in
            let parts = path.split(separator: "/")
            guard parts.count > 2, parts[0] == "Sources", code.contains(where: path.hasSuffix) else { return }
            lines[String(parts[1]), default: 0] += House.text(path).utf8.count { $0 == UInt8(ascii: "\n") }
        }
    }

    @Test func `a room has no more lines than its limit`() throws {
        let rooms = try Self.linesOfRooms()
        #expect(Set(rooms.keys) == Set(Sizes.rooms.keys), "each room of Sources/ has a limit in Sizes.swift")
        for (room, limit) in Sizes.rooms {
            let objection = Self.objection(to: rooms[room, default: 0], limit: limit, of: "Sources/\(room)")
            #expect(objection == nil)
        }
    }

    @Test func `a page of the manual has no more lines than its limit`() throws {
        let pages = try House.committedFiles().filter { $0.hasPrefix("man/") }.map { String($0.dropFirst(4)) }
        #expect(Set(pages) == Set(Sizes.pages.keys), "each page of man/ has a limit in Sizes.swift")
        for (page, limit) in Sizes.pages {
            let lines = House.text("man/\(page)").utf8.count { $0 == UInt8(ascii: "\n") }
            let objection = Self.objection(to: lines, limit: limit, of: "man/\(page)")
            #expect(objection == nil)
        }
    }

    /// Counts the rows where the compiler or a test keeps them complete: DocumentTests compares the pages with the tables.
    private static let counted: [String: Int] = [
        "commands": lines(of: "Sources/DrainqCLI/Commands/CommandTable.swift") { $0.hasSuffix("Command.self,") },
        "names of options": lines(of: "Sources/DrainqCLI/CommandLine/OptionName.swift") { $0.hasPrefix("    case ") },
        "keys of the configuration": lines(of: "man/drainq-config.5", inMadeParts: true) { $0.hasPrefix(".It Ic ") },
        "fields of --json": lines(of: "man/drainq-json.5") { $0.hasPrefix(".It Li ") },
    ]

    /// Returns the number of lines of a file for which `isCounted` holds: in its made parts, or everywhere.
    private static func lines(of path: String, inMadeParts: Bool = false, where isCounted: (Substring) -> Bool) -> Int {
        var isInside = !inMadeParts
        return House.text(path).split(separator: "\n").count { line in
            if inMadeParts, line.hasPrefix(#".\" made: "#) { isInside = true }
            if inMadeParts, line.hasPrefix(#".\" end of "#) { isInside = false }
            return isInside && isCounted(line)
        }
    }

    @Test(arguments: Sizes.counts)
    func `the number of commands, options, keys and fields is the agreed one`(name: String, agreed: Int) throws {
        let count = try #require(Self.counted[name], "SizeTests counts each thing of the table")
        #expect(
            count == agreed,
            """
            There are \(count) \(name), and \(agreed) are agreed. Change the number in Tests/ArchitectureTests/Sizes.swift \
            and say in the commit's body what they buy
            """)
    }

    @Test(arguments: [(1_001, true), (1_000, false), (940, false), (939, true)])
    func `a size that is above its limit or far below it is found`(lines: Int, isFound: Bool) {
        #expect((Self.objection(to: lines, limit: 1_000, of: "a room") != nil) == isFound)
    }

    /// The list of sentences in the README names each property, and its text has their number.
    @Test func `the simulation's README has the number of its sentences`() throws {
        let readme = House.text("Tests/Simulation/README.md")
        let listed = readme.split(separator: "\n").count { $0.hasPrefix("- **") }
        let cases = Self.lines(of: "Tests/Simulation/Simulation/Model/Property.swift") { $0.hasPrefix("    case ") }
        let named = try #require(readme.firstMatch(of: /none of the (\d+) sentences/), "the section on rates has it")
        #expect(
            listed == cases && Int(named.1) == cases,
            "\(cases) properties, \(listed) in the list, \(named.1) in the text")
    }
}
