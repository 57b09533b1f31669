import CSystem
import Foundation
import Synchronization
import Testing

@testable import Policy
@testable import Spool

/// `state/keys/`: the values of answers for later operations of a key.
struct KeptTests {
    let queue: TemporaryQueue
    let now = TemporaryQueue.now
    static let key = "note 7"
    static let digest = Digest(of: key)
    static let file = "state/keys/\(digest).json"

    init() throws {
        queue = try TemporaryQueue()
    }

    private func kept(_ values: [String: String], unkept: [String] = []) -> KeptValues {
        KeptValues(
            values: values.mapValues { KeptValue(json: $0.utf8)! },
            unkept: Dictionary(uniqueKeysWithValues: unkept.map { ($0, KeepError.missing) }))
    }

    @discardableResult
    private func keep(_ kept: KeptValues, of id: String = "a", createdAt: Timestamp? = nil) throws -> Set<String> {
        try queue.open().keep(kept, of: age(id, createdAt), for: Self.key, at: now)
    }

    private func age(_ id: String, _ createdAt: Timestamp? = nil) -> Age {
        Age(createdAt: createdAt ?? now, id: OperationID(id)!)
    }

    private func kept() throws -> [String: String] {
        do {
            return try queue.open().keptValues(of: Self.digest).mapValues(\.json)
        } catch {
            if error.kind != .damaged { throw error }
            return [:]
        }
    }

    private func add(_ id: String, state: QueueState = .new) throws -> Entry {
        var operation = queue.operation(id)
        operation.header.key = Self.key
        _ = try queue.open().accept([operation], limits: Limits(), durable: false)
        return Entry(state: .new, name: EntryName(naming: operation.header))
    }

