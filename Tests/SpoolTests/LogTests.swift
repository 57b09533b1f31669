import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

/// `state/log/`: appends lines, and drops the older half at a time.
struct LogTests {
    private static let now = Timestamp(rfc3339: "2026-11-21T09:15:00Z")!
    let queue: TemporaryQueue

    init() throws {
        queue = try TemporaryQueue()
    }

    private func event(_ number: Int, _ at: Timestamp = now) -> LogEvent {
        var event = LogEvent(.command, at: at)
        event.count = number
        return event
    }

    private func counts(_ spool: SpoolDirectory) throws -> [Int?] {
        var counts: [Int?] = []
        try spool.forEachLogLine { counts.append(LogEvent(line: $0)?.count) }
        return counts
    }

    @Test func `events of several processes are read in the order of their addition`() throws {
        let open = try queue.open()
        #expect(try counts(open) == [])
        try open.log([], upTo: LogLimits(), at: Self.now)
        #expect(!FileManager.default.fileExists(atPath: queue.path + "/state/log"), "nothing happened")
        try open.log([event(1), event(2)], upTo: LogLimits(), at: Self.now)
        try queue.open().log([event(3)], upTo: LogLimits(), at: Self.now)
        #expect(try counts(open) == [1, 2, 3])
        #expect(queue.names("state/log") == ["events", "lock"])
    }

    @Test func `the log writes events added together at once, and never syncs`() throws {
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        try open.log([event(0)], upTo: LogLimits(), at: Self.now)
        calls.reset()
        try open.log([event(1), event(2)], upTo: LogLimits(), at: Self.now)
        #expect(calls.log.filter { ["write", "fsync", "rename", "unlink"].contains($0) } == ["write"])
    }

    @Test func `the log drops its oldest half beyond its size`() throws {
        let open = try queue.open()
        let length = event(100).line.count
        let limits = LogLimits(maxBytes: 20 * length)
        for number in 100..<200 {
            try open.log([event(number)], upTo: limits, at: Self.now)
            let sizes = ["events", "earlier"].map { queue.bytes("state/log/\($0)")?.count ?? 0 }
            #expect(sizes.reduce(0, +) <= limits.maxBytes)
        }
        let kept = try counts(open).compactMap(\.self)
        #expect(kept == Array((200 - kept.count)..<200) && kept.count >= 10)
    }

    @Test func `the log begins a new file by age, and drops an earlier file that is too old`() throws {
        let open = try queue.open()
        let limits = LogLimits(maxAge: .seconds(100))
        for second in 0..<3 { try open.log([event(second, Self.now + .seconds(second))], upTo: limits, at: Self.now) }
        try open.log([event(60, Self.now + .seconds(60))], upTo: limits, at: Self.now + .seconds(60))
        #expect(try counts(open) == [0, 1, 2, 60])
        #expect(queue.names("state/log") == ["earlier", "events", "lock"])
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)],
            ofItemAtPath: queue.path + "/state/log/earlier")
        try open.log([event(61, Self.now + .seconds(61))], upTo: limits, at: Self.now + .seconds(61))
        #expect(try counts(open) == [60, 61])
    }

    @Test func `a torn line ends where the next event begins`() throws {
        let open = try queue.open()
        try open.log([event(1)], upTo: LogLimits(), at: Self.now)
        let file = try FileHandle(forWritingTo: URL(filePath: queue.path + "/state/log/events"))
        try file.seekToEnd()
        try file.write(contentsOf: event(2).line.dropLast(9))
        try file.close()
        try open.log([event(3)], upTo: LogLimits(), at: Self.now)
        #expect(try counts(open) == [1, nil, 3])
    }

    @Test(arguments: ["write", "open", "lock", "chmod", "makeDirectory"])
    func `a failing call throws an error, and earlier events stay`(call: String) throws {
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        if call != "makeDirectory" { try open.log([event(1)], upTo: LogLimits(), at: Self.now) }
        if call == "chmod" { try FileManager.default.removeItem(atPath: queue.path + "/state/log/events") }
        calls.reset(.always(call, ENOSPC))
        #expect(throws: SpoolError.self) { try open.log([event(2)], upTo: LogLimits(), at: Self.now) }
        calls.reset()
        #expect(try counts(open) == (["makeDirectory", "chmod"].contains(call) ? [] : [1]))
        try open.log([event(3)], upTo: LogLimits(), at: Self.now)
        #expect(try counts(open).last == 3)
    }

    @Test func `a lock of another process costs a second, and no event is torn`() throws {
        var waited: Duration = .zero
        var system = SystemCalls.real
        system.sleep = { waited += $0 }
        let open = try queue.open(system)
        try open.log([event(1)], upTo: LogLimits(), at: Self.now)
        let descriptor = CSystem.open(queue.path + "/state/log/lock", O_RDWR)
        defer { close(descriptor) }
        try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        let error = #expect(throws: SpoolError.self) { try open.log([event(2)], upTo: LogLimits(), at: Self.now) }
        #expect(error?.isLocked == true && waited == .seconds(1))
        #expect(try counts(open) == [1])
    }

    @Test func `many writers tear no event`() async throws {
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask { [path = queue.path] in
                    #expect(throws: Never.self) {
                        let open = try SpoolDirectory(opening: path)
                        for number in 0..<50 {
                            var event = LogEvent(.command, at: Self.now)
                            event.count = writer * 1000 + number
                            try open.log([event], upTo: LogLimits(), at: Self.now)
                        }
                    }
                }
            }
        }
        let read = try counts(queue.open())
        #expect(read.count == 400 && !read.contains(nil))
    }
}
