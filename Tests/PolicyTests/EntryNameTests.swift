import Foundation
import Policy
import Testing

struct EntryNameTests {
    struct Row: CustomTestStringConvertible {
        var fields: [String]
        var testDescription: String { fields.prefix(2).joined(separator: " ") }
    }

    static let rows: [Row] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/entry-names.txt")
        let text = try! String(contentsOf: file, encoding: .utf8)
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map {
            Row(fields: $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init))
        }
    }()

    @Test(arguments: rows.filter { $0.fields[0] == "valid" })
    func `a canonical name has the fields of its vector and is written back unchanged`(row: Row) throws {
        let fields = row.fields
        try #require(fields.count == 13)
        let name = try #require(EntryName(fields[1]))
        #expect(name.description == fields[1])
        #expect(name.createdAt.rfc3339 == fields[2])
        #expect(name.id.description == fields[3])
        #expect(name.type.description == fields[4])
        #expect(name.keyDigest?.description ?? "-" == fields[5])
        #expect(name.originDigest?.description ?? "-" == fields[6])
        #expect(String(name.attempts) == fields[7])
        #expect(String(name.interruptions) == fields[8])
        #expect(String(name.unknowns) == fields[12])
        #expect(name.isHeld == (fields[9] == "held"))
        try #require(name.isHeld || fields[9] == "-")
        switch name.gate {
        case .open: #expect(fields[10...11] == ["open", "-"])
        case .notBefore(let moment): #expect(fields[10...11] == ["notBefore", moment.rfc3339])
        case .retryAt(let moment): #expect(fields[10...11] == ["due", moment.rfc3339])
        }
    }

    @Test func `the longest name has exactly the maximum length`() throws {
        let digest = Digest(of: "")
        let longest = EntryName(
            createdAt: .lastInNames, id: try #require(OperationID(String(repeating: "x", count: 64))),
            type: try #require(TypeName(String(repeating: "t", count: 64))), keyDigest: digest, originDigest: digest,
            attempts: 9999, interruptions: 99, unknowns: 9, isHeld: true, gate: .retryAt(.lastInNames))
        #expect(longest.description.utf8.count == EntryName.maximumLength)
        // A file system takes no more.
        #expect(EntryName.maximumLength == 255)
        // Reading loses only the microseconds, which a gate does not carry.
        let read = try #require(EntryName(longest.description))
        #expect(read.description == longest.description)
        #expect(read.isHeld)
    }

    @Test(arguments: rows.filter { $0.fields[0] != "valid" })
    func `a non-canonical name is refused`(row: Row) throws {
        try #require(row.fields[0] == "invalid" && row.fields.count == 3)
        #expect(EntryName(row.fields[1]) == nil, "\(row.fields[2])")
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `a listed name has the fields of the full name`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let name = EntryName.random(using: &generator)
            let moment = Timestamp(microseconds: Int64.random(in: 0...4_000_000_000_000_000, using: &generator))
            try Array(name.description.utf8).withUnsafeBufferPointer { bytes in
                let listed = try #require(ListedName(bytes))
                #expect(EntryName(listed) == name)
                #expect(listed.createdAt == name.createdAt)
                #expect(listed.id == name.id)
                #expect(TypeName(listed) == name.type)
                #expect(listed.typeBytes.isEmpty == (name.type == .default))
                #expect(listed.originDigest == name.originDigest)
                #expect(
                    eligibility(of: listed, at: moment, longestDelay: .seconds(60), ignoringBackoff: false)
                        == eligibility(of: name, at: moment, longestDelay: .seconds(60), ignoringBackoff: false))
            }
        }
    }

    @Test func `bytes outside UTF-8 are refused`() {
        let bytes = Array("20261121T091500.123456Z-a".utf8) + [0xFF] + Array(".json".utf8)
        #expect(bytes.withUnsafeBufferPointer { EntryName($0) } == nil)
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func `a name and its text convert to each other`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let name = EntryName.random(using: &generator)
            let text = name.description
            #expect(text.utf8.count <= EntryName.maximumLength)
            #expect(EntryName(text) == name)
            // A changed byte yields no name, or a name written exactly as the changed text.
            var bytes = Array(text.utf8)
            bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: 0x20...0x7E, using: &generator)
            let changed = String(decoding: bytes, as: UTF8.self)
            if let other = EntryName(changed) { #expect(other.description == changed) }
        }
    }

    @Test func `names sort as text in the order of creation`() {
        var generator = SeededGenerator(seed: 7)
        let names = (0..<500).map { _ in EntryName.random(using: &generator) }
        let byText = names.map(\.description).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let byTime = names.sorted { $0.createdAt < $1.createdAt }.map(\.createdAt)
        #expect(byText.compactMap { EntryName($0)?.createdAt } == byTime)
    }

    @Test func `a name writes an unrepresentable value as the nearest value`() throws {
        let id = try #require(OperationID("a"))
        let name = EntryName(
            createdAt: Timestamp(microseconds: -1), id: id, attempts: 12_345, interruptions: 123,
            gate: .retryAt(Timestamp(microseconds: 1_795_252_500_000_001)))
        #expect(name.description == "19700101T000000.000000Z-a,a=9999,i=99,t=20261121T091500.001Z.json")
    }

    @Test func `a digest is the start of a SHA-256`() {
        #expect(Digest(of: "hello").description == "2cf24dba5fb0a30e26e83b2a")
        #expect(Digest(of: "").description == "e3b0c44298fc1c149afbf4c8")
        #expect(Digest("2cf24dba5fb0a30e26e83b2a") == Digest(of: "hello"))
        #expect(Digest("2CF24DBA5FB0A30E26E83B2A") == nil)
        #expect(Digest("2cf2") == nil)
    }

    @Test func `ids and types allow only their letters`() throws {
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
        for byte in UInt8.min...UInt8.max {
            let text = String(Unicode.Scalar(byte))
            #expect((OperationID(text) != nil) == letters.contains(text))
            let name = Array("20261121T091500.123456Z-".utf8) + [byte] + Array(".json".utf8)
            #expect(name.withUnsafeBufferPointer { ListedName($0) != nil } == letters.contains(text))
        }
        #expect(OperationID("") == nil)
        #expect(OperationID("a.b") == nil)
        #expect(OperationID(String(repeating: "a", count: 65)) == nil)
        #expect(TypeName(".a") == nil)
        #expect(TypeName("a/b") == nil)
        #expect(try #require(OperationID("A")) < #require(OperationID("a")))
        #expect(try #require(TypeName("a.b")) < #require(TypeName("a.c")))
    }
}

