import DrainqCLI
import Foundation
import LoopbackReceiver
import Testing

/// Messages of a run on standard error for the journal.
struct JournalTests {
    /// Standard error is a real socket, and JOURNAL_STREAM names the socket or its peer.
    private func errors(of queue: Drainq, _ arguments: [String], isJournal: Bool = true) throws -> [Substring] {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let reader = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
        let writer = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
        var status = stat()
        try #require(fstat(isJournal ? ends[1] : ends[0], &status) == 0)
        queue.environment["JOURNAL_STREAM"] = "\(status.st_dev):\(status.st_ino)"
        let run = try queue.start(arguments, input: "", standardError: writer)
        #expect(try run.finish().status == 1)
        try writer.close()
        return String(decoding: reader.readDataToEndOfFile(), as: UTF8.self).split(separator: "\n")
    }

    @Test func `lines for the journal have priorities`() throws {
        let receiver = try LoopbackReceiver(script: Script(["204", "503", "400"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        let ids = try queue.run("add", input: numbered(3)).lines
        let lines = try errors(of: queue, ["run", "--verbose", "--concurrency", "1"])
        #expect(lines.count == 4)
        #expect(lines[0].hasPrefix("<6>drainq: \(ids[0]) default delivered: 204 in "))
        #expect(lines[1].hasPrefix("<5>drainq: \(ids[1]) default deferred: 503"))
        #expect(lines[2] == "<3>drainq: \(ids[2]) default failed: 400")
        #expect(lines[3].hasPrefix("<5>drainq: 1 delivered, 1 deferred, 1 failed in "))
        try queue.run("add", input: numbered(1))
        let unwatched = try errors(of: queue, ["run"])
        #expect(unwatched.count == 2 && unwatched.allSatisfy { $0.hasPrefix("<3>drainq: ") }, "an error and its hint")
    }

    @Test(arguments: [true, false])
    func `the journal is recognized by JOURNAL_STREAM`(isJournal: Bool) throws {
        let receiver = try LoopbackReceiver(script: Script(["400"]))
        defer { receiver.stop() }
        let queue = try Drainq(to: receiver)
        try queue.run("add", input: numbered(1))
        let first = try #require(try errors(of: queue, ["run"], isJournal: isJournal).first)
        #expect(first.hasPrefix(isJournal ? "<3>drainq: error: '" : "drainq: error: '"), "\(first)")
    }
}
