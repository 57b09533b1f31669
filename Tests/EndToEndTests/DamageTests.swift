import Foundation
import LoopbackReceiver
import Testing

/// Operations whose files changed after they were accepted.
struct DamageTests {
    /// A queue with an operation whose file contains `text`, replaced by `other` behind drainq's back.
    private func damaged(
        _ text: String, _ other: String, to receiver: LoopbackReceiver
    ) throws -> (drainq: Drainq, id: String) {
        let drainq = try Drainq(to: receiver)
        let id = try #require(
            try drainq.run("add", "--type", "crm", "--method", "PUT", input: #"{"amount":100}"#).lines.first)
        let name = try #require(try drainq.names("new").first)
        let file = drainq.queue.appending(path: "new/\(name)")
        var contents = try String(contentsOf: file, encoding: .utf8)
        contents = contents.replacing(text, with: other)
        try contents.write(to: file, atomically: false, encoding: .utf8)
        return (drainq, id)
    }

    @Test(arguments: [(#"{"amount":100}"#, #"{"amount":900}"#), (#""PUT""#, #""GET""#)])
    func `a changed operation is quarantined unsent, with both checksums`(
        text: String, other: String
    ) throws {
        let receiver = try LoopbackReceiver()
        let (drainq, id) = try damaged(text, other, to: receiver)
        let run = try drainq.run("run")
        #expect(run.status == 65 && receiver.receivedCount == 0)
        #expect(run.error.contains("header and body have the checksum "))
        #expect(run.error.contains(", the header says "))
        let shown = try drainq.run("show", id)
        #expect(shown.status == 0 && shown.output.contains("the file was changed or damaged"))
        // The operation stays in quarantine until an operator decides.
        let again = try drainq.run("retry", id)
        #expect(again.status == 1 && again.error.contains("the file was changed or damaged"))
        #expect(try drainq.names("quarantine").count == 2)
    }

    @Test func `an operator who removes the checksum has the changed operation sent`() throws {
        let receiver = try LoopbackReceiver()
        let (drainq, id) = try damaged(#"{"amount":100}"#, #"{"amount":900}"#, to: receiver)
        #expect(try drainq.run("run").status == 65)
        let name = try #require(try drainq.names("quarantine").first { $0.hasSuffix(".json") })
        let file = drainq.queue.appending(path: "quarantine/\(name)")
        let contents = try String(contentsOf: file, encoding: .utf8)
        try contents.replacing(#/,"crc32c":"[0-9a-f]{8}"/#, with: "")
            .write(to: file, atomically: false, encoding: .utf8)
        #expect(try drainq.run("retry", id).status == 0)
        #expect(try drainq.run("run").status == 0)
        #expect(receiver.requests().map(\.text) == [#"{"amount":900}"#])
    }

    @Test func `check names the way out of a damaged dead letter, which no run moves`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(404)))
        let drainq = try Drainq(to: receiver)
        let id = try #require(try drainq.run("add", input: "1").lines.first)
        #expect(try drainq.run("run").status == 1)
        let name = try #require(try drainq.names("failed").first)
        try Data().write(to: drainq.queue.appending(path: "failed/\(name)"))
        let check = try drainq.run("check")
        #expect(check.status == 65 && check.error.contains("'drainq drop \(id)'"), "\(check.error)")
        #expect(!check.error.contains("the next run moves it"))
        #expect(try drainq.run("run").status == 0 && drainq.names("failed") == [name])
        #expect(try drainq.run("drop", id).status == 0)
        #expect(try drainq.run("check").status == 0)
    }

    @Test func `a damaged operation is not exported, and the error says why`() throws {
        let receiver = try LoopbackReceiver()
        let (drainq, id) = try damaged(#"{"amount":100}"#, #"{"amount":900}"#, to: receiver)
        let export = try drainq.run("export")
        #expect(export.status == 65 && export.output.isEmpty)
        #expect(export.error.contains("\(id)") && export.error.contains("the header says"))
    }

    @Test func `an export has no checksum, and an import adds a new checksum`() throws {
        let receiver = try LoopbackReceiver()
        let (from, to) = (try Drainq(to: receiver), try Drainq(to: receiver))
        try from.run("add", input: "{\"n\":1.10}")
        let line = try from.run("export").output
        #expect(!line.contains("crc32c"))
        #expect(try to.run("import", input: line).status == 0)
        let name = try #require(try from.names("new").first)
        #expect(try to.names("new") == [name])
        let files = try [from, to].map {
            try String(contentsOf: $0.queue.appending(path: "new/\(name)"), encoding: .utf8)
        }
        #expect(files[0] == files[1] && files[0].contains(#","crc32c":""#))
        // An edited body has another checksum.
        #expect(try to.run("drop", "--all").status == 0)
        #expect(try to.run("import", input: line.replacing("1.10", with: "1.11")).status == 0)
        #expect(try to.run("run").status == 0)
        #expect(receiver.requests().map(\.text) == ["{\"n\":1.11}"])
    }
}
