import DrainqCLI
import Foundation
import LoopbackReceiver
import Testing

/// What a run writes on standard error, for people, programs and the journal.
struct LogTests {
    private func objects(_ text: String) throws -> [[String: Any]] {
        try text.split(separator: "\n").map { line in
            try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
        }
    }

    @Test func `the log has an object for each attempt, with its id all the way, and a summary`() throws {
        let receiver = try LoopbackReceiver(script: Script(["204", "503", "400 body=no-such-thing"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let ids = try queue.run("add", "--type", "t", input: "{\"secret\":\"payload\"}\n{\"n\":2}\n{\"n\":3}\n").lines
        let finished = try queue.run("run", "--log", "json", "--concurrency", "1")
        #expect(finished.status == 1 && finished.output.isEmpty)
        let log = try objects(finished.error)
        #expect(log.map { $0["event"] as? String } == ["attempt", "attempt", "attempt", "summary"])
        #expect(log.map { $0["level"] as? String } == ["info", "notice", "error", "notice"])
        #expect(log.prefix(3).map { $0["id"] as? String } == ids)
        #expect(log.prefix(3).map { $0["outcome"] as? String } == ["delivered", "deferred", "failed"])
        #expect(log.prefix(3).map { $0["status"] as? Int } == [204, 503, 400])
        for line in log.prefix(3) {
            #expect(line["type"] as? String == "t" && line["destination"] as? String == receiver.url)
            #expect(line["rule"] is String && line["durationMs"] is Int && line["attempts"] is Int)
        }
        #expect(log.allSatisfy { ($0["time"] as? String)?.hasSuffix("Z") == true && $0["schema"] as? Int == 1 })
        #expect(log[2]["excerpt"] as? String == "no-such-thing")
        #expect(log[3]["exitStatus"] as? Int == 1)
        #expect(!finished.error.contains("payload"))
    }

    @Test func `a delivered answer's body is not in the log`() throws {
        let receiver = try LoopbackReceiver(script: Script(["200 body=answer-of-the-server"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: numbered(1))
        let finished = try queue.run("run", "--log", "json", "-v")
        #expect(try objects(finished.error).count == 2)
        #expect(!finished.error.contains("answer-of"))
    }

    @Test func `with quiet the log is what somebody has to look at`() throws {
        let receiver = try LoopbackReceiver(script: Script(["204", "400", "204"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: numbered(3))
        try queue.drop(Data("{".utf8), as: "bad")
        let log = try objects(queue.run("run", "--log", "json", "--quiet", "--concurrency", "1").error)
        #expect(log.map { $0["event"] as? String } == ["quarantined", "attempt"])
    }

    @Test func `a hold, its end and what a newer one stands for are events of the log`() throws {
        let receiver = try LoopbackReceiver(script: Script(["401 *2", "204"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver, "coalesce: true, headers: { \"X-Token\": \"${secret:t}\" }")
        queue.environment["TOKEN"] = "one"
        let text = try String(contentsOf: queue.queue.appending(path: "drainq.json"), encoding: .utf8)
        try text.replacing("{ routes:", with: "{ secrets: { t: { env: \"TOKEN\" } }, routes:").write(
            to: queue.queue.appending(path: "drainq.json"), atomically: true, encoding: .utf8)
        let ids = try queue.run("add", "--key", "k", input: numbered(2)).lines
        try queue.run("add", "--key", "other", input: numbered(1))
        let first = try objects(queue.run("run", "--log", "json", "--concurrency", "1").error)
        #expect(first.map { $0["event"] as? String } == ["superseded", "attempt", "held", "attempt", "summary"])
        #expect(first[0]["id"] as? String == ids[0] && first[0]["by"] as? String == ids[1])
        #expect(first[2]["destination"] as? String == receiver.url && first[2]["status"] as? Int == 401)
        queue.environment["TOKEN"] = "two"
        let second = try queue.run("run", "--log", "json", "--until-empty", "--max-time", "20s", "--now")
        #expect(try objects(second.error).contains { $0["event"] as? String == "released" })
        #expect(!second.error.contains("\"two\""))
    }

    @Test func `results on standard output go beside the log`() throws {
        let receiver = try LoopbackReceiver()
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: numbered(2))
        let finished = try queue.run("run", "--json", "--log", "json")
        #expect(try objects(finished.output).map { $0["event"] as? String } == ["attempt", "attempt", "summary"])
        #expect(try objects(finished.error).map { $0["event"] as? String } == ["attempt", "attempt", "summary"])
    }

    @Test func `what ends the run before it begins is an object too`() throws {
        let queue = try Drainq("{ rutes: {} }")
        let finished = try queue.run("run", "--log", "json")
        #expect(finished.status == 78)
        let log = try objects(finished.error)
        #expect(log.map { $0["level"] as? String } == ["error"])
        #expect((log.first?["message"] as? String)?.contains("rutes") == true)
        #expect((log.first?["hint"] as? String) == "did you mean 'routes'?")
    }

    @Test func `lines for the journal have its priorities`() throws {
        let receiver = try LoopbackReceiver(script: Script(["204", "503", "400"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let ids = try queue.run("add", input: numbered(3)).lines
        let finished = try queue.run("run", "--log", "journal", "--verbose", "--concurrency", "1")
        let lines = finished.error.split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines[0].hasPrefix("<6>drainq: \(ids[0]) default delivered: 204 in "))
        #expect(lines[1].hasPrefix("<5>drainq: \(ids[1]) default deferred: 503"))
        #expect(lines[2] == "<3>drainq: \(ids[2]) default failed: 400")
        #expect(lines[3].hasPrefix("<5>drainq: 1 delivered, 1 deferred, 1 failed in "))
        try queue.run("add", input: numbered(1))
        let unwatched = try queue.run("run", "--log", "journal").error.split(separator: "\n")
        #expect(unwatched.count == 2 && unwatched.allSatisfy { $0.hasPrefix("<3>drainq: ") }, "an error and its hint")
    }

    /// Standard error is a real socket, and JOURNAL_STREAM says so, or says another one.
    @Test(arguments: [true, false])
    func `the journal is known by its stream`(isJournal: Bool) throws {
        let receiver = try LoopbackReceiver(script: Script(["400"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: numbered(1))
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let reader = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        let writer = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        var status = stat()
        try #require(fstat(isJournal ? ends[1] : ends[0], &status) == 0)
        queue.environment["JOURNAL_STREAM"] = "\(status.st_dev):\(status.st_ino)"
        let run = try queue.start(["run"], input: "", standardError: writer)
        #expect(try run.finish().status == 1)
        try writer.close()
        let text = String(decoding: reader.readDataToEndOfFile(), as: UTF8.self)
        #expect(text.hasPrefix(isJournal ? "<3>drainq: error: '" : "drainq: error: '"), "\(text)")
    }

    @Test func `text stays text on the journal where it is asked for`() throws {
        let queue = try Drainq("{ rutes: {} }")
        #expect(try queue.run("run", "--log", "text").error.hasPrefix("drainq: error: "))
        #expect(try queue.run("run", "--log", "syslog").status == 64)
    }
}
