import Configuration
import Foundation
import Testing

@testable import DrainqCLI

/// The example configurations in `etc/drainq/examples/`.
struct ExampleFileTests {
    static let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../etc/drainq/examples"
    )
    .standardized
    static let names =
        (try? FileManager.default.contentsOfDirectory(atPath: directory.path))?
        .filter { $0.hasSuffix(".json5") }.sorted() ?? []

    @Test func `examples exist for chat, memory, notes, profile and webhooks`() {
        #expect(
            Set(Self.names).isSuperset(of: ["chat", "memory", "notes", "profile", "webhooks"].map { "\($0).json5" }))
    }

    @Test(arguments: names)
    func `an example begins with its purpose and the command that makes its queue`(name: String) throws {
        let text = try String(contentsOf: Self.directory.appending(path: name), encoding: .utf8)
        let lines = text.split(separator: "\n")
        #expect(lines[0].hasPrefix("// ") && lines[0].hasSuffix("."))
        #expect(lines[1] == "//" && lines[2] == "//   drainq init --example \(name.dropLast(6))")
        #expect(lines.contains { $0.hasPrefix("//   drainq run") })
    }

    @Test(arguments: names)
    func `an example is a valid configuration, and its commands parse`(name: String) throws {
        let text = try String(contentsOf: Self.directory.appending(path: name), encoding: .utf8)
        _ = try ConfigurationFile.read(Array(text.utf8), name: name, directory: Self.directory.path)
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("//   ") && $0.contains("drainq ") }
        #expect(!lines.isEmpty)
        for line in lines {
            let command = line.dropFirst(5).prefix { $0 != "#" }
            for arguments in callsOfDrainq(in: String(command)) { _ = try ParsedCommand(arguments: arguments) }
        }
    }
}
