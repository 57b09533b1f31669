import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

struct ChecksumTests {
    // MARK: - The function

    /// The vectors of RFC 3720, appendix B.4, and the usual check value for "123456789".
    static let vectors: [([UInt8], UInt32)] = [
        ([], 0),
        (Array("123456789".utf8), 0xE306_9283),
        ([UInt8](repeating: 0, count: 32), 0x8A91_36AA),
        ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
        (Array(0...31), 0x46DD_794E),
        ((0...31).reversed(), 0x113F_DB5C),
        (
            [
                0x01, 0xC0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x14, 0, 0, 0, 0, 0, 0x04, 0, 0, 0, 0, 0x14, 0, 0,
                0, 0x18, 0x28, 0, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 0, 0, 0, 0,
            ], 0xD996_3A56
        ),
    ]

    @Test(arguments: vectors)
    func `CRC-32C has the values of the standard, with the CPU instruction and without`(bytes: [UInt8], crc: UInt32) {
        #expect(csystem_crc32c(0, bytes, bytes.count) == crc)
        #expect(csystem_crc32c_portable(0, bytes, bytes.count) == crc)
    }

    @Test func `both implementations of the CRC agree at any length and alignment, also in two parts`() {
        let bytes = (0..<200).map { UInt8(truncatingIfNeeded: $0 &* 167 ^ $0 >> 2) }
        bytes.withUnsafeBytes { buffer in
            for start in 0..<9 {
                for length in 0..<180 {
                    let first = buffer.baseAddress! + start
                    let crc = csystem_crc32c(0, first, length)
                    #expect(crc == csystem_crc32c_portable(0, first, length))
                    let half = csystem_crc32c(0, first, length / 3)
                    #expect(crc == csystem_crc32c(half, first + length / 3, length - length / 3))
                }
            }
        }
    }

