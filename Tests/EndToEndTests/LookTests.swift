import DrainqCLI
import Foundation
import LoopbackReceiver
import Testing

/// The page and the log, within their bounds.
struct LookTests {
    @Test func `each run writes the whole page, and a page that cannot be written does not fail the run`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq("{ routes: { default: { url: '\(receiver.url)/x' } }, metrics: { page: 'page.html' } }")
        let page = queue.queue.appending(path: "page.html")
        try queue.run("run")
        #expect(try String(contentsOf: page, encoding: .utf8).contains("Nothing has been sent yet."))
        try queue.run("add", input: numbered(1))
        try queue.run("run")
        let text = try String(contentsOf: page, encoding: .utf8)
        #expect(text.hasPrefix("<!doctype html>") && text.hasSuffix("</html>\n") && text.contains("All is well"))
        try FileManager.default.removeItem(at: page)
        try FileManager.default.createDirectory(at: page, withIntermediateDirectories: false)
        try queue.run("add", input: numbered(1))
        let run = try queue.run("run")
        #expect(run.status == 0 && run.error.contains("warning: ") && run.error.contains("page.html"), "\(run)")
    }

    @Test func `the log obeys its limits, and tells an event of a clock that was ahead`() throws {
        let queue = try Drainq(
            "{ routes: { default: { url: 'http://127.0.0.1:1/x' } }, log: { maxBytes: '20KB', maxAge: '1h' } }")
        let log = queue.queue.appending(path: "state/log")
        try FileManager.default.createDirectory(at: log, withIntermediateDirectories: true)
        let ahead = "{\"at\":\"2199-01-01T00:00:00Z\",\"event\":\"paused\",\"user\":\"ahead\"}\n"
        try ahead.write(to: log.appending(path: "events"), atomically: true, encoding: .utf8)
        #expect(try queue.run("pause").status == 0)
        let told = try queue.run("log")
        #expect(told.status == 0 && told.output.contains("2199-01-01 (UTC)") && told.output.contains("paused by ahead"))
        for _ in 0..<60 {
            try queue.run("resume")
            try queue.run("hold", "--destination", "http://127.0.0.1:1", "--reason", String(repeating: "x", count: 300))
            try queue.run("release", "--destination", "http://127.0.0.1:1")
        }
        let files = try FileManager.default.contentsOfDirectory(
            at: log, includingPropertiesForKeys: [.fileSizeKey])
        let size = try files.reduce(0) { try $0 + ($1.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0) }
        #expect(size <= 20_000 + 4_096, "\(size)")
        #expect(try queue.run("log").output.contains("released by"))
    }

    @Test func `wait separates several answers, and show refers to explain for the schedule`() throws {
        let receiver = try LoopbackReceiver(script: Script(["200 body=one", "200 body=two", "503"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver, "keepAnswer: true, retry: 'steps'")
        let ids = try queue.run("add", input: numbered(3)).lines
        try queue.run("run", "--concurrency", "1")
        #expect(try queue.run("wait", ids[0], ids[1]).output == "one\ntwo")
        let shown = try queue.run("show", ids[2]).output
        #expect(
            shown.contains("1 of 4") && shown.contains("'drainq explain --type default' shows the schedule"), "\(shown)"
        )
    }

    @Test func `explain says why a destination is held, with the server's words`() throws {
        let receiver = try LoopbackReceiver(script: Script(["401 body=token-expired"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: numbered(3))
        #expect(try queue.run("run").status == 69)
        for output in [
            try queue.run("explain"), try queue.run("explain", "401"), try queue.run("explain", "--json"),
        ].map(\.output) {
            #expect(output.contains("held") && output.contains("token-expired"), "\(output)")
        }
    }
}
