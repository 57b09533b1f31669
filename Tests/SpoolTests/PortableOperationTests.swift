import CSystem
import Foundation
import Spool
import Testing

@testable import Policy

/// The lines that `export` writes and `import` reads.
struct PortableOperationTests {
    let now = TemporaryQueue.now

    private func line(_ entry: Entry, _ bytes: [UInt8]) throws -> String {
        String(decoding: try PortableOperation(entry, file: bytes).line(), as: UTF8.self)
    }

    private func read(_ line: String) throws -> PortableOperation {
        try PortableOperation(json: Array(line.utf8), file: "f", line: 1)
    }

    private func refusal(_ line: String) -> String {
        do throws(OperationFileError) {
            _ = try PortableOperation(json: Array(line.utf8), file: "f", line: 1)
            return "nothing"
        } catch {
            return error.detail
        }
    }

    // MARK: - Any operation

    /// SplitMix64, as in PolicyTests.
    private struct Chance: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
            return mixed ^ mixed >> 31
        }

        mutating func one<Element>(of list: [Element]) -> Element { list[Int(next() % UInt64(list.count))] }
        mutating func flip() -> Bool { next() & 1 == 0 }

        mutating func bytes(upTo count: Int) -> [UInt8] {
            (0..<Int(next() % UInt64(count + 1))).map { _ in UInt8(truncatingIfNeeded: next()) }
        }

        /// Text with the characters most likely to break JSON, a line or a terminal.
        mutating func text() -> String {
            let parts = [
                "a", "\"", "\\", "\n", "\r", "\t", "\u{0}", "\u{1B}[2J", "ü", "日本", "🦆", "\u{2028}", "\u{202E}", "/",
            ]
            return (0..<Int(next() % 8)).map { _ in one(of: parts) }.joined()
        }
    }

    private static let bodies: [[UInt8]] = [
        [], Array("{}".utf8), Array(#"{"n":1.10,"big":12345678901234567890,"e":1E+2}"#.utf8),
        Array("{ \"a\" : [ 1 ,2 ] }".utf8), Array("{\n  \"a\": 1\n}\n".utf8), Array(" 1".utf8), Array("1,2".utf8),
        Array("null".utf8), Array(#""\u00e9\/ü""#.utf8), Array("{\"a\":1,\"a\":2}".utf8), Array("a,b\r\n1,2\r\n".utf8),
        [0xFF, 0xFE, 0, 10, 13], Array("{\"drainq\":1}\n{\"at\":1}\n".utf8), Array("[1]]".utf8),
        Array(String(repeating: "[", count: 512).utf8) + Array(String(repeating: "]", count: 512).utf8),
    ]

    /// Returns an entry and its file, as the queue itself makes entries and files.
    private func anything(_ index: Int, _ chance: inout Chance) -> (entry: Entry, file: [UInt8]) {
        var header = OperationHeader(
            id: OperationID("op-\(index)-\(chance.next())")!,
            type: TypeName(chance.one(of: ["default", "crm", "a.b_c-d"]))!,
            createdAt: now - .microseconds(Int64(chance.next() % 100_000_000_000)))
        if chance.flip() { header.key = chance.text() }
        if chance.flip() { header.url = "https://\(chance.one(of: ["a", "b"])).example/\(chance.next())" }
        if chance.flip() { header.method = chance.one(of: ["PUT", "DELETE"]) }
        if chance.flip() { header.contentType = chance.one(of: ["application/json", "text/csv"]) }
        if chance.flip() {
            header.headers = [HeaderField(name: "X", value: "1"), HeaderField(name: "X", value: chance.text())]
        }
        if chance.flip() { header.expiresAt = now + .seconds(9) }
        if chance.flip() { header.idempotencyKey = chance.text() }
        if chance.flip() { header.notBefore = now + .microseconds(1_234_567) }
        for name in ["later", "ünder \"x\"", "state", "payload"] where chance.flip() {
            header.unknown.append(
                .init(name: name, json: chance.one(of: [#"{"a":[1.10, 2]}"#, "12345678901234567890", "null"])))
        }
        var body = chance.flip() ? chance.one(of: Self.bodies) : chance.bytes(upTo: 40)
        if chance.next() % 5 == 0 {
            header.bodyFile = BodyFile(
                path: "/srv/\(chance.text().filter { $0 != "\0" })x", length: 9, modified: -3, inode: .max)
            body = []
        }
        let attempts = (0..<Int(chance.next() % 4)).map { count in
            AttemptRecord(
                at: now + .seconds(count), duration: .milliseconds(Int(chance.next() % 1000)),
                outcome: chance.one(of: Outcome.allCases), status: chance.flip() ? 503 : nil,
                error: chance.flip() ? "timeout" : nil, rule: "503", retryAfter: chance.flip() ? 7 : nil,
                excerpt: chance.flip() ? chance.text() : nil)
        }
        var file = OperationFile.encode(Operation(header: header, body: body, attempts: attempts))
        // An attempt line with a field of a later version.
        if chance.next() % 4 == 0 { file += Array("{\"at\":\"2026-11-21T09:15:00Z\",\"later\":[1.10]}\n".utf8) }

        var name = EntryName(naming: header)
        name.interruptions = Int(chance.next() % 3)
        switch chance.next() % 4 {
        case 0:
            name.isHeld = chance.flip()
            return (Entry(state: .new, name: name), file)
        case 1:
            name.attempts = Int(chance.next() % 4)
            name.isHeld = chance.flip()
            name.gate = .retryAt(now + .milliseconds(Int64(chance.next() % 100_000_000)))
            return (Entry(state: .deferred, name: name), file)
        case let rest:
            name.attempts = Int(chance.next() % 10_000)
            name.gate = .open
            return (Entry(state: rest == 2 ? .failed : .delivered, name: name), file)
        }
    }

    @Test(arguments: 0..<8)
    func `export and import give any operation the same file under the same name`(seed: UInt64) throws {
        var chance = Chance(state: seed)
        let (from, to) = (try TemporaryQueue(), try TemporaryQueue())
        var expected: [String: [UInt8]] = [:]
        for index in 0..<60 {
            let (entry, file) = anything(index, &chance)
            expected[entry.path] = file
            // A line torn by a crash is left out, and nothing else.
            try from.put(file + (chance.next() % 5 == 0 ? Array("{\"at\":\"2026-1".utf8) : []), at: entry.path)
        }
        #expect(Set(expected.keys.map { $0.prefix { $0 != "/" } }) == ["new", "deferred", "failed", "delivered"])
        let source = try from.open()
        var stream: [UInt8] = []
        for entry in try from.entries() { stream += try #require(try source.portable(entry)).get().line() }
        let lines = stream.split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == expected.count)
        let operations = try lines.map { try PortableOperation(json: Array($0), file: "f", line: 1) }
        var control = AdmissionControl(Limits())
        let restored = try to.open().accept(TemporaryQueue.portable(operations), within: &control)
        // An operation that could never be sent, for example with a line break in a header field, is refused for new
        // and deferred.
        for (path, result) in zip(try from.entries().map(\.path), restored.results) {
            if case .accepted = result { continue }
            guard case .refused = result else { throw Errno(0) }
            #expect(path.hasPrefix("new/") || path.hasPrefix("deferred/"))
            expected[path] = nil
        }
        #expect(Set(expected.keys.map { $0.prefix { $0 != "/" } }) == ["new", "deferred", "failed", "delivered"])
        let found = try to.entries().map(\.path)
        #expect(Set(found) == Set(expected.keys))
        for path in found { #expect(to.bytes(path) == expected[path], "\(path)") }
    }

    @Test func `export keeps the header of another program's canonical file, and adds a checksum`() throws {
        let bytes = Array(
            "{ \"length\" : 2 ,\t\"drainq\":1, \"createdAt\":\"2026-11-21T10:15:00+01:00\",\"id\":\"a\"}\n{}\n".utf8)
        let entry = Entry(
            state: .new, name: EntryName(createdAt: Timestamp(rfc3339: "2026-11-21T09:15:00Z")!, id: OperationID("a")!))
        let portable = try read(try line(entry, bytes))
        let text = String(decoding: portable.file, as: UTF8.self)
        let sum = try #require(text.firstRange(of: #","crc32c":""#))
        #expect(text[..<sum.lowerBound] + "}\n{}\n" == String(decoding: bytes, as: UTF8.self))
        #expect(text[sum.upperBound...].dropFirst(8) == "\"}\n{}\n")
        #expect(portable.entry == entry)
    }

    @Test func `an exported operation keeps that a request of it may have arrived`() throws {
        let operation = Operation(
            header: OperationHeader(id: OperationID("a")!, createdAt: now, contentType: "application/json"),
            body: [0x31])
        var name = EntryName(naming: operation.header)
        (name.attempts, name.unknowns, name.gate) = (1, 2, .retryAt(now))
        let entry = Entry(state: .deferred, name: try #require(EntryName(name.description)))
        let exported = try line(entry, OperationFile.encode(operation))
        #expect(exported.contains(#""unknowns":2"#))
        #expect(try read(exported).entry == entry)
        #expect(refusal(exported.replacing(#""unknowns":2"#, with: #""unknowns":10"#)).contains("expected 0 to 9"))
    }

    @Test func `a damaged file is not exported`() throws {
        let queue = try TemporaryQueue()
        let entry = try queue.add(["a"])[0]
        var bytes = try #require(queue.bytes(entry.path))
        bytes[bytes.count - 3] ^= 1
        #expect(throws: OperationFileError.self) { try PortableOperation(entry, file: bytes) }
    }

    @Test func `an exported operation is a single line, with the payload as given`() throws {
        let queue = try TemporaryQueue()
        let entry = try queue.add(["a"])[0]
        let text = try line(entry, try #require(queue.bytes(entry.path)))
        #expect(
            text == #"{"schema":1,"id":"a","state":"new","attempts":0,"header":{"drainq":1,"id":"a","type":"default","#
                + #""createdAt":"2026-11-21T09:15:00.123456Z","contentType":"application/json","length":10},"payload":{"n":1.10}}"#
                + "\n")
    }

    // MARK: - Edited

    private static let edited =
        #""header":{"drainq":1,"id":"a","type":"t","createdAt":"2026-11-21T09:15:00Z","length":10}"#

    @Test func `an edited body is taken as given, whatever the length field says`() throws {
        func body(_ member: String) throws -> String {
            let operation = try OperationFile.decode(
                try read("{\"schema\":1,\"state\":\"new\",\(Self.edited),\(member)}").file, file: "f")
            return String(decoding: operation.body, as: UTF8.self)
        }
        #expect(try body(#""payload":{"n": 2}"#) == #"{"n": 2}"#)
        #expect(try body("\"payload\":{\n\"n\": 2\n}") == #"{ "n": 2 }"#, "the next export has it on a line")
        #expect(try body(#""payload":{"n":"long enough to be longer"}"#) == #"{"n":"long enough to be longer"}"#)
        #expect(try body(#""body":"text\n""#) == "text\n")
        #expect(try body(#""bodyBase64":"AAE=""#) == "\0\u{1}")
        for length in ["10", #""10""#, "1e1", "null"] {
            let header = Self.edited.replacing("\"length\":10", with: "\"length\":\(length)")
            #expect(
                refusal("{\"schema\":1,\"state\":\"new\",\(header)}")
                    == "field 'payload': missing, and 'length' in the header is not 0")
        }
        let none = Self.edited.replacing("\"length\":10", with: "\"method\":\"GET\"")
        #expect(
            try OperationFile.decode(try read("{\"schema\":1,\"state\":\"new\",\(none)}").file, file: "f").body == [])
    }

    @Test func `an edited state gives a matching file name`() throws {
        func path(_ members: String) throws -> String {
            try read("{\"schema\":1,\(members),\(Self.edited),\"payload\":{}}").entry.path
        }
        let stem = "20261121T091500.000000Z-a,r=t"
        #expect(try path(#""state":"new","attempts":3"#) == "deferred/\(stem),a=3.json")
        #expect(try path(#""state":"deferred""#) == "new/\(stem).json")
        #expect(
            try path(#""state":"deferred","held":true,"due":"2026-11-21T09:15:00.0001Z""#)
                == "deferred/\(stem),h=1,t=20261121T091500.001Z.json")
        #expect(try path(#""state":"failed","held":false,"interruptions":2"#) == "failed/\(stem),i=2.json")
        #expect(try path(#""state":"new","notBefore":"2026-11-21T10:00:00Z""#) == "new/\(stem),n=20261121T100000Z.json")
    }

    @Test(arguments: [
        (#"[]"#, "expected an object"),
        (
            #"{"state":"new"}"#,
            "field 'schema': missing: 'drainq export' writes it; 'drainq add' takes other JSON"
        ),
        (#"{"schema":2}"#, "field 'schema': this drainq reads 1, not 2"),
        (#"{"schema":1,"stat":"new"}"#, "field 'stat': no such field; those of the operation are in 'header'"),
        (#"{"schema":1,"state":"new","payload":{}}"#, "field 'header': missing"),
        (#"{"schema":1,"state":"new","header":[],"payload":{}}"#, "field 'header': expected an object"),
        (#"{"schema":1,"state":"new","header":{},"payload":{}}"#, "field 'drainq': missing"),
        (
            #"{"schema":1,"state":"gone",HEADER,"payload":{}}"#,
            "field 'state': expected new, deferred, failed or delivered"
        ),
        (
            #"{"schema":1,"state":"claimed",HEADER,"payload":{}}"#,
            "field 'state': expected new, deferred, failed or delivered"
        ),
        (#"{"schema":1,HEADER,"payload":{}}"#, "field 'state': missing"),
        (#"{"schema":1,"id":"b","state":"new",HEADER,"payload":{}}"#, "field 'id': 'b', in the header 'a'"),
        (#"{"schema":1,"state":"new","attempts":-1,HEADER,"payload":{}}"#, "field 'attempts': expected 0 to 9999"),
        (#"{"schema":1,"state":"new","held":1,HEADER,"payload":{}}"#, "field 'held': expected true or false"),
        (
            #"{"schema":1,"state":"new","history":[1],HEADER,"payload":{}}"#,
            "field 'history': expected an array of objects"
        ),
        (
            #"{"schema":1,"state":"new",HEADER,"payload":{},"body":""}"#,
            "field 'body': only one of payload, body and bodyBase64"
        ),
        (
            #"{"schema":1,"state":"new",HEADER,"payload":{},"bodyBase64":""}"#,
            "field 'bodyBase64': the body stands here: remove the field to replace the whole body by 'payload'"
        ),
        (#"{"schema":1,"state":"new",HEADER,"bodyBase64":"?"}"#, "field 'bodyBase64': expected base64"),
        (
            #"{"schema":1,"state":"new","due":"2026-11-21T09:15:00Z","notBefore":"2026-11-21T09:15:00Z",HEADER,"payload":1}"#,
            "field 'notBefore': not together with due"
        ),
    ])
    func `an invalid line is refused with the reason`(line: String, reason: String) {
        #expect(refusal(line.replacing("HEADER", with: Self.edited)) == reason)
    }
}
