import Foundation
import Testing

/// `drainq init --example`.
struct InitExampleTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        .standardized

    @Test func `the configuration equals the repository's below a line with the manual's name, and is private`() throws
    {
        let drainq = try Drainq()
        let queue = drainq.directory.appending(path: "slack")
        let made = try drainq.run("init", "-q", queue.path, "--example", "slack")
        #expect(made.status == 0 && made.output.isEmpty && made.error.contains("drainq check"))
        let file = queue.appending(path: "drainq.json")
        let source = Self.root.appending(path: "etc/drainq/examples/slack.json5")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n", maxSplits: 1)
        #expect(lines[0].hasSuffix("drainq-config(5) explains every key: drainq manual drainq-config | man -l -"))
        #expect(try String(lines[1]) == String(contentsOf: source, encoding: .utf8))
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test func `init --example does not change an existing configuration`() throws {
        let drainq = try Drainq()
        let file = drainq.queue.appending(path: "drainq.json")
        let before = try Data(contentsOf: file)
        let made = try drainq.run("init", "--example", "slack")
        #expect(made.status == 78 && made.error.contains("exists already") && made.error.contains("hint:"))
        #expect(try Data(contentsOf: file) == before)
    }

    @Test(arguments: [("slak", "did you mean slack?"), ("../slack", "list"), ("nothing-like-it", "--example list")])
    func `an unknown example makes no queue`(name: String, hint: String) throws {
        let drainq = try Drainq()
        let queue = drainq.directory.appending(path: "other").path
        let made = try drainq.run("init", "-q", queue, "--example", name)
        #expect(made.status == 64 && made.error.contains("there is no example '\(name)'") && made.error.contains(hint))
        #expect(!FileManager.default.fileExists(atPath: queue))
    }

    @Test func `the list names each example with its purpose, and makes no queue`() throws {
        let drainq = try Drainq()
        let queue = drainq.directory.appending(path: "other").path
        let listed = try drainq.run("init", "-q", queue, "--example", "list")
        #expect(listed.status == 0 && listed.error.isEmpty)
        #expect(listed.lines.contains { $0.hasPrefix("slack ") && $0.hasSuffix("Slack's incoming webhook.") })
        #expect(listed.lines.count == CheckTests.names.count)
        #expect(!FileManager.default.fileExists(atPath: queue))
    }

    @Test func `init finds examples below its own prefix, and names the expected place of missing examples`() throws {
        let drainq = try Drainq()
        let done = try drainq.shell(
            """
            mkdir -p prefix/bin prefix/share/drainq/examples
            cp "$DRAINQ" prefix/bin/drainq
            prefix/bin/drainq init -q queue1 --example own
            test $? = 74 && test ! -e queue1 || exit 1
            echo '{}' > prefix/share/drainq/examples/own.json5
            prefix/bin/drainq init -q queue2 --example own && tail -n +2 queue2/drainq.json | cmp - prefix/share/drainq/examples/own.json5
            """)
        #expect(done.status == 0 && done.error.contains("cannot find the example configurations in '"))
        #expect(done.error.contains("/prefix/bin/../share/drainq/examples'"))
    }
}
