import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

struct SpoolDirectoryTests {
    let queue: TemporaryQueue

    init() throws {
        queue = try TemporaryQueue()
    }

    @Test func `create makes a queue and its parents, for its user alone, and a second time does no harm`() async {
        // The umask belongs to the whole process. A process of its own hides the change from all other tests.
        await #expect(processExitsWith: .success) {
            let queue = try TemporaryQueue()
            let path = queue.path + "/a/b//c"
            umask(0)
            _ = try SpoolDirectory.create(at: path)
            umask(0o777)
            let open = try SpoolDirectory.create(at: path)
            try open.setPaused(true)
            try open.writeState("x", [1])
            umask(0o022)
            func mode(_ file: String) -> mode_t {
                var status = stat()
                return stat("\(path)/\(file)", &status) == 0 ? status.st_mode & 0o7777 : 0
            }
            try #require(["", "tmp", "new", "claimed", "state"].allSatisfy { mode($0) == 0o700 })
            try #require(["paused", "state/x", "state/format"].allSatisfy { mode($0) == 0o600 })
            try FileManager.default.removeItem(atPath: queue.path)
        }
    }

    @Test func `create refuses a directory with foreign content`() throws {
        try queue.put("x", at: "state/other")
        let path = "\(queue.path)/state"
        let error = #expect(throws: SpoolError.self) { try SpoolDirectory.create(at: path) }
        #expect(error?.description == "cannot make a queue in '\(path)': Directory not empty")
        // A queue may have the files of its owner beside its own.
        try queue.put("x", at: "api.token")
        _ = try SpoolDirectory.create(at: queue.path)
    }

    @Test func `opening reports a missing queue, a path without a queue, a newer and a damaged format`() throws {
        func error(_ path: String) -> SpoolError? {
            do { _ = try SpoolDirectory(opening: path) } catch { return error }
            return nil
        }
        let missing = error(queue.path + "/none")
        #expect(missing?.kind == .noSuchQueue && missing?.hint == "drainq init --queue \(queue.path)/none")
        #expect(error(queue.path + "/new")?.kind == .notAQueue)
        #expect(error(queue.path + "/state/format")?.kind == .notAQueue)
        try queue.put("2\n", at: "state/format")
        let newer = error(queue.path)
        #expect(
            newer?.kind == .newerFormat(2)
                && newer?.description == "cannot open '\(queue.path)': a newer drainq has written it (format 2)")
        for text in ["x", "", "0", "-1", "2 x"] {
            try queue.put(text, at: "state/format")
            #expect(error(queue.path)?.kind == .damaged)
        }
        try FileManager.default.removeItem(atPath: queue.path + "/state/format")
        #expect(error(queue.path) == nil)
        try FileManager.default.removeItem(atPath: queue.path + "/tmp")
        try queue.put("", at: "tmp")
        #expect(error(queue.path)?.description == "cannot open '\(queue.path)': not a queue")
    }

    @Test(
        arguments: [
            (EACCES, SpoolError.Kind.permission, "the queue must be writable by the user that runs drainq"),
            (ENOSPC, .io, "the disk is full, or has no inode left"),
            (EROFS, .io, "the file system is mounted read-only"), (EIO, .io, nil),
        ] as [(Int32, SpoolError.Kind, String?)])
    func `an error names its path, and hints at a remedy`(code: Int32, kind: SpoolError.Kind, hint: String?) throws {
        let calls = InterceptedCalls(.always("fsync", code))
        let error = #expect(throws: SpoolError.self) { try queue.open(calls.calls).writeState("x\u{1B}", [1]) }
        #expect(error?.kind == kind && error?.hint == hint && error?.path == "state/x\\x1b")
        #expect(error?.description == "cannot write 'state/x\\x1b': \(String(cString: strerror(code)))")
        #expect(queue.names("tmp").isEmpty)
    }

    @Test(arguments: [EACCES, EIO, ENOTDIR, ENOENT])
    func `the error of a failed opening has the kind of its errno`(code: Int32) {
        let calls = InterceptedCalls(.error(code, at: 1))
        let error = #expect(throws: SpoolError.self) { try queue.open(calls.calls) }
        let kinds: [Int32: SpoolError.Kind] = [
            EACCES: .permission, EIO: .io, ENOTDIR: .notAQueue, ENOENT: .noSuchQueue,
        ]
        #expect(error?.kind == kinds[code] && (error?.hint != nil) == (code != EIO))
    }

    @Test func `create reports an error at any call, and completes when called again`() throws {
        for index in 1... {
            let fresh = try TemporaryQueue(create: false)
            let calls = InterceptedCalls(.error(EIO, at: index))
            do {
                _ = try SpoolDirectory.create(at: fresh.path, system: calls.calls)
            } catch {
                #expect(error.kind == .io)
            }
            let isOver = calls.count < index
            _ = try SpoolDirectory.create(at: fresh.path)
            if isOver { break }
        }
        let error = #expect(throws: SpoolError.self) {
            let calls = InterceptedCalls(.error(EACCES, at: 1))
            _ = try SpoolDirectory.create(at: queue.path + "/x", system: calls.calls)
        }
        #expect(error?.kind == .permission)
    }

    @Test func `a failed opening closes each descriptor once`() throws {
        try queue.put("2\n", at: "state/format")
        for index in 1... {
            let calls = InterceptedCalls(.error(EIO, at: index))
            #expect(throws: SpoolError.self) { try queue.open(calls.calls) }
            #expect(calls.descriptors.isEmpty)
            if calls.count < index { break }
        }
    }

    @Test func `a queue is paused until the resume`() throws {
        let open = try queue.open()
        #expect(try !open.isPaused)
        try open.setPaused(true)
        try open.setPaused(true)
        #expect(try open.isPaused)
        try open.setPaused(false)
        try open.setPaused(false)
        #expect(try !open.isPaused)
        #expect(try open.freeBytes > 0)
    }

    @Test func `a listing returns operations, and counts foreign files`() throws {
        let added = try queue.add(["a", "b"])
        try queue.put("{}", at: "new/foreign.json")
        try queue.put("{}", at: "new/.hidden")
        let open = try queue.open()
        var entries: Set<Entry> = []
        #expect(try open.forEachEntry(in: .new) { entries.insert($0) } == 1)
        #expect(entries == Set(added))
        let run = try open.beginRun(now: TemporaryQueue.now)
        _ = try run.claim(added[0])
        try queue.put("", at: "claimed/stray")
        var claimed: [Entry] = []
        #expect(try open.forEachEntry(in: .claimed) { claimed.append($0) } == 0)
        #expect(claimed == [Entry(state: .claimed, name: added[0].name, claimedBy: run.name)])
        #expect(queue.bytes(claimed[0].path) != nil)
        #expect(try open.size(of: claimed[0]) == queue.bytes(claimed[0].path)?.count)
        #expect(try open.size(of: added[0]) == nil && open.read(added[0]) == nil)
        guard case .operation(let stored) = try open.read(claimed[0]) else { throw Errno(0) }
        #expect(stored.operation == queue.operation("a") && stored.fileSize == queue.bytes(claimed[0].path)?.count)
    }

    @Test func `a file name has digests of key and origin, and the notBefore time`() throws {
        var operation = queue.operation("a")
        operation.header.key = "k"
        operation.header.url = "https://API.example.com/v1?x"
        operation.header.notBefore = TemporaryQueue.now
        let accepted = try queue.open().accept([operation], limits: Limits())
        guard case .accepted(let name) = accepted.results[0] else { throw Errno(0) }
        #expect(name.keyDigest == Digest(of: "k") && name.originDigest == Digest(of: "https://api.example.com"))
        #expect(name.gate == .notBefore(TemporaryQueue.now.roundedUpToMilliseconds))
        #expect(queue.names("new") == [name.description])
        operation.header.id = OperationID("b")!
        operation.header.url = "nowhere"
        guard case .refused = try queue.open().accept([operation], limits: Limits()).results[0] else {
            throw Errno(0)
        }
        #expect(EntryName(naming: operation.header).originDigest == Digest(of: "nowhere"))
    }

    @Test func `a failing system call is an error, not an answer`() throws {
        let calls = InterceptedCalls()
        let open = try queue.open(calls.calls)
        calls.reset(.always("statusAt", EIO))
        let error = #expect(throws: SpoolError.self) { try open.isPaused }
        #expect(error?.description == "cannot look for 'paused': \(Errno(EIO))")
    }

    @Test func `a listing returns thousands of names`() throws {
        var generator = SystemRandomNumberGenerator()
        let names = (0..<2000).map {
            EntryName(createdAt: TemporaryQueue.now + .microseconds($0), id: .random(using: &generator))
        }
        for name in names { try queue.put("", at: "deferred/\(name)") }
        var count = 0
        try queue.open().forEachEntry(in: .deferred) { _ in count += 1 }
        #expect(count == 2000)
    }

    @Test func `random ids are UUIDs of version 4`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<100 {
            let id = OperationID.random(using: &generator).description
            #expect(UUID(uuidString: id) != nil && Array(id)[14] == "4" && "89ab".contains(Array(id)[19]))
        }
    }
}
