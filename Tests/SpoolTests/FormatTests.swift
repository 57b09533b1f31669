import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

/// A queue that a newer drainq has made its own is left as it is; what a newer one has left in a queue of today is
/// kept.
struct FormatTests {
    let queue: TemporaryQueue
    private let now = TemporaryQueue.now

    init() throws {
        queue = try TemporaryQueue()
    }

    /// Everything below the queue with its mode and the time of its last change, which no rename or write leaves as it
    /// was.
    private func trace() throws -> [String] {
        let names = FileManager.default.enumerator(atPath: queue.path)?.allObjects as? [String] ?? []
        return try (["."] + names).sorted().map { name in
            var status = stat()
            try #require(lstat("\(queue.path)/\(name)", &status) == 0)
            return "\(name) \(status.st_mode) \(status.st_size) \(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)"
        }
    }

    @Test func `a newer queue whose directories have other names is said to be newer, and nothing is made in it`()
        throws
    {
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
    func `a format that cannot be read is repaired, and closes the queue only until then`(content: String) throws {
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

    @Test func `who has the queue open when a newer drainq takes it over neither claims nor accepts any more`() throws {
        let entry = try queue.add(["a"])[0]
        let open = try queue.open()
        let claims = try open.beginRun(now: now)
        try queue.put("2\n", at: "state/format")
        // A run that has its lock already is waited for, and ends as it would have.
        let claim = try #require(try claims.claim(entry))
        _ = try claims.settle(claim, .delivered(keep: false), record: nil, now: now)
        try claims.end()
        #expect(throws: SpoolError(kind: .newerFormat(2), verb: "open", path: queue.path, code: EINVAL)) {
            try open.beginRun(now: now)
        }
        #expect(throws: SpoolError(kind: .newerFormat(2), verb: "open", path: queue.path, code: EINVAL)) {
            try open.accept([queue.operation("b")], limits: Limits())
        }
        #expect(["new", "claimed", "tmp"].allSatisfy { queue.names($0).isEmpty })
    }

    @Test func `a newer file that is dropped in is kept in quarantine byte for byte, and retry leaves it there`()
        throws
    {
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
    func `a name with a field that is not known is an operation's nowhere, and its file is touched nowhere but in new`()
        throws
    {
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
