import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

struct AdmissionTests {
    let queue: TemporaryQueue
    let now = TemporaryQueue.now

    init() throws {
        queue = try TemporaryQueue()
    }

    func admit(_ limits: Limits = Limits()) throws -> Admission {
        let run = try queue.open().beginRun(now: now)
        let admission = try run.admitForeign(now: now, limits: limits)
        try run.end()
        return admission
    }

    @Test func `a dropped JSON value becomes a payload, byte for byte, and its mtime the time of creation`() throws {
        try queue.put(" {\"n\": 1.10}\n", at: "new/x")
        let time = Date(timeIntervalSince1970: 1_700_000_000)
        try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: queue.path + "/new/x")
        let admission = try admit()
        let entry = try #require(admission.admitted.first)
        #expect(entry.name.createdAt == Timestamp(microseconds: 1_700_000_000_000_000) && entry.name.type == .default)
        guard case .operation(let stored) = try queue.open().read(entry) else { throw Errno(0) }
        #expect(stored.operation.body == Array("{\"n\": 1.10}".utf8))
        #expect(queue.names("new") == [entry.name.description] && admission.errors.isEmpty)
        #expect(try admit() == Admission())
    }

    @Test func `a run lists foreign files once no other run has one in its hands`() throws {
        try queue.put("5", at: "tmp/x")
        var system = SystemCalls.real
        let queue = queue
        nonisolated(unsafe) var hasBegun = false
        // The other run has claimed the file, cannot name it, puts it back, and then gives the names lock back.
        system.lock = { (descriptor) throws(Errno) in
            if hasBegun { rename("\(queue.path)/tmp/x", "\(queue.path)/new/x") }
            return try SystemCalls.real.lock(descriptor)
        }
        let run = try queue.open(system).beginRun(now: now)
        hasBegun = true
        #expect(try run.admitForeign(now: now, limits: Limits()).admitted.count == 1)
        try run.end()
    }

    @Test func `a listed file that another run takes meanwhile is looked for again`() throws {
        try queue.put("5", at: "new/x")
        var system = SystemCalls.real
        system.rename = { (from, name, to, target) throws(Errno) in
            if String(cString: name) == "new/x" { throw .missing }
            try SystemCalls.real.rename(from, name, to, target)
        }
        let run = try queue.open(system).beginRun(now: now)
        let admission = try run.admitForeign(now: now, limits: Limits())
        #expect(admission.hasMore && admission.admitted.isEmpty && admission.errors.isEmpty)
        try run.end()
    }

    @Test func `a dropped envelope keeps its id, type and times`() throws {
        try queue.put(
            #"{"drainq":1,"id":"mine","type":"t","createdAt":"2026-01-01T00:00:00Z","notBefore":"2027-01-01T00:00:00Z","payload":5,"key":"k"}"#,
            at: "new/x.json")
        let name = try #require(try admit().admitted.first?.name)
        #expect(name.description == "20260101T000000.000000Z-mine,r=t,k=\(Digest(of: "k")),n=20270101T000000Z.json")
    }

    @Test func `admission quarantines bad files with their reasons, and admits the good files`() throws {
        let files: [(String, [UInt8])] = [
            ("it is empty", []), ("it is empty", Array(" \n".utf8)), ("it has a NUL at byte 1", [0x35, 0]),
            ("it is not valid UTF-8", [0x22, 0xFF, 0x22]), ("more than one JSON value", Array("1 2".utf8)),
            ("it is truncated: expected a name in quotes, found the end at column 2", Array("{".utf8)),
            ("it is truncated: expected ',' or '}', found the end at column 7", Array("{\"a\":1\n".utf8)),
            ("the name is not valid text at byte 24", Array(#"{"drainq":1,"payload":1,"\ud800":2}"#.utf8)),
            ("expected a value at column 1", Array("x".utf8)),
            ("field 'bodyFile': \(BodyFileRefusal.noRoots)", Array(#"{"drainq":1,"bodyFile":"/etc/passwd"}"#.utf8)),
            ("field 'drainq': written by a newer drainq (format 2)", Array(#"{"drainq":2}"#.utf8)),
            (
                "the operation is larger than the limit of 1kB",
                Array("\"\(String(repeating: "x", count: 1000))\"".utf8)
            ),
            ("it is too long: 70000 bytes, 66536 are allowed", [UInt8](repeating: 0x20, count: 70000)),
            (
                "key, URL and headers are longer than 64KiB",
                Array(#"{"drainq":1,"payload":1,"x":"\#(String(repeating: "x", count: 65_500))"}"#.utf8)
            ),
        ]
        for (index, file) in files.enumerated() { try queue.put(file.1, at: "new/bad-\(index)") }
        mkdir(queue.path + "/new/directory", 0o700)
        mkfifo(queue.path + "/new/fifo", 0o600)
        symlink("/etc/passwd", queue.path + "/new/link")
        try queue.put("5", at: "hard")
        link(queue.path + "/hard", queue.path + "/new/hard")
        makeSocket(at: queue.path + "/new/s")
        try queue.put("1", at: "new/" + String(repeating: "n", count: 255))
        let odd: [CChar] = Array((queue.path + "/new/").utf8CString.dropLast()) + [CChar(bitPattern: 0xFF), 0x1B, 0]
        close(creat(odd, 0o600))
        try queue.put("2", at: "new/good")

        let admission = try admit(Limits(operationBytes: 1000))
        #expect(admission.admitted.count == 2 && admission.errors.isEmpty)
        let expected =
            files.map(\.0) + [
                "it is a directory", "it is a FIFO", "it is a symbolic link", "it is a socket",
                "it has 2 names (hard links)", "it is empty",
            ]
        #expect(admission.quarantined.compactMap(\.reason).sorted() == expected.sorted())
        #expect(admission.quarantined.contains { $0.originalName == "\\xff\\x1b" && $0.source == "new" })
        let items = try queue.open().quarantined()
        #expect(Set(items) == Set(admission.quarantined))
        #expect(queue.names("new").count == 2)
        for item in items { #expect(try queue.open().drop(item)) }
        #expect(queue.names("quarantine").isEmpty)
        #expect(try items.allSatisfy { try !queue.open().drop($0) })
    }

    @Test func `a foreign file with an id of the queue is a conflict`() throws {
        try queue.add(["a"])
        try queue.put(#"{"drainq":1,"id":"a","payload":5}"#, at: "new/x")
        try queue.put(#"{"drainq":1,"id":"b","payload":5}"#, at: "new/y")
        try queue.put(#"{"drainq":1,"id":"b","payload":6}"#, at: "new/z")
        let admission = try admit()
        #expect(admission.admitted.map(\.name.id.description) == ["b"])
        #expect(
            admission.quarantined.compactMap(\.reason).sorted() == [
                "ids in conflict: an operation with the id 'a' is in the queue already",
                "ids in conflict: an operation with the id 'b' is in the queue already",
            ])
    }

    @Test(arguments: [EIO, EMFILE, ENOSPC])
    func `a system error quarantines nothing, and the files stay in new`(code: Int32) throws {
        for call in ["open", "read", "status", "write", "fsync"] {
            let fresh = try TemporaryQueue()
            try fresh.put("5", at: "new/x")
            try fresh.put("6", at: "new/y")
            let calls = InterceptedCalls()
            let run = try fresh.open(calls.calls).beginRun(now: now)
            calls.reset(.always(call, code))
            let admission = try? run.admitForeign(now: now, limits: Limits())
            calls.reset()
            if let admission { #expect(!admission.errors.isEmpty && admission.admitted.isEmpty) }
            #expect(fresh.names("new") == ["x", "y"] && fresh.names("quarantine").isEmpty)
            try run.end()
        }
    }

    @Test func `a foreign file gone before its rename is no error`() throws {
        try queue.put("5", at: "new/x")
        let calls = InterceptedCalls()
        let run = try queue.open(calls.calls).beginRun(now: now)
        for code in [ENOENT, EACCES] {
            calls.reset(.always("rename", code))
            let admission = try run.admitForeign(now: now, limits: Limits())
            #expect(admission.errors.count == (code == ENOENT ? 0 : 1) && queue.names("new") == ["x"])
        }
        calls.reset(.lie("rename", EIO, at: 1))
        #expect(try run.admitForeign(now: now, limits: Limits()).admitted.count == 1)
    }

    @Test func `a foreign file keeps its time of writing, whatever call failed before`() throws {
        for index in 1... {
            let fresh = try TemporaryQueue()
            for name in ["x", "y", "z"] { try fresh.put("\"\(name)\"", at: "new/\(name)") }
            let written = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
            let calls = InterceptedCalls()
            let run = try fresh.open(calls.calls).beginRun(now: written)
            calls.reset(.error(ENOSPC, at: index))
            _ = try? run.admitForeign(now: written + .seconds(20), limits: Limits())
            let count = calls.count
            calls.reset()
            try? run.end()
            let next = try fresh.open().beginRun(now: written)
            _ = try next.recover(now: written)
            _ = try next.admitForeign(now: written + .seconds(40), limits: Limits())
            try next.end()
            let times = try fresh.entries().map(\.name.createdAt)
            #expect(times.count == 3 && times.allSatisfy { $0 < written + .seconds(10) }, "call \(index)")
            if count < index { break }
        }
    }

    @Test func `after a crash or an error at any call each file is admitted once`() throws {
        for fault in [InterceptedCalls.Fault.crash(at:), { .error(EIO, at: $0) }] {
            for index in 1... {
                let fresh = try TemporaryQueue()
                try fresh.put("5", at: "new/x")
                try fresh.put(#"{"drainq":1,"id":"own","payload":6}"#, at: "new/y")
                try fresh.put("no", at: "new/z")
                let calls = InterceptedCalls()
                do {
                    let open = try fresh.open(calls.calls)
                    let run = try open.beginRun(now: now)
                    calls.reset(fault(index))
                    _ = try? run.admitForeign(now: now, limits: Limits())
                    if case .error = fault(index) { try? run.end() }
                }
                let run = try fresh.open().beginRun(now: now)
                _ = try run.recover(now: now)
                _ = try run.admitForeign(now: now, limits: Limits())
                try run.end()
                let bodies = try fresh.names("new").map {
                    try OperationFile.decode(fresh.bytes("new/\($0)")!, file: $0).body
                }
                #expect(Set(bodies) == [[0x35], [0x36]] && bodies.count == 2)
                #expect(try fresh.open().quarantined().count == 1)
                #expect(fresh.names("claimed").isEmpty && fresh.names("tmp").isEmpty)
                if calls.count < index { break }
            }
        }
    }

    // MARK: - Order

    private func write(_ name: String, at time: Timestamp, key: String = "k") throws {
        try queue.put(#"{"drainq":1,"key":"\#(key)","payload":"\#(name)"}"#, at: "new/\(name)")
        let date = Date(timeIntervalSince1970: Double(time.microseconds) / 1e6)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: "\(queue.path)/new/\(name)")
    }

    /// The payloads of the admitted files, the oldest operation first.
    private func admitInOrder(
        route: Route = Route(url: "http://one/", coalesce: true), names: Int,
        _ add: (SpoolDirectory) throws -> Void = { _ in }
    ) throws -> [String] {
        let open = try queue.open()
        let run = try open.beginRun(now: now)
        try add(open)
        var control = AdmissionControl(Configuration(defaultRoute: route))
        #expect(try run.admitForeign(now: now, within: &control).admitted.count == names)
        try run.end()
        return try queue.entries().sorted { $0.name.createdAt < $1.name.createdAt }.map { entry in
            guard case .operation(let stored)? = try open.read(entry) else { throw Errno(0) }
            return String(decoding: stored.operation.body, as: UTF8.self).filter { $0 != "\"" }
        }
    }

    @Test func `foreign files get the order of their writing, whatever the order of the directory`() throws {
        // More than a batch of files. A fast writer gives several files the same time.
        let files = (1000..<2100).map { "v\($0)" }
        for (index, name) in files.enumerated() { try write(name, at: now - .seconds(60) + .seconds(index / 100)) }
        #expect(try admitInOrder(names: files.count) == files)
        // The names do not give the order.
        let fresh = try AdmissionTests()
        for index in 0..<20 { try fresh.write("w\(20 - index)", at: now - .seconds(60 - index)) }
        #expect(try fresh.admitInOrder(names: 20) == (0..<20).map { "w\(20 - $0)" })
    }

    @Test func `foreign files from the future are dated now, in the order of their writing`() throws {
        for index in 0..<20 { try write("w\(20 - index)", at: now + .seconds(3600 + index)) }
        try write("x", at: now - .seconds(1))
        #expect(try admitInOrder(names: 21) == ["x"] + (0..<20).map { "w\(20 - $0)" })
        #expect(try queue.entries().allSatisfy { $0.name.createdAt < now + .seconds(1) })
    }

    /// Adds an operation at a time, as `drainq add` does.
    private func add(_ id: String, at time: Timestamp, to open: SpoolDirectory) throws {
        var operation = queue.operation(id, body: "\"\(id)\"")
        (operation.header.key, operation.header.createdAt) = ("k", time)
        var control = AdmissionControl(Configuration(defaultRoute: Route(url: "http://one/", coalesce: true)))
        _ = try open.accept([Submission(operation, hasOwnID: true, at: time, isDated: false)], within: &control)
    }

    @Test func `a foreign file is newer than operations added before the file, and older than later operations`() throws
    {
        try write("v2", at: now - .seconds(20))
        let order = try admitInOrder(names: 1) { open in
            try add("v1", at: now - .seconds(30), to: open)
            try add("v3", at: now - .seconds(10), to: open)
        }
        #expect(order == ["v1", "v2", "v3"])
    }

    @Test
    func `an operation added while a run waits to admit an older file is not from the future`()
        throws
    {
        try write("v1", at: now - .seconds(20))
        var clock = now
        var isWaiting = false
        var system = SystemCalls.real
        system.lock = { (descriptor) throws(Errno) in
            guard isWaiting else { return try SystemCalls.real.lock(descriptor) }
            // The run waits for the names lock meanwhile.
            isWaiting = false
            clock = clock + .seconds(60)
            var operation = queue.operation("v2", body: "\"v2\"")
            (operation.header.key, operation.header.createdAt) = ("k", clock)
            var control = AdmissionControl(Configuration(defaultRoute: Route(url: "http://one/", coalesce: true)))
            let submission = Submission(operation, hasOwnID: false, at: clock, isDated: false)
            _ = try? queue.open().accept([submission], within: &control)
            clock = clock + .seconds(1)
            return try SystemCalls.real.lock(descriptor)
        }
        let run = try queue.open(system).beginRun(now: now)
        isWaiting = true
        var control = AdmissionControl(Configuration(defaultRoute: Route(url: "http://one/", coalesce: true)))
        #expect(try run.admitForeign(now: clock, within: &control).admitted.count == 1)
        try run.end()
        let bodies = try queue.entries().sorted { $0.name.createdAt < $1.name.createdAt }.map { entry in
            guard case .operation(let stored)? = try queue.open().read(entry) else { throw Errno(0) }
            return String(decoding: stored.operation.body, as: UTF8.self)
        }
        #expect(bodies == ["\"v1\"", "\"v2\""])
    }

    @Test func `foreign files are newer than an operation from the future`() throws {
        for index in 0..<5 { try write("w\(5 - index)", at: now - .seconds(60 - index)) }
        let order = try admitInOrder(names: 5) { open in try add("ahead", at: now + .seconds(3600), to: open) }
        #expect(order == ["ahead", "w5", "w4", "w3", "w2", "w1"])
    }

    // MARK: - Room

    @Test func `a full disk evicts no foreign file for files that cannot enter`() throws {
        for index in 1...5 { try write("w\(index)", at: now - .seconds(60 - index), key: "\(index)") }
        let calls = InterceptedCalls()
        let run = try queue.open(calls.calls).beginRun(now: now)
        let limits = Limits(operations: 2, whenFull: .dropOldest)
        calls.reset(.always("write", ENOSPC))
        let failed = try run.admitForeign(now: now, limits: limits)
        #expect(failed.admitted.isEmpty && failed.evicted.isEmpty && !failed.errors.isEmpty)
        #expect(queue.names("new") == ["w1", "w2", "w3", "w4", "w5"])
        calls.reset()
        let admission = try run.admitForeign(now: now, limits: limits)
        #expect(admission.admitted.count == 5 && admission.evicted == Array(admission.admitted.prefix(3)))
        #expect(admission.errors.isEmpty)
        #expect(queue.names("new").count == 2)
        try run.end()
    }

    @Test func `an operation whose removal fails stays, and is not reported as evicted`() throws {
        for index in 1...3 { try write("w\(index)", at: now - .seconds(60 - index), key: "\(index)") }
        let calls = InterceptedCalls()
        let run = try queue.open(calls.calls).beginRun(now: now)
        calls.reset(.always("unlink", EIO))
        let admission = try run.admitForeign(now: now, limits: Limits(operations: 2, whenFull: .dropOldest))
        #expect(admission.admitted.count == 3 && admission.evicted.isEmpty && admission.errors.count == 1)
        calls.reset()
        try run.end()
        try queue.recover()
        #expect(queue.names("new").count == 3)
    }

    private func makeSocket(at path: String) {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        close(descriptor)
        #expect(result == 0)
    }
}