    @Test func `keep replaces a value of a key, and leaves the other values of the key`() throws {
        #expect(try queue.open().keptKeys().isEmpty && kept().isEmpty)
        #expect(try keep(kept(["id": "17", "tag": #""x""#])).isEmpty)
        #expect(try keep(kept(["tag": #""y""#]), of: "b").isEmpty)
        #expect(try kept() == ["id": "17", "tag": #""y""#])
        #expect(try queue.open().keptKeys() == [Self.digest])
        #expect(
            queue.text(Self.file)?.hasPrefix(
                #"{"version":1,"key":"note 7","values":{"id":{"value":17,"from":"a","createdAt":"#) == true)
        #expect(queue.names("state/keys") == ["\(Self.digest).json"])
    }

    @Test func `an answer without a value forgets the value of another operation, not its own`() throws {
        try keep(kept(["id": "17"]))
        #expect(try keep(kept([:], unkept: ["id"])).isEmpty)
        #expect(try kept() == ["id": "17"])
        #expect(try keep(kept([:], unkept: ["id"]), of: "b") == ["id"])
        #expect(try kept().isEmpty)
        // An id is free again once its operation has gone.
        try keep(kept(["id": "17"]))
        #expect(try keep(kept([:], unkept: ["id"]), createdAt: now + .seconds(1)) == ["id"])
        #expect(try kept().isEmpty)
    }

    @Test func `a value of an earlier version has no time of creation, and is of any operation of its id`() throws {
        try keep(kept(["id": "17"]))
        let text = String(decoding: try #require(queue.bytes(Self.file)), as: UTF8.self)
        var older = Array(text.replacing(#""createdAt":"\#(now.rfc3339)","#, with: "").utf8)
        #expect(older.count < text.utf8.count)
        Checksum.fill(&older, headerEnd: older.count - 1, bodyEnd: older.count)
        try queue.put(older, at: Self.file)
        #expect(try kept() == ["id": "17"])
        let later = now + .seconds(1)
        #expect(try keep(kept([:], unkept: ["id"]), createdAt: later).isEmpty)
        #expect(try kept() == ["id": "17"])
        try keep(kept(["id": "18"]), createdAt: later)
        #expect(queue.text(Self.file)?.contains(#""createdAt":"\#(later.rfc3339)""#) == true)
    }

    @Test func `a file with a flipped bit has no value`() throws {
        try keep(kept(["id": #""abc""#]))
        let whole = try #require(queue.bytes(Self.file))
        for index in whole.indices {
            for bit in [UInt8(1), 4, 32] {
                var bytes = whole
                bytes[index] ^= bit
                try queue.put(bytes, at: Self.file)
                #expect(try kept().isEmpty, "byte \(index)")
            }
        }
        try queue.put(Array(whole.dropLast(5)), at: Self.file)
        #expect(try kept().isEmpty)
        let open = try queue.open()
        #expect(try open.damages(now: now).contains(.unreadableState(Self.file)))
        _ = open.repair(by: ReplacementRule(Configuration(), at: .init(microseconds: 0)), now: now)
        #expect(queue.names("state/keys") == ["\(Self.digest).json.damaged"])
    }

    @Test func `a file of a newer drainq is neither read nor replaced, and a damaged file is an error`() throws {
        try keep(kept(["id": "17"]))
        let bytes = try #require(queue.bytes(Self.file))
        let text = String(decoding: bytes, as: UTF8.self).replacing("\"version\":1", with: "\"version\":2")
        var newer = Array(text.utf8)
        Checksum.fill(&newer, headerEnd: newer.count - 1, bodyEnd: newer.count)
        try queue.put(newer, at: Self.file)
        for attempt in [{ _ = try queue.open().keptValues(of: Self.digest) }, { _ = try keep(kept(["id": "18"])) }] {
            let error = #expect(throws: SpoolError.self) { try attempt() }
            #expect(error?.kind == .newerFormat(2))
        }
        #expect(queue.bytes(Self.file) == newer)
        #expect(try !queue.open().damages(now: now).contains(.unreadableState(Self.file)))
        try queue.put("x\n", at: Self.file)
        let error = #expect(throws: SpoolError.self) { try queue.open().keptValues(of: Self.digest) }
        #expect(error?.kind == .damaged && error?.description == "cannot read '\(Self.file)': it is damaged")
    }

    @Test func `a symbolic link in place of a key's file gives way to the next value`() throws {
        try keep(kept(["id": "17"]))
        let path = "\(queue.path)/\(Self.file)"
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "elsewhere")
        #expect(throws: SpoolError.self) { try kept() }
        try keep(kept(["id": "18"]))
        #expect(try kept() == ["id": "18"])
    }

    @Test func `keep waits half a minute for another writer`() throws {
        var calls = SystemCalls.real
        let waited = Mutex(Duration.zero)
        calls.sleep = { duration in waited.withLock { $0 += duration } }
        let (open, other) = (try queue.open(), try queue.open(calls))
        _ = try open.updateState("x.json", durable: false) { _ in
            let error = #expect(throws: SpoolError.self) {
                try other.keep(kept(["id": "17"]), of: age("a"), for: Self.key, at: now)
            }
            #expect(error?.isLocked == true)
            return nil
        }
        #expect(waited.withLock { $0 } == .seconds(30))
    }

    @Test func `a value stays while an operation of its key waits or has failed`() throws {
        try keep(kept(["id": "17"]))
        let entry = try add("a")
        let open = try queue.open()
        let future = Timestamp(rfc3339: "2100-01-01T00:00:00Z")!
        #expect(try open.pruneKept(olderThan: future, at: now) == 0)
        let run = try open.beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        #expect(try open.pruneKept(olderThan: future, at: now) == 0)
        guard case .moved(let failed) = try run.settle(claim, .failed(countsAttempt: true), record: nil, now: now)
        else { throw Errno(0) }
        try run.end()
        #expect(try open.pruneKept(olderThan: future, at: now) == 0)
        #expect(try open.drop(failed))
        #expect(try open.pruneKept(olderThan: Timestamp(microseconds: 0), at: now) == 0)
        #expect(try open.pruneKept(olderThan: future, at: now) == 1)
        #expect(try open.keptKeys().isEmpty)
    }

    @Test func `a value stays while an operation of its key is deferred`() throws {
        try keep(kept(["id": "17"]))
        let entry = try add("a")
        let open = try queue.open()
        let run = try open.beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        _ = try run.settle(claim, .deferred(until: now + .seconds(60), countsAttempt: true), record: nil, now: now)
        try run.end()
        #expect(try open.pruneKept(olderThan: Timestamp(rfc3339: "2100-01-01T00:00:00Z")!, at: now) == 0)
        #expect(try kept() == ["id": "17"])
    }

    @Test func `a waiting foreign file prolongs the time of values by its own age`() throws {
        try keep(kept(["id": "17"]))
        let open = try queue.open()
        let (now, day) = (Date(), Double(86_400))
        let later = Timestamp(microseconds: Int64((now + 8 * day).timeIntervalSince1970 * 1_000_000))
        let limit = later - .seconds(7 * 86_400)
        func drop(_ file: String, at time: Date) throws {
            try queue.put("{}", at: file)
            try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: "\(queue.path)/\(file)")
        }
        // The file was dropped within the retention of the value.
        try drop("new/dropped.json", at: now - day)
        try drop("new/just-now.json", at: now + 8 * day)
        #expect(try open.pruneKept(olderThan: limit, at: later) == 0)
        try FileManager.default.removeItem(atPath: "\(queue.path)/new/dropped.json")
        let run = try open.beginRun(now: self.now)
        let claim = "claimed/\(run.name)/admitting-x"
        try drop(claim, at: now + 8 * day)
        #expect(try open.pruneKept(olderThan: limit, at: later) == 0)
        try FileManager.default.removeItem(atPath: "\(queue.path)/\(claim)")
        #expect(try open.pruneKept(olderThan: limit, at: later) == 1)
        try run.end()
    }

    @Test func `only a limited number of finished keys have values`() throws {
        let open = try queue.open()
        for key in ["a", "b", "c", "d"] {
            _ = try open.keep(kept(["id": "17"]), of: age("x"), for: key, at: now)
        }
        var operation = queue.operation("waits")
        operation.header.key = "b"
        _ = try open.accept([operation], limits: Limits(), durable: false)
        #expect(try open.pruneKept(olderThan: Timestamp(microseconds: 0), at: now, atMost: 3) == 0)
        #expect(try open.pruneKept(olderThan: Timestamp(microseconds: 0), at: now, atMost: 1) == 2)
        #expect(try open.keptKeys().count == 2 && open.keptKeys().contains(Digest(of: "b")))
    }

    /// Returns whether the delivery was settled and synced.
    private func deliver(_ open: SpoolDirectory, _ entry: Entry) -> Bool {
        do {
            let run = try open.beginRun(now: now)
            guard let claim = try run.claim(entry), case .operation = try run.read(claim) else {
                return false
            }
            _ = try open.keep(kept(["id": "17"]), of: age("a"), for: Self.key, at: now)
            _ = try run.settle(claim, as: .delivered(keep: false))
            try run.sync()
            return true
        } catch {
            return false
        }
    }

    @Test(arguments: [true, false])
    func `after a crash or an error at any call, the queue has the operation or its value`(isCrash: Bool) throws {
        for index in 1... {
            let queue = try TemporaryQueue()
            var operation = queue.operation("a")
            operation.header.key = Self.key
            _ = try queue.open().accept([operation], limits: Limits(), durable: false)
            let calls = InterceptedCalls()
            var isAnswered = false
            do {
                let open = try queue.open(calls.calls)
                calls.reset(isCrash ? .crash(at: index) : .error(EIO, at: index))
                isAnswered = deliver(open, Entry(state: .new, name: EntryName(naming: operation.header)))
            }
            _ = try queue.recover()
            let values = try queue.open().keptValues(of: Self.digest)
            let entries = try queue.entries()
            #expect(entries.count == 1 || values.mapValues(\.json) == ["id": "17"], "call \(index)")
            if isAnswered { #expect(values.count == 1) }
            // The operation is sent again, and its value kept anew.
            if let entry = entries.first { #expect(deliver(try queue.open(), entry)) }
            #expect(try queue.open().keptValues(of: Self.digest).mapValues(\.json) == ["id": "17"])
            #expect(try queue.entries().isEmpty)
            if calls.count < index { break }
        }
    }

    @Test func `a value is durable before its operation is removed`() throws {
        let calls = InterceptedCalls()
        let entry = try add("a")
        let open = try queue.open(calls.calls)
        calls.reset()
        #expect(deliver(open, entry))
        let log = calls.log.filter { ["write", "fsync", "rename", "unlink"].contains($0) }
        let written = try #require(log.firstIndex(of: "write"))
        // The bytes of the new file, its sync, its rename and the sync of the directory; then the operation.
        #expect(Array(log[written...].filter { $0 != "unlink" }.prefix(4)) == ["write", "fsync", "rename", "fsync"])
        #expect(log.lastIndex(of: "unlink")! > log[written...].firstIndex(of: "rename")!)
    }

    @Test func `the copy of a delivered operation keeps the answer`() throws {
        let entry = try add("a")
        let run = try queue.open().beginRun(now: now)
        let claim = try #require(try run.claim(entry))
        for body in [Array(#"{"id":7}"#.utf8), [0xFF, 0, 10], []] {
            var record = TemporaryQueue.record(.delivered)
            record.answer = KeptAnswer(contentType: "application/json", body: body, isCut: body.isEmpty)
            let bytes = OperationFile.encode(
                Policy.Operation(header: queue.operation("a").header, body: [], attempts: [record]))
            let back = try OperationFile.decode(bytes, file: "x")
            #expect(back.attempts.first?.answer == record.answer)
        }
        var record = TemporaryQueue.record(.delivered)
        record.answer = KeptAnswer(body: Array("ok".utf8))
        guard case .moved(let copy) = try run.settle(claim, as: .delivered(keep: true), record: record),
            case .operation(let stored)? = try queue.open().read(copy)
        else { throw Errno(0) }
        #expect(copy.state == .delivered && stored.operation.attempts.last?.answer?.body == Array("ok".utf8))
        try run.end()
    }
}
