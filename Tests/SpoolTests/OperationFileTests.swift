import Spool
import Testing

@testable import Policy

struct OperationFileTests {
    let full = Operation(
        header: OperationHeader(
            id: OperationID("a-1")!, type: TypeName("crm")!, createdAt: TemporaryQueue.now, contentType: "text/plain",
            key: "k\"\\\n\u{1}ü", method: "PUT", url: "https://example.com/x",
            headers: [
                HeaderField(name: "X", value: "1"), HeaderField(name: "Y", value: "ß"),
                HeaderField(name: "X", value: "2"),
            ].sorted { $0.name < $1.name },
            notBefore: TemporaryQueue.now, expiresAt: TemporaryQueue.now, idempotencyKey: "key",
            unknown: [.init(name: "later", json: #"{"a":[1.10, 2]}"#)]),
        body: [0, 1, 0x0A, 0xFF],
        attempts: [
            TemporaryQueue.record(),
            AttemptRecord(
                at: TemporaryQueue.now, duration: .seconds(2), outcome: .failed, error: "reset", rule: "expired",
                ruleCode: .expired, retryAfter: 5, excerpt: "tab\t", counted: true),
        ])

    @Test func `decode returns the operation that encode wrote`() throws {
        #expect(try OperationFile.decode(OperationFile.encode(full), file: "f") == full)
    }

    @Test func `names are compared by code points`() throws {
        var operation = full
        operation.header.headers = [HeaderField(name: "\u{e9}", value: "1"), HeaderField(name: "e\u{301}", value: "2")]
        operation.header.unknown = [.init(name: "\u{e9}", json: "1"), .init(name: "e\u{301}", json: "2")]
        // The K of this name is the Kelvin sign, canonically equivalent to the letter.
        operation.header.unknown.append(.init(name: "idempotency\u{212A}ey", json: "3"))
        let bytes = OperationFile.encode(operation)
        let decoded = try OperationFile.decode(bytes, file: "f")
        #expect(decoded.header.headers.map(\.name.utf8.count) == [2, 3])
        #expect(decoded.header.headers.map(\.value) == ["1", "2"])
        #expect(decoded.header.unknown.map(\.json) == ["1", "2", "3"])
        #expect(OperationFile.encode(decoded) == bytes)
    }

    @Test func `the header's fields have a fixed order, and the checksum is last`() {
        let line = String(decoding: OperationFile.encode(full).prefix { $0 != 0x0A }, as: UTF8.self)
        #expect(
            line == #"{"drainq":1,"id":"a-1","type":"crm","createdAt":"2026-11-21T09:15:00.123456Z","#
                + #""key":"k\"\\\n\u0001ü","method":"PUT","url":"https://example.com/x","#
                + #""headers":{"X":["1","2"],"Y":"ß"},"notBefore":"2026-11-21T09:15:00.123456Z","#
                + #""expiresAt":"2026-11-21T09:15:00.123456Z","idempotencyKey":"key","contentType":"text/plain","#
                + #""later":{"a":[1.10, 2]},"length":4,"crc32c":"c629399f"}"#)
    }

    @Test func `a body that looks like attempt lines stays a body`() throws {
        var operation = full
        operation.body = Array("{\"at\":1}\n\n{}".utf8)
        operation.attempts = []
        #expect(try OperationFile.decode(OperationFile.encode(operation), file: "f") == operation)
    }

    @Test func `a file cut at any byte is the operation, or is reported as truncated`() throws {
        let bytes = OperationFile.encode(full)
        let whole = bytes.firstIndex(of: 0x0A)! + 1 + full.body.count
        for length in 0..<bytes.count {
            let cut = Array(bytes[..<length])
            if length < whole {
                let error = #expect(throws: OperationFileError.self) { try OperationFile.decode(cut, file: "f") }
                #expect(error?.kind == .truncated)
            } else {
                let operation = try OperationFile.decode(cut, file: "f")
                #expect(operation.header == full.header && operation.body == full.body)
                #expect(operation.attempts.elementsEqual(full.attempts.prefix(operation.attempts.count)))
            }
        }
    }

    @Test func `a torn line between attempts is skipped`() throws {
        var bytes = OperationFile.encode(full)
        bytes += Array(#"{"at":"2026"#.utf8) + [0x0A] + OperationFile.encode(full.attempts[0])
        #expect(try OperationFile.decode(bytes, file: "f").attempts == full.attempts + [full.attempts[0]])
    }

    @Test(arguments: [
        (#"{"id":"a"}"#, "f:1: field 'drainq': missing"),
        (#"{"drainq":0}"#, "f:1: field 'drainq': no such format"),
        (#"{"drainq":1.5}"#, "f:1: field 'drainq': expected a whole number"),
        (#"{"drainq":1}"#, "f:1: field 'id': missing"),
        (#"{"drainq":1,"id":5}"#, "f:1: field 'id': expected a string"),
        (#"{"drainq":1,"id":"a b"}"#, "f:1: field 'id': expected 1 to 64 of A-Z a-z 0-9 _ -"),
        (#"{"drainq":1,"id":"a","id":"b"}"#, "f:1: field 'id': is given twice"),
        (#"{"drainq":1,"id":"a","i\u0064":"b"}"#, "f:1: field 'id': is given twice"),
        (#"{"drainq":1,"é":1,"\u00e9":2}"#, "f:1: field 'é': is given twice"),
        (#"{"drainq":1,"id":"a"}"#, "f:1: field 'createdAt': missing"),
        (
            "{\"drainq\":1," + (0..<17).map { "\"x\($0)\":1," }.joined() + "\"x3\":2}",
            "f:1: field 'x3': is given twice"
        ),
        (#"{"drainq":1,"\ud800":2}"#, "f:1: the name is not valid text at byte 12"),
        (
            #"{"drainq":1,"id":"a","createdAt":"x"}"#,
            "f:1: field 'createdAt': expected a time such as 2026-11-21T09:15:00Z"
        ),
        (#"{"drainq":1,"id":"a","createdAt":"2026-11-21T09:15:00Z"}"#, "f:1: field 'length': missing"),
        (#"{"drainq":1,"id":"a","createdAt":"2026-11-21T09:15:00Z","length":-1}"#, "f:1: field 'length': less than 0"),
        (
            #"{"drainq":1,"id":"a","createdAt":"2026-11-21T09:15:00Z","length":0,"type":"."}"#,
            "f:1: field 'type': expected 1 to 64 of A-Z a-z 0-9 _ - ."
        ),
        (
            #"{"drainq":1,"id":"a","createdAt":"2026-11-21T09:15:00Z","length":0,"headers":5}"#,
            "f:1: field 'headers': expected an object"
        ),
        (
            #"{"drainq":1,"id":"a","createdAt":"2026-11-21T09:15:00Z","length":0,"headers":{"a":5}}"#,
            "f:1: field 'headers': expected texts or arrays of texts"
        ),
        (
            #"{"drainq":1,"id":"a","createdAt":"2026-11-21T09:15:00Z","length":0,"headers":{"a":["x",5]}}"#,
            "f:1: field 'headers': expected texts or arrays of texts"
        ),
        (
            #"{"drainq":1,"id":"a","createdAt":"2026-11-21T09:15:00Z","length":0,"headers":{"a":"","a":""}}"#,
            "f:1: field 'headers': a name is given twice"
        ),
        (
            #"{"drainq":1,"id":"a","createdAt":"2026-11-21T09:15:00Z","length":0} 5"#,
            "f:1: more than one value at byte 69"
        ),
        (#"[1]"#, "f:1: expected an object"),
        (#"{"#, "f:1: expected a name in quotes, found the end at byte 1"),
        (#""#, "f:1: expected an object"),
    ])
    func `an error names file, line and field`(header: String, words: String) {
        let error = #expect(throws: OperationFileError.self) {
            try OperationFile.decode(Array((header + "\n\n").utf8), file: "f")
        }
        #expect(error?.description == words)
    }

    @Test func `a field name may have escapes`() throws {
        let header = #"{"dr\u0061inq":1,"i\u0064":"a","createdAt":"2026-11-21T09:15:00Z","length":0}"#
        #expect(try OperationFile.decode(Array((header + "\n\n").utf8), file: "f").header.id.description == "a")
    }

    /// A letter as a single code point and as two code points give two names (RFC 8259 §8.3).
    @Test func `unknown fields keep their order`() throws {
        let header =
            #"{"drainq":1,"b":[1, 2],"id":"a","createdAt":"2026-11-21T09:15:00Z","#
            + "\"e\u{301}\":1,\"\u{e9}\":2," + #""\u0061":3,"length":0}"#
        let unknown = try OperationFile.decode(Array((header + "\n\n").utf8), file: "f").header.unknown
        #expect(unknown.map(\.json) == ["[1, 2]", "1", "2", "3"])
        #expect(unknown.map { Array($0.name.utf8).count } == [1, 3, 2, 1])
    }

    @Test func `a newer format is reported as newer, not as malformed`() {
        let error = #expect(throws: OperationFileError.self) {
            try OperationFile.decode(Array("{\"drainq\":2,\"what\":1}\n".utf8), file: "f")
        }
        #expect(error?.kind == .newerFormat(2))
    }

    @Test func `a key, a header line and a body have bounds`() {
        var operation = full
        operation.header.key = String(repeating: "k", count: 1025)
        #expect(throws: OperationFileError.self) {
            try OperationFile.decode(OperationFile.encode(operation), file: "f")
        }
        let long = [UInt8](repeating: 0x20, count: OperationFile.headerLimit + 1)
        let error = #expect(throws: OperationFileError.self) { try OperationFile.decode(long, file: "f") }
        #expect(error?.kind == .malformed)
        var bytes = OperationFile.encode(full)
        bytes.insert(1, at: bytes.firstIndex(of: 0x0A)! + 1)
        #expect(throws: OperationFileError.self) { try OperationFile.decode(bytes, file: "f") }
    }
}

struct EnvelopeTests {
    let defaults = Envelope.Defaults(id: OperationID("made-up")!, createdAt: TemporaryQueue.now)

    func read(_ text: String, isMarked: Bool = false) throws -> (operation: Operation, hasOwnID: Bool) {
        let bytes = Array(text.utf8)
        return try Envelope.operation(
            from: bytes, in: 0..<bytes.count, file: "f", defaults: defaults, isMarked: isMarked)
    }

    @Test(arguments: ["5", "1.10", "\"x\"", "[1, 2]", "{\"drainqs\": 1}", "12345678901234567890"])
    func `a value without an envelope is a payload of the default type, byte for byte`(text: String) throws {
        let (operation, hasOwnID) = try read(text)
        #expect(operation.body == Array(text.utf8) && !hasOwnID)
        #expect(
            operation.header
                == OperationHeader(id: defaults.id, createdAt: defaults.createdAt, contentType: "application/json"))
    }

    @Test func `an envelope sets id, type, time, key and headers, and keeps unknown fields`() throws {
        let (operation, hasOwnID) = try read(
            #"{"drainq":1,"id":"me","type":"t","createdAt":"2026-01-01T00:00:00Z","payload":{"a": 1.10},"key":"k","#
                + #""headers":{"A":[ "1" , "2" ],"B":"3"},"x-later":[1,"#
                + "\n" + #"2]}"#)
        #expect(hasOwnID && operation.header.id.description == "me" && operation.body == Array(#"{"a": 1.10}"#.utf8))
        #expect(operation.header.headers.map { "\($0.name)\($0.value)" } == ["A1", "A2", "B3"])
        #expect(operation.header.unknown == [.init(name: "x-later", json: "[1, 2]")])
        #expect(try OperationFile.decode(OperationFile.encode(operation), file: "f") == operation)
    }

    @Test(arguments: [
        (#"{"drainq":1,"body":"ü"}"#, "text/plain; charset=utf-8", [0xC3, 0xBC]),
        (#"{"drainq":1,"bodyBase64":"AP8="}"#, "application/octet-stream", [0, 0xFF]),
        (#"{"drainq":1,"bodyBase64":"AA==","contentType":"image/x"}"#, "image/x", [0]),
        (#"{"drainq":1,"method":"DELETE","url":"http://a/"}"#, nil, []),
    ])
    func `a body has the media type of its field`(text: String, mediaType: String?, body: [UInt8]) throws {
        let operation = try read(text).operation
        #expect(operation.header.contentType == mediaType && operation.body == body)
    }

    @Test(arguments: [
        (#"{"drainq":1}"#, "f:1: field 'payload': missing (or body, bodyBase64, bodyFile)"),
        (
            #"{"drainq":1,"payload":1,"body":""}"#,
            "f:1: field 'body': only one of payload, body, bodyBase64 and bodyFile"
        ),
        (#"{"drainq":1,"bodyFile":"/x"}"#, "f:1: field 'bodyFile': \(BodyFileRefusal.noRoots)"),
        (#"{"drainq":1,"bodyBase64":"%"}"#, "f:1: field 'bodyBase64': expected base64"),
        (#"{"drainq":1,"length":1,"payload":1}"#, "f:1: field 'length': belongs to the queue"),
        (#"{"drainq":3,"payload":1}"#, "f:1: field 'drainq': written by a newer drainq (format 3)"),
    ])
    func `an invalid envelope is refused, and the error names the field`(text: String, words: String) {
        let error = #expect(throws: OperationFileError.self) { try read(text) }
        #expect(error?.description == words)
    }

    @Test func `a bare payload is refused where an envelope is required`() {
        #expect(throws: OperationFileError.self) { try read("5", isMarked: true) }
        #expect(throws: OperationFileError.self) { try read("{}", isMarked: true) }
    }
}
