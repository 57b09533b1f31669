import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

/// Queues of a newer drainq, which stay unchanged, and files of a newer drainq in a queue of today, which are kept.
struct FormatTests {
    let queue: TemporaryQueue
    private let now = TemporaryQueue.now

    init() throws {
        queue = try TemporaryQueue()
    }

    /// Returns every path of the queue with its mode, its size and the time of its last change. Every rename and every
    /// write changes that time.
    private func trace() throws -> [String] {
        let names = FileManager.default.enumerator(atPath: queue.path)?.allObjects as? [String] ?? []
        return try (["."] + names).sorted().map { name in
            var status = stat()
            try #require(lstat("\(queue.path)/\(name)", &status) == 0)
            return "\(name) \(status.st_mode) \(status.st_size) \(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)"
        }
    }

    @Test func `a newer queue with unknown directory names is reported as newer, and stays unchanged`() throws {
        try queue.put("2\n", at: "state/format")
        for directory in ["tmp", "new", "deferred"] {
            try FileManager.default.moveItem(
                atPath: "\(queue.path)/\(directory)", toPath: "\(queue.path)/\(directory)-2")
        }
        let before = try trace()
        let attempts: [() throws -> Void] = [
            { _ = try queue.open() }, { _ = try SpoolDirectory.create(at: queue.path) },
            { _ = try SpoolDirectory.missingDirectories(at: queue.path) },
            { try SpoolDirectory.makeDirectories([.missingDirectory("tmp")], at: queue.path) },
        ]
        for attempt in attempts {
            let error = #expect(throws: SpoolError.self) { try attempt() }
            #expect(error?.kind == .newerFormat(2))
        }
        #expect(try trace() == before)
    }

    @Test(arguments: ["", "\0\0", "one\n", "0\n"])
    func `an unreadable format closes the queue until a repair`(content: String) throws {
        try queue.put(content, at: "state/format")
        let error = #expect(throws: SpoolError.self) { try queue.open() }
        #expect(error?.kind == .damaged && error?.hint?.contains("check --repair") == true)
        let damages = try SpoolDirectory.missingDirectories(at: queue.path)
        #expect(damages == [.unreadableState("state/format")])
        try SpoolDirectory.makeDirectories(damages, at: queue.path)
        #expect(queue.text("state/format") == "1\n")
        #expect(try SpoolDirectory.missingDirectories(at: queue.path).isEmpty)
        _ = try queue.open()
    }

    @Test func `after a newer drainq takes the queue over, an open queue begins no run and accepts nothing`() throws {
        let entry = try queue.add(["a"])[0]
        let open = try queue.open()
        let claims = try open.beginRun(now: now)
        try queue.put("2\n", at: "state/format")
        // A run that began before the takeover ends as usual.
        let claim = try #require(try claims.claim(entry))
        _ = try claims.settle(claim, as: .delivered(keep: false))
        try claims.end()
        #expect(throws: SpoolError(kind: .newerFormat(2), verb: "open", path: queue.path, code: EINVAL)) {
            try open.beginRun(now: now)
        }
        #expect(throws: SpoolError(kind: .newerFormat(2), verb: "open", path: queue.path, code: EINVAL)) {
            try open.accept([queue.operation("b")], limits: Limits())
        }
        #expect(["new", "claimed", "tmp"].allSatisfy { queue.names($0).isEmpty })
    }

    @Test func `a dropped file of a newer format stays in quarantine byte for byte, also after retry`() throws {
        let bytes = Array(#"{"drainq": 2, "id": "n", "pay": {"load": 1.10}}"#.utf8)
        try queue.put(bytes, at: "new/from-elsewhere")
        let open = try queue.open()
        func admit() throws -> [QuarantineItem] {
            let run = try open.beginRun(now: now)
            let items = try run.admitForeign(now: now, limits: Limits()).quarantined
            try run.end()
            return items
        }
        let item = try #require(try admit().first)
        #expect(item.reason == "field 'drainq': written by a newer drainq (format 2)")
        #expect(item.originalName == "from-elsewhere")
        #expect(queue.bytes("quarantine/\(item.fileName)") == bytes)
        #expect(
            try open.readmit([item], now: now).results
                == [.refused("field 'drainq': written by a newer drainq (format 2)")])
        #expect(queue.names("new").isEmpty && queue.bytes("quarantine/\(item.fileName)") == bytes)
    }

    @Test
    func `a file name with an unknown field is no operation, and only new loses the file`() throws {
        let name = "20261121T091500.123456Z-a,z=1.json"
        let bytes = OperationFile.encode(queue.operation("a"))
        for directory in ["new", "deferred", "failed", "delivered"] { try queue.put(bytes, at: "\(directory)/\(name)") }
        let run = try queue.open().beginRun(now: now)
        _ = try run.recover(now: now)
        let item = try #require(try run.admitForeign(now: now, limits: Limits()).quarantined.first)
        try run.end()
        #expect(item.originalName == name && queue.bytes("quarantine/\(item.fileName)") == bytes)
        for directory in ["deferred", "failed", "delivered"] { #expect(queue.bytes("\(directory)/\(name)") == bytes) }
        #expect(try queue.entries().isEmpty)
    }
}
