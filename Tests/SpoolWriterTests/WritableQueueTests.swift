import Foundation
import Policy
import Scratch
import Spool
import SpoolWriter
import Testing

/// What a program sees that enqueues by itself.
struct WritableQueueTests {
    let path = Scratch.directory.appending(path: "drainq-writer-\(UUID().uuidString)").path

    /// Runs with a queue that is removed afterwards.
    func withQueue(_ body: (SpoolDirectory) throws -> Void) throws {
        let spool = try SpoolDirectory.create(at: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(spool)
    }

    func operations(_ spool: SpoolDirectory) throws -> [Policy.Operation] {
        var entries: [Entry] = []
        try spool.forEachEntry(in: .new) { entries.append($0) }
        return try entries.sorted { $0.path < $1.path }.map { entry in
            guard case .operation(let stored) = try spool.read(entry) else { throw CocoaError(.fileReadCorruptFile) }
            return stored.operation
        }
    }

    @Test func `what is added is what drainq reads, byte for byte`() throws {
        try withQueue { spool in
            var given = NewOperation(json: #"{"price": 1.10}"#, type: "upgrade", key: "u7", id: "a")
            given.method = "PUT"
            given.url = "https://api.example.com/x"
            given.headers = ["X-B": "2", "X-A": "1"]
            given.notBefore = Date(timeIntervalSince1970: 1_800_000_000.5)
            given.expiresAt = Date(timeIntervalSince1970: 1_900_000_000)
            given.idempotencyKey = "once"
            #expect(try WritableQueue(at: path).add(given) == "a")
            let operation = try #require(try operations(spool).first)
            let header = operation.header
            #expect(operation.body == Array(#"{"price": 1.10}"#.utf8))
            #expect(header.id.description == "a" && header.type.description == "upgrade" && header.key == "u7")
            #expect(header.method == "PUT" && header.url == "https://api.example.com/x")
            #expect(header.headers == [HeaderField(name: "X-A", value: "1"), HeaderField(name: "X-B", value: "2")])
            #expect(header.notBefore == Timestamp(microseconds: 1_800_000_000_500_000))
            #expect(header.expiresAt == Timestamp(microseconds: 1_900_000_000_000_000))
            #expect(header.idempotencyKey == "once" && header.contentType == "application/json")
        }
    }

    /// Writes the queue's configuration.
    func configure(_ text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(path)/drainq.json"))
    }

    @Test func `an operation without a key gets that of its route, and keeps its own`() throws {
        try withQueue { spool in
            try configure(
                #"{ routes: { default: { url: "https://api.example.com/" }, upgrade: { key: "user-{payload.user}" } } }"#
            )
            let queue = try WritableQueue(at: path)
            try queue.add(NewOperation(json: #"{"user": 7}"#, type: "upgrade"))
            try queue.add(NewOperation(json: #"{"user": 8}"#, type: "upgrade", key: "own"))
            try queue.add(NewOperation(json: #"{"user": 9}"#))
            #expect(try operations(spool).map(\.header.key) == ["user-7", "own", nil])
        }
    }

    @Test func `what the route's key cannot be made of is refused`() throws {
        try withQueue { spool in
            try configure(
                #"{ routes: { default: { url: "https://api.example.com/" }, upgrade: { key: "user-{payload.user}" } } }"#
            )
            let error = try #require(throws: WriteError.self) {
                try WritableQueue(at: path).add(NewOperation(json: "{}", type: "upgrade"))
            }
            #expect(error.kind == .invalid)
            #expect(try operations(spool).isEmpty)
        }
    }

    @Test func `an operation is newer than those of its key that wait, even if the clock was set back`() throws {
        try withQueue { spool in
            try configure(#"{ routes: { default: { url: "https://api.example.com/", coalesce: true } } }"#)
            let queue = try WritableQueue(at: path)
            try queue.add(NewOperation(json: "1", key: "k"))
            let ahead = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1e6)) + .seconds(3600)
            let header = OperationHeader(
                id: OperationID("ahead")!, createdAt: ahead, contentType: "application/json", key: "k")
            let operation = Policy.Operation(header: header, body: Array("2".utf8))
            var control = AdmissionControl(Configuration())
            _ = try spool.accept([Submission(operation, hasOwnID: true, at: ahead, isDated: false)], within: &control)
            try queue.add(NewOperation(json: "3", key: "k"))
            #expect(try operations(spool).map { String(decoding: $0.body, as: UTF8.self) } == ["1", "2", "3"])
        }
    }

    @Test func `a configuration that changes holds from the next operation on`() throws {
        try withQueue { spool in
            let queue = try WritableQueue(at: path)
            try queue.add(NewOperation(json: #"{"user": 7}"#))
            try configure(#"{ routes: { default: { key: "{payload.user}" } } }"#)
            try queue.add(NewOperation(json: #"{"user": 8}"#))
            #expect(try operations(spool).map(\.header.key) == [nil, "8"])
            try configure("{ limits: { operations: 2 } }")
            #expect(throws: WriteError.self) { try queue.add(NewOperation(json: "3")) }
        }
    }

    @Test func `a wrong configuration stops the writer until it is mended`() throws {
        try withQueue { spool in
            let queue = try WritableQueue(at: path)
            try configure("{ limit: 3 }")
            let errors = [
                try #require(throws: WriteError.self) { try WritableQueue(at: path) },
                try #require(throws: WriteError.self) { try queue.add(NewOperation(json: "1")) },
            ]
            for error in errors {
                #expect(error.kind == .configuration)
                #expect(error.description.hasPrefix("\(path)/drainq.json:1:3: limit: "))
                #expect(error.hint == "did you mean 'limits'?")
            }
            try configure("{}")
            try queue.add(NewOperation(json: "2"))
            #expect(try operations(spool).count == 1)
        }
    }

    @Test func `a queue that has had a configuration takes nothing while its file is away`() throws {
        try withQueue { spool in
            try configure(#"{ routes: { default: { key: "{payload.user}" } } }"#)
            spool.noteConfiguration()
            let queue = try WritableQueue(at: path)
            try FileManager.default.removeItem(atPath: "\(path)/drainq.json")
            for attempt in [{ _ = try WritableQueue(at: path) }, { try queue.add(NewOperation(json: "{}")) }] {
                let error = try #require(throws: WriteError.self) { try attempt() }
                #expect(error.kind == .configuration)
                #expect(error.description == "cannot read '\(path)/drainq.json': No such file or directory")
            }
            try configure("{}")
            try queue.add(NewOperation(json: "1"))
            #expect(try operations(spool).count == 1)
        }
    }

    @Test func `a configuration that was named is read, and has to be there`() throws {
        try withQueue { spool in
            try configure("{ limit: 1 }")
            let file = "\(path)/tmp/other.json"
            let error = try #require(throws: WriteError.self) { try WritableQueue(at: path, configuration: file) }
            #expect(error.kind == .configuration)
            #expect(error.description == "cannot read '\(file)': No such file or directory")
            try Data("{}".utf8).write(to: URL(filePath: file))
            try WritableQueue(at: path, configuration: file).add(NewOperation(json: "1"))
            #expect(try operations(spool).count == 1)
        }
    }

    @Test func `many keep their order, under ids of their own`() throws {
        try withQueue { spool in
            let queue = try WritableQueue(at: path)
            var ids = try queue.add((0..<100).map { NewOperation(json: "\($0)") })
            ids.append(try queue.add(NewOperation(json: "100")))
            #expect(Set(ids).count == 101)
            let added = try operations(spool)
            #expect(added.map(\.header.id.description) == ids)
            #expect(added.map { String(decoding: $0.body, as: UTF8.self) } == (0...100).map(String.init))
        }
    }

    @Test func `an id that is there already is not added again`() throws {
        try withQueue { spool in
            let queue = try WritableQueue(at: path)
            for text in ["1", "2"] { #expect(try queue.add(NewOperation(json: text, id: "same")) == "same") }
            #expect(try operations(spool).map(\.body) == [Array("1".utf8)])
        }
    }

    @Test func `threads add at once`() throws {
        try withQueue { spool in
            let queue = try WritableQueue(at: path)
            DispatchQueue.concurrentPerform(iterations: 50) { number in
                do {
                    try queue.add(NewOperation(json: "\(number)"))
                } catch {
                    Issue.record(error)
                }
            }
            #expect(try operations(spool).count == 50)
        }
    }

    @Test func `a value that can be encoded is a payload`() throws {
        struct Upgrade: Encodable { var user: Int }
        try withQueue { spool in
            try WritableQueue(at: path).add(NewOperation(payload: Upgrade(user: 7)))
            #expect(try operations(spool).map(\.body) == [Array(#"{"user":7}"#.utf8)])
        }
    }

    @Test(arguments: [
        (NewOperation(json: "1", type: "a/b"), "cannot add: type: expected 1 to 64 of A-Z a-z 0-9 _ - ."),
        (NewOperation(json: "1", id: ""), "cannot add: id: expected 1 to 64 of A-Z a-z 0-9 _ -"),
        (
            NewOperation(json: "1", key: String(repeating: "k", count: 1025)),
            "cannot add: field 'key': longer than 1024 bytes"
        ),
        (NewOperation(json: "{"), "cannot add: body: expected one JSON value"),
        (NewOperation(json: "1 2"), "cannot add: body: expected one JSON value"),
    ])
    func `what could never be sent is refused, and nothing of its batch is added`(
        operation: NewOperation, reason: String
    ) throws {
        try withQueue { spool in
            let error = try #require(throws: WriteError.self) {
                try WritableQueue(at: path).add([NewOperation(json: "1"), operation])
            }
            #expect(error.kind == .invalid)
            #expect(error.description == reason)
            #expect(try operations(spool).isEmpty)
        }
    }

    @Test func `a header that would smuggle in another one is refused`() throws {
        try withQueue { _ in
            try configure(#"{ routes: { default: { url: "https://api.example.com/" } } }"#)
            var operation = NewOperation(json: "1")
            operation.headers = ["X-A": "1\r\nX-B: 2"]
            #expect(throws: WriteError.self) { try WritableQueue(at: path).add(operation) }
        }
    }

    @Test func `a full queue takes none of a batch that would pass its limit`() throws {
        try withQueue { spool in
            try configure("{ limits: { operations: 2 } }")
            let queue = try WritableQueue(at: path)
            try queue.add(NewOperation(json: "1"))
            let error = try #require(throws: WriteError.self) {
                try queue.add([NewOperation(json: "2"), NewOperation(json: "3")])
            }
            #expect(error.kind == .full)
            #expect(try operations(spool).count == 1)
        }
    }

    @Test func `what makes room is in the queue's log`() throws {
        try withQueue { spool in
            try configure("{ limits: { operations: 1, whenFull: 'dropOldest' } }")
            let queue = try WritableQueue(at: path)
            let first = try queue.add(NewOperation(json: "1"))
            try queue.add(NewOperation(json: "2"))
            var events: [LogEvent] = []
            try spool.forEachLogLine { line in if let event = LogEvent(line: line) { events.append(event) } }
            #expect(events.map(\.kind) == [.evicted] && events.first?.ids == [first])
        }
    }

    @Test func `a queue that a newer drainq has made its own is refused, also by a program that has it open already`()
        throws
    {
        try withQueue { spool in
            let queue = try WritableQueue(at: path)
            try spool.writeState("format", Array("2\n".utf8))
            let refusals = [
                #expect(throws: WriteError.self) { try WritableQueue(at: path) },
                #expect(throws: WriteError.self) { try queue.add(NewOperation(json: "1")) },
            ]
            for refusal in refusals {
                #expect(refusal?.kind == .newerFormat)
                #expect(refusal?.description == "cannot open '\(path)': a newer drainq has written it (format 2)")
                #expect(refusal?.hint == "use the drainq that wrote it, or a newer one")
            }
            for directory in ["new", "tmp"] {
                #expect(try FileManager.default.contentsOfDirectory(atPath: "\(path)/\(directory)").isEmpty)
            }
        }
    }

    @Test func `where there is no queue, it says so and how one is made`() throws {
        let error = try #require(throws: WriteError.self) { try WritableQueue(at: path) }
        #expect(error.kind == .noQueue)
        #expect(error.hint == "drainq init --queue \(path)")
    }
}
