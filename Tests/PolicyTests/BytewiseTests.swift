import Testing

@testable import Policy

/// Texts in two normal forms: equal for Swift, and not on the wire.
struct BytewiseTests {
    private let one = "cafe\u{301}"
    private let other = "caf\u{E9}"

    @Test func `texts of different bytes are different, alone, in an optional and in a dictionary`() {
        #expect(one == other && !one.hasBytes(of: other) && one.hasBytes(of: one))
        let optional: String? = one
        #expect(!optional.hasBytes(of: other) && optional.hasBytes(of: one))
        #expect(!optional.hasBytes(of: nil) && (nil as String?).hasBytes(of: nil))
        #expect(!["a": one].hasBytes(of: ["a": other]) && ["a": one].hasBytes(of: ["a": one]))
        #expect(!["a": one].hasBytes(of: ["b": one]) && !["a": one].hasBytes(of: [:]))
        let set: Set = [Bytewise(wrappedValue: one), Bytewise(wrappedValue: other), Bytewise(wrappedValue: one)]
        #expect(set.count == 2)
    }

    @Test func `short texts are equal only if each byte is`() {
        let letters = ["a", "b", "c", "\u{3}"]
        let texts = letters + letters.flatMap { first in letters.map { first + $0 } } + [""]
        for one in texts {
            for other in texts { #expect(one.hasBytes(of: other) == Array(one.utf8).elementsEqual(other.utf8)) }
        }
    }

    static let changes: [(String, @Sendable (inout RequestBase.Values, String) -> Void)] = [
        ("url", { $0.url = "http://a/\($1)" }),
        ("method", { $0.method = $1 }),
        ("body file", { $0.bodyFile = BodyFile(path: "/\($1)", length: 0, modified: 0, inode: 0) }),
        ("proxy", { $0.connection.proxy = .url("http://u:\($1)@p:1") }),
        ("authorities", { $0.connection.caFile = $1 }),
        ("certificate", { $0.connection.clientCertificate = .init(certificateFile: $1) }),
        ("key", { $0.connection.clientCertificate = .init(certificateFile: "c", keyFile: $1) }),
        ("passphrase", { $0.connection.clientCertificate = .init(certificateFile: "c", passphrase: $1) }),
        ("socket", { $0.connection.unixSocket = $1 }),
    ]

    @Test(arguments: changes.indices)
    func `requests that differ in bytes have different bases`(index: Int) {
        let (what, change) = Self.changes[index]
        func base(_ text: String) -> RequestBase {
            var values = RequestBase.Values(method: "POST", url: "http://a/")
            change(&values, text)
            return RequestBase(values)
        }
        #expect(base(one) == base(one) && base(one) != base(other), "\(what)")
    }

    @Test func `headers and origins that differ in bytes are different`() {
        func header(_ change: (inout OperationHeader) -> Void) -> OperationHeader {
            var header = OperationHeader(id: OperationID("a")!, createdAt: Timestamp(microseconds: 0))
            change(&header)
            return header
        }
        #expect(header { $0.url = one } != header { $0.url = other })
        #expect(header { $0.key = one } != header { $0.key = other })
        #expect(Origin(url: "http://\(one)/") != Origin(url: "http://\(other)/"))
    }
}