    @Test(arguments: [6_143, 6_144, 6_145, 12_287, 12_288, 18_440, 40_961])
    func `the CRC of long data, computed in parallel parts, equals the CRC of the tables`(length: Int) {
        let bytes = (0..<length + 3).map { UInt8(truncatingIfNeeded: $0 &* 167 ^ $0 >> 7) }
        bytes.withUnsafeBytes { buffer in
            for start in 0..<3 {
                let first = buffer.baseAddress! + start
                for crc: UInt32 in [0, 1, 0x8000_0000, .max] {
                    #expect(
                        csystem_crc32c(crc, first, length) == csystem_crc32c_portable(crc, first, length))
                }
            }
        }
    }

    // MARK: - In a file

    /// The vector of drainq-queue(5).
    static let vector =
        #"{"drainq":1,"id":"a-1","type":"crm","createdAt":"2026-11-21T09:15:00.123456Z","#
        + #""contentType":"application/json","length":10,"crc32c":"f678d980"}"# + "\n" + #"{"n":1.10}"# + "\n"

    private static let operation = Policy.Operation(
        header: OperationHeader(
            id: OperationID("a-1")!, type: TypeName("crm")!, createdAt: TemporaryQueue.now,
            contentType: "application/json"), body: Array(#"{"n":1.10}"#.utf8))

    @Test func `encode writes the file of the manual`() {
        #expect(String(decoding: OperationFile.encode(Self.operation), as: UTF8.self) == Self.vector)
    }

    @Test func `the manual shows this file`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let page = try String(contentsOf: root.appending(path: "man/drainq-queue.5"), encoding: .utf8)
        let file = Self.vector.replacing("123456Z\",", with: "123456Z\",\n").replacing("\"", with: "\\(dq")
        #expect(page.contains(".Bd -literal\n\(file).Ed\n"))
    }

    private func decode(_ text: String) throws -> Policy.Operation {
        try OperationFile.decode(Array(text.utf8), file: "f")
    }

    @Test func `a file without a checksum is read`() throws {
        #expect(try decode(Self.vector.replacing(#","crc32c":"f678d980""#, with: "")) == Self.operation)
        let other = Self.vector.replacing(#","crc32c":"f678d980""#, with: #","crc":"12345678""#)
        #expect(try decode(other).header.unknown == [.init(name: "crc", json: #""12345678""#)])
    }

    @Test(arguments: [
        (
            #""crc32c":"f678d980""#, #""crc32c":"00000000""#,
            "f:1: header and body have the checksum f678d980, the header says 00000000: the file was changed or damaged"
        ),
        (
            #"{"n":1.10}"#, #"{"n":1.11}"#,
            "f:1: header and body have the checksum e5da41f7, the header says f678d980: the file was changed or damaged"
        ),
        (#""crc32c""#, #""crc32b""#, "f:1: the checksum at the end of the header line is damaged"),
        (
            #""crc32c":"f678d980""#, #""crc32c": "f678d980""#,
            #"f:1: field 'crc32c': expected at the end of the line, as in ,"crc32c":"1a2b3c4d"}"#
        ),
        (#""drainq":1"#, #""crc32c":"f678d980","drainq":1"#, "f:1: field 'crc32c': is given twice"),
        (
            #""drainq":1"#, #""drainq":5"#,
            "f:1: field 'drainq': damaged: it says 5, and the checksum is that of 1"
        ),
    ])
    func `decode refuses a changed file, and the error says what was found and expected`(
        text: String, other: String, words: String
    ) {
        let error = #expect(throws: OperationFileError.self) { try decode(Self.vector.replacing(text, with: other)) }
        #expect(error?.description == words)
    }

    @Test func `a file of a newer format is not judged by its checksum`() {
        let text = Self.vector.replacing(#""drainq":1"#, with: #""drainq":2"#).replacing("f678d980", with: "f678d981")
        let error = #expect(throws: OperationFileError.self) { try decode(text) }
        #expect(error?.kind == .newerFormat(2))
    }

    @Test func `an envelope with a checksum is refused`() {
        let bytes = Array(#"{"drainq":1,"payload":1,"crc32c":"00000000"}"#.utf8)
        let error = #expect(throws: OperationFileError.self) {
            try Envelope.operation(
                from: bytes, in: 0..<bytes.count, file: "f",
                defaults: Envelope.Defaults(id: OperationID("a")!, createdAt: TemporaryQueue.now))
        }
        #expect(error?.description == "f:1: field 'crc32c': belongs to the queue")
    }

    // MARK: - Flipped bits

    private static func flips(_ bytes: [UInt8]) -> some Sequence<(bit: Int, bytes: [UInt8])> {
        (0..<bytes.count * 8).lazy.map { bit in
            var flipped = bytes
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            return (bit, flipped)
        }
    }

    @Test func `a flipped bit anywhere in header or body makes the file no operation`() {
        for body in [#"{"n":1.10}"#, "", "\n", "text\n{}\n"] {
            var operation = Self.operation
            operation.header.url = "https://example.com/x"
            operation.header.key = "k\n"
            operation.body = Array(body.utf8)
            for (bit, bytes) in Self.flips(OperationFile.encode(operation)) {
                let error = #expect(throws: OperationFileError.self, "bit \(bit) of byte \(bit / 8)") {
                    try OperationFile.decode(bytes, file: "f")
                }
                if case .newerFormat? = error?.kind { Issue.record("bit \(bit) of byte \(bit / 8): left alone") }
            }
        }
    }

    @Test func `a flipped bit in the line of an attempt changes neither header nor body`() throws {
        var operation = Self.operation
        let whole = OperationFile.encode(operation).count
        operation.attempts = [TemporaryQueue.record(), TemporaryQueue.record(.failed)]
        for (bit, bytes) in Self.flips(OperationFile.encode(operation)) where bit >= whole * 8 {
            let read = try OperationFile.decode(bytes, file: "f")
            #expect(read.header == operation.header && read.body == operation.body)
        }
    }

    /// Returns the operations that a run reads in a queue, and the number of files in quarantine.
    private func read(_ queue: TemporaryQueue) throws -> (operations: [StoredOperation], quarantined: Int) {
        let run = try queue.open().beginRun(now: TemporaryQueue.now)
        let admission = try run.admitForeign(now: TemporaryQueue.now, limits: Limits())
        #expect(admission.admitted.isEmpty && admission.errors.isEmpty)
        var operations: [StoredOperation] = []
        for entry in try queue.entries() where QueueState.waiting.contains(entry.state) {
            let claim = try #require(try run.claim(entry))
            switch try #require(try run.read(claim)) {
            case .operation(let operation): operations.append(operation)
            case .newerFormat: Issue.record("a newer format")
            case .notAnOperation(let reason):
                _ = try run.settle(claim, .quarantined(reason: reason), record: nil, now: TemporaryQueue.now)
            }
        }
        try run.end()
        return (operations, queue.names("quarantine").count { !$0.hasSuffix(".reason") })
    }

    private static let named = {
        var operation = ChecksumTests.operation
        operation.header.key = "k"
        operation.header.url = "https://example.com/x"
        return (file: OperationFile.encode(operation), name: EntryName(naming: operation.header).description)
    }()

    @Test func `a file whose name has a flipped bit goes to quarantine`() throws {
        let queue = try TemporaryQueue()
        var names: Set<String> = []
        // Foundation cannot write a name that is not UTF-8. No canonical name has such bytes.
        for (_, bytes) in Self.flips(Array(Self.named.name.utf8)) where !bytes.contains(0) && !bytes.contains(0x2F) {
            guard let name = String(validating: bytes, as: UTF8.self) else { continue }
            names.insert(name)
            try queue.put(Self.named.file, at: "new/\(name)")
        }
        #expect(names.count > 600)
        let (operations, quarantined) = try read(queue)
        #expect(operations.isEmpty && quarantined == names.count)
    }

    @Test(arguments: ["a=2", "i=1", "h=1", "t=20261121T091500Z"])
    func `fields that only a name has contradict no header`(field: String) throws {
        let queue = try TemporaryQueue()
        try queue.put(Self.named.file, at: "deferred/\(Self.named.name.dropLast(5)),\(field).json")
        #expect(try read(queue).operations.count == 1)
    }
}
