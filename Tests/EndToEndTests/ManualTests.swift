import Foundation
import LoopbackReceiver
import Testing

/// What programs may rely on stands in drainq(1).
@Suite struct ManualTests {
    private static let section: String = {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../man/drainq.1")
            .standardized
        let manual = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return manual.components(separatedBy: ".Sh JSON OUTPUT\n").dropFirst().first?
            .components(separatedBy: "\n.Sh ").first ?? ""
    }()

    @Test func `every field of what --json prints is in the manual`() throws {
        let receiver = try LoopbackReceiver(
            script: .sequence([
                .status(200, body: "hi"), .status(400), .status(503, headers: ["Retry-After: 1"]), .status(401),
            ]))
        let drainq = try Drainq(to: receiver)
        var said = [
            try drainq.run("send", "--json", input: "1"),
            try drainq.run("send", "--json", "--no-queue", input: "1"),
            try drainq.run("add", "--json", "--key", "k", input: "1\nno JSON\n"),
            try drainq.run("add", "--json", "--id", "mine", "--at", "+1h", "--method", "PUT", input: "1"),
            try drainq.run("add", "--json", "--id", "mine", input: "1"),
            try drainq.run("run", "--json"),
            try drainq.run("release", "--json", "--destination", receiver.url),
            try drainq.run("run", "--json", "--now"),
            try drainq.run("hold", "--json", "mine"),
        ]
        for command in [
            ["list"], ["show", "mine"], ["status"], ["check"], ["explain", "503"], ["explain", "200"], ["explain"],
            ["run", "--dry-run"], ["drop", "--all"],
        ] {
            said.append(try drainq.start(command + ["--json"], input: "").finish())
        }
        var fields: Set<String> = []
        func collect(_ value: Any) {
            if let object = value as? [String: Any] {
                fields.formUnion(object.keys)
                object.values.forEach(collect)
            } else if let array = value as? [Any] {
                array.forEach(collect)
            }
        }
        for finished in said {
            #expect(!finished.lines.isEmpty || finished.status == 0)
            for line in finished.lines { collect(try JSONSerialization.jsonObject(with: Data(line.utf8))) }
        }
        #expect(fields.count > 60)
        // Counts by state are of the states' names.
        for field in fields.subtracting(["quarantined"]) {
            #expect(Self.section.contains("Ql \(field)\n") || Self.section.contains("Ql \(field) "), "\(field)")
        }
    }
}