extension EntryName {
    static func random(using generator: inout SeededGenerator) -> EntryName {
        func text(_ letters: String, _ length: Int) -> String {
            String((0..<length).map { _ in letters.randomElement(using: &generator)! })
        }
        let letters = "ABCXYZabcxyz0189_-"
        func digest() -> Digest? {
            Bool.random(using: &generator) ? Digest(text("0123456789abcdef", 24)) : nil
        }
        let moment = Timestamp(
            microseconds: Int64.random(in: 0...Timestamp.lastInNames.microseconds / 1000, using: &generator) * 1000)
        let gates: [Gate] = [.open, .notBefore(moment), .retryAt(moment)]
        return EntryName(
            createdAt: Timestamp(
                microseconds: Int64.random(in: 0...Timestamp.lastInNames.microseconds, using: &generator)),
            id: OperationID(text(letters, Int.random(in: 1...64, using: &generator)))!,
            type: Bool.random(using: &generator)
                ? .default : TypeName("t" + text(letters + ".", Int.random(in: 0...63, using: &generator)))!,
            keyDigest: digest(), originDigest: digest(),
            attempts: Bool.random(using: &generator) ? 0 : Int.random(in: 0...9999, using: &generator),
            interruptions: Bool.random(using: &generator) ? 0 : Int.random(in: 0...99, using: &generator),
            unknowns: Bool.random(using: &generator) ? 0 : Int.random(in: 0...9, using: &generator),
            isHeld: Bool.random(using: &generator), gate: gates.randomElement(using: &generator)!)
    }
}
