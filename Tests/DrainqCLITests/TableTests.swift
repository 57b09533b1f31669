import Policy
import Testing

@testable import DrainqCLI

struct TableTests {
    @Test func `the reach of a global option names the commands with or without the option`() throws {
        for row in OptionDescription.table where row.group == .global {
            for command in CommandDescription.visible.map(\.name) {
                let isNamed = row.reach?.commands.contains(command) ?? false
                #expect(row.commands.contains(command) == (isNamed == (row.reach?.isOnly ?? false)))
            }
        }
        let json = try #require(OptionDescription.table.first { $0.name == .json }?.reach)
        #expect(!json.isOnly && json.commands.contains("pause") && !json.commands.contains("run"))
    }

    @Test func `run takes every global option`() {
        let all = OptionDescription.table.filter { $0.group == .global }
        #expect(Set(all).subtracting(RunCommand.description.options) == [])
    }

    @Test func `every command has a unique name, and every option has a command`() {
        #expect(Set(CommandDescription.table.map(\.name)).count == CommandDescription.table.count)
        let unused = Set(OptionName.allCases).subtracting(OptionDescription.table.map(\.name))
        #expect(
            unused.isEmpty, "these cases of OptionName have no Option: write one in Commands or CommandLine/Options")
    }

    @Test(arguments: CommandDescription.table)
    func `names and letters are unique within a command`(command: CommandDescription) {
        let rows = command.options
        #expect(Set(rows.map(\.name)).count == rows.count)
        let letters = rows.compactMap(\.short)
        #expect(Set(letters).count == letters.count)
    }

    @Test func `a letter means the same option everywhere`() {
        for row in OptionDescription.table {
            for other in OptionDescription.table where other.name == row.name { #expect(other.short == row.short) }
            for other in OptionDescription.table where other.short == row.short && row.short != nil {
                #expect(other.name == row.name)
            }
        }
    }

    @Test func `the section of the filters has each name once`() {
        let names = OptionDescription.table.filter { $0.group == .filter }.map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test func `an option belongs to a command, and to no command twice`() {
        for row in OptionDescription.table {
            #expect(!row.commands.isEmpty)
            #expect(Set(row.commands).count == row.commands.count)
        }
    }

    @Test func `summaries are short, begin in lower case and have no period`() {
        let summaries = CommandDescription.table.map(\.summary) + OptionDescription.table.map(\.summary)
        for summary in summaries {
            #expect((4...60).contains(summary.count), "\(summary)")
            #expect(summary.first?.isLowercase == true || summary.hasPrefix("JSON"), "\(summary)")
            #expect(summary.last != ".", "\(summary)")
            #expect(!summary.contains("'") || summary.contains("'s") || summary.contains("'Name"), "\(summary)")
        }
    }

    @Test func `details are sentences`() {
        for details in CommandDescription.table.map(\.details) + OptionDescription.table.map(\.details) {
            #expect(details.last == ".", "\(details)")
            #expect(!details.contains("  "), "\(details)")
            #expect(details.count(where: { $0 == "`" }).isMultiple(of: 2), "\(details)")
        }
    }

    @Test func `every option mentioned in prose exists in its command`() {
        for row in OptionDescription.table {
            for word in Prose(row.details).options {
                for command in row.commands {
                    #expect(
                        CommandDescription.named(command)?.options.contains { $0.name.rawValue == word } == true,
                        "--\(word) in \(row.name)")
                }
            }
        }
        for command in CommandDescription.table {
            for word in Prose(command.details).options {
                #expect(
                    command.options.contains { $0.name.rawValue == word },
                    "--\(word) in \(command.name)")
            }
        }
    }

    @Test(arguments: CommandDescription.table.flatMap(\.examples).map(\.line))
    func `every example parses`(line: String) throws {
        let calls = callsOfDrainq(in: line)
        #expect(!calls.isEmpty)
        for arguments in calls { _ = try ParsedCommand(arguments: arguments) }
    }

    @Test func `each example calls its command, and every command except version has examples`() {
        for command in CommandDescription.visible {
            for example in command.examples {
                #expect(
                    callsOfDrainq(in: example.line).contains { $0.first == command.name }, "\(example.line)")
                #expect(example.explanation.last != ".")
            }
            #expect(!command.examples.isEmpty || command.name == VersionCommand.name)
        }
    }

    @Test(arguments: CommandDescription.table)
    func `initial values parse as values`(command: CommandDescription) throws {
        for row in command.options {
            guard let initial = row.initial else { continue }
            let given = GivenOption(name: row.name, spelling: row.name.spelling, text: RawText(initial))
            _ = try command.read([given], [])
        }
    }

    @Test func `options that exclude each other belong to the command`() {
        for command in CommandDescription.table {
            for name in command.exclusive.joined() {
                #expect(command.options.contains { $0.name == name })
            }
        }
    }

    @Test(arguments: [AgentCommand.description, CompleteCommand.description])
    func `commands for programs are in no document and are never suggested`(command: CommandDescription) throws {
        #expect(!CommandDescription.visible.contains { $0.name == command.name })
        #expect(command.options.isEmpty)
        #expect(try !MadePage.text("drainq.1").contains(".Ss \(command.name)"))
    }
}

extension Prose {
    /// The options in the text, without their dashes.
    var options: [String] {
        paragraphs.joined().compactMap { if case .option(_, let name, _, _) = $0 { name } else { nil } }
    }
}
