import Foundation
import LoopbackReceiver
import Testing

/// `check` on damaged queues.
struct CheckRepairTests {
    private static let configuration = "{ routes: { default: { url: \"https://a.example\" } } }"

    @Test func `check names the damage and the effect of --repair, and --repair mends the damage`() throws {
        let queue = try Drainq(Self.configuration)
        try queue.run("add", input: numbered(1))
        let dead = "20261121T091500.123456Z-9f86d081884c7d65"
        try FileManager.default.createDirectory(
            at: queue.queue.appending(path: "claimed/\(dead)"), withIntermediateDirectories: false)
        let name = try queue.names("new")[0]
        try FileManager.default.moveItem(
            at: queue.queue.appending(path: "new/\(name)"), to: queue.queue.appending(path: "claimed/\(dead)/\(name)"))
        let told = try queue.run("check")
        #expect(told.status == 75)
        #expect(told.error.contains("error: the run '\(dead)' died with 1 operation claimed"))
        #expect(told.error.contains("hint: 'drainq check --repair' returns its claims"))
        #expect(!told.output.contains("has claimed"))
        let id = try #require(try queue.run("list").lines.last?.split(separator: " ").first.map(String.init))
        let claim = "claimed by the run '\(dead)', which died: the next run takes it back"
        #expect(try queue.run("show", id).lines.first == claim.replacing("claimed by", with: "claimed: by"))
        #expect(try queue.run("wait", id, "--timeout", "1ms").error.contains("is not delivered yet: it is \(claim)\n"))
        #expect(try queue.names("new").isEmpty)
        let repaired = try queue.run("check", "--repair")
        #expect(repaired.status == 0 && repaired.error == "")
        #expect(repaired.output.contains("repaired: the run '\(dead)' died with 1 operation claimed\n"))
        // Nobody has marked whether a request had begun.
        #expect(try queue.names("new") == [name.replacing(".json", with: ",i=0u1.json")])
        let well = try queue.run("check")
        #expect(well.status == 0)
        #expect(well.output.contains("ok: locks: flock(2) excludes a second process"))
    }

    @Test func `--repair restores missing directories of a queue`() throws {
        let queue = try Drainq(Self.configuration)
        for name in ["tmp", "claimed"] { try FileManager.default.removeItem(at: queue.queue.appending(path: name)) }
        let told = try queue.run("check")
        #expect(told.status == 66)
        #expect(told.error.contains("the directory 'tmp' is missing"))
        let repaired = try queue.run("check", "--repair", "--json")
        #expect(repaired.status == 0)
        #expect(repaired.output.contains(#""damage":"missingDirectory""#))
        // Other commands make a missing directory again.
        for name in ["tmp", "claimed"] { try FileManager.default.removeItem(at: queue.queue.appending(path: name)) }
        #expect(try queue.run("add", input: "1").status == 0)
        #expect(try queue.run("check", "--repair", "-q", queue.directory.path).status == 66)
    }

    @Test func `check reports a link in the place of a directory together with further damage`() throws {
        let queue = try Drainq(Self.configuration)
        try queue.run("add", input: "1")
        let (new, elsewhere) = (queue.queue.appending(path: "new"), queue.directory.appending(path: "elsewhere"))
        try FileManager.default.moveItem(at: new, to: elsewhere)
        try FileManager.default.createSymbolicLink(at: new, withDestinationURL: elsewhere)
        let file = queue.queue.appending(path: "state/destinations.json")
        try Data("{".utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        for arguments in [["check"], ["check", "--repair"]] {
            let told = try queue.start(arguments, input: "").finish()
            #expect(told.status == 66)
            #expect(told.error.contains("error: 'new' is a symbolic link, not a directory\n"))
            #expect(told.error.contains("only the queue as a whole may be a symbolic link"))
            #expect(told.error.contains("error: 'state/destinations.json' cannot be read"))
        }
    }

    @Test(arguments: [
        ("failed", 0o755, 77), ("state/destinations.json", 0o644, 77), ("state/destinations.json", 0o600, 74),
    ])
    func `the exit status of check names the damage until the repair`(path: String, mode: Int, status: Int32) throws {
        let queue = try Drainq(Self.configuration)
        let file = queue.queue.appending(path: path)
        if path.hasSuffix(".json") { try Data((mode == 0o600 ? "{" : "{}").utf8).write(to: file) }
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
        #expect(try queue.run("check").status == status)
        #expect(try queue.run("check", "--repair").status == 0)
        #expect(try queue.run("check").status == 0)
    }

    @Test(arguments: [["run"], ["check", "--repair"]])
    func `a recovery ends the hold whose probe a dead run had delivered`(next: [String]) throws {
        let receiver = try LoopbackReceiver(
            script: .deciding { _, index in
                index < 2 ? .status(403) : index == 2 ? .status(204).delayed(.seconds(30)) : .status(204)
            })
        defer { receiver.stop() }
        let place = "destinations: { \"\(receiver.url)\": { holdProbe: \"1ms\" } }"
        let queue = try Drainq("{ routes: { default: { url: \"\(receiver.url)/x\" } }, \(place) }")
        try queue.run("add", input: numbered(2))
        #expect(try queue.run("run").status == 69)
        let victim = try queue.start("run")
        #expect(receiver.wait(forRequests: 3, within: .seconds(120)))
        victim.signal(SIGKILL)
        _ = try victim.finish()
        try queue.markDelivered()
        #expect(try queue.start(next, input: "").finish().status == 0)
        #expect(try !queue.run("status").output.contains("is held"))
        try queue.run("run")
        #expect(receiver.receivedCount == 4)
        #expect(try queue.run("log").output.contains("\(receiver.url) released"))
    }
}

extension Drainq {
    /// Lets the marks of dead runs say that the operations whose requests had begun were delivered.
    func markDelivered() throws {
        for run in try names("claimed") {
            let lock = queue.appending(path: "claimed/\(run)/lock")
            var bytes = try Data(contentsOf: lock)
            for record in stride(from: 256, to: bytes.count, by: 256) where bytes[record] != UInt8(ascii: "\n") {
                bytes.insert(UInt8(ascii: "+"), at: record)
                bytes.remove(at: record + 256)
            }
            try bytes.write(to: lock)
        }
    }
}
