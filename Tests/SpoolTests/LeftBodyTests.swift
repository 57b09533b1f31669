import CSystem
import Foundation
import Testing

@testable import Policy
@testable import Spool

/// A large body left in the file of a claimed operation.
struct LeftBodyTests {
    private let queue: TemporaryQueue
    private let now = TemporaryQueue.now

    init() throws {
        queue = try TemporaryQueue()
    }

    private func operation(_ id: String, length: Int) -> Policy.Operation {
        var operation = queue.operation(id)
        operation.body = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        operation.attempts = [
            AttemptRecord(at: now, duration: .seconds(1), outcome: .deferred, status: 503, rule: "default")
        ]
        return operation
    }

    private func read(_ bytes: [UInt8], named name: EntryName, _ body: (StoredFile) throws -> Void) throws {
        try queue.put(bytes, at: "new/\(name)")
        let run = try queue.open().beginRun(now: now)
        let claim = try #require(try run.claim(Entry(state: .new, name: name)))
        try body(#require(try run.read(claim, leavingBodies: true)))
        try run.end()
    }

    @Test(arguments: [true, false])
    func `read leaves a large body in its file, and returns everything else as usual`(hasChecksum: Bool) throws {
        let operation = operation("a", length: 1_000_003)
        var bytes = OperationFile.encode(operation)
        if !hasChecksum {
            let headerEnd = try #require(bytes.firstIndex(of: UInt8(ascii: "\n")))
            bytes.replaceSubrange(..<headerEnd, with: Checksum.removed(from: bytes[..<headerEnd]))
        }
        try read(bytes, named: EntryName(naming: operation.header)) { file in
            guard case .operation(let stored) = file else { throw Errno(0) }
            #expect(stored.operation.bodyPart?.length == 1_000_003)
            #expect(stored.operation.bodyLength == 1_000_003)
            #expect(stored.operation.body == operation.body)
            #expect(stored.operation.header == operation.header)
            #expect(stored.operation.attempts == operation.attempts)
            #expect(stored.fileSize == bytes.count)
        }
    }

    @Test func `read loads a small body`() throws {
        let operation = operation("a", length: 1000)
        try read(OperationFile.encode(operation), named: EntryName(naming: operation.header)) { file in
            guard case .operation(let stored) = file else { throw Errno(0) }
            #expect(stored.operation == operation)
        }
    }

    @Test func `a damaged large file has the same reason as a small file`() throws {
        let operation = operation("a", length: 1_000_003)
        let whole = OperationFile.encode(operation)
        let headerEnd = try #require(whole.firstIndex(of: UInt8(ascii: "\n")))
        func changed(_ place: Int) -> [UInt8] {
            var bytes = whole
            bytes[place] ^= 1
            return bytes
        }
        let broken = [
            changed(0), changed(headerEnd - 3), changed(headerEnd - 14), changed(headerEnd + 1),
            changed(headerEnd + 1_000_003), changed(headerEnd + 1_000_004), Array(whole.prefix(900_000)),
        ]
        for bytes in broken {
            // Each file in a queue of its own.
            try LeftBodyTests().read(bytes, named: EntryName(naming: operation.header)) { file in
                guard case .notAnOperation(let reason) = file else {
                    Issue.record("\(bytes.count) bytes were taken for an operation")
                    return
                }
                let words = #expect(throws: OperationFileError.self) { try OperationFile.decode(bytes, file: "a") }
                #expect(words.map { reason.hasSuffix($0.detail) } == true, "\(reason)")
            }
        }
    }
}
