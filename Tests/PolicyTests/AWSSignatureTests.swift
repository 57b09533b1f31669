import Foundation
import Testing

@testable import Policy

struct AWSSignatureTests {
    struct Vector: CustomTestStringConvertible {
        var fields: [String]
        var testDescription: String { fields[0] }
    }

    static let vectors: [Vector] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/aws-signature-4.txt")
        let text = try! String(contentsOf: file, encoding: .utf8)
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map {
            Vector(fields: $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init))
        }
    }()

    private static let key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    /// 2015-08-30T12:36:00Z.
    private static let moment = Timestamp(microseconds: 1_440_938_160_000_000)

    @Test(arguments: vectors)
    func `signing a request of AWS's test vectors yields the published signature`(vector: Vector) throws {
        let row = vector.fields
        try #require(row.count == 9)
        var fields = row[4].split(separator: "|").map { line in
            let name = line.prefix { $0 != ":" }
            return HeaderField(name: String(name), value: String(line[name.endIndex...].dropFirst()))
        }
        fields.append(HeaderField(name: "X-Amz-Date", value: "20150830T123600Z"))
        let isAfter = row[0] == "post-sts-header-after"
        if !row[6].isEmpty, !isAfter { fields.append(HeaderField(name: "X-Amz-Security-Token", value: row[6])) }
        let hash = SHA256.hexadecimal(SHA256.hash(Array(row[5].utf8)))
        if row[7] == "signed" { fields.append(HeaderField(name: "x-amz-content-sha256", value: hash)) }
        let signature = AWSSignature(service: "service", region: "us-east-1", time: "20150830T123600Z")
        // Vectors with kept dot segments show how S3 reads a path. No transport sends such a path.
        let target =
            row[1] == "keeps" && row[0].contains("unnormalized")
            ? row[3].replacing(" ", with: "%20") : AWSSignature.wireTarget(row[3][...])
        let authorization = signature.authorization(
            method: row[2], target: target, fields: fields, payloadHash: hash, accessKey: "AKIDEXAMPLE",
            secretKey: Self.key, keepsPath: row[1] == "keeps")
        #expect(authorization.hasSuffix("Signature=\(row[8])"))
        #expect(
            authorization.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders="))
    }

    @Test(arguments: [
        ("", "/"), ("/", "/"), ("/a/./b/../c", "/a/c"), ("/a/..", "/"), ("/a/.", "/a/"), ("/../a", "/a"),
        ("//a//b/", "//a//b/"), ("/a:b@c!d", "/a%3Ab%40c%21d"), ("/%41%2f%e9~_.-", "/A%2F%E9~_.-"), ("/%", "/%25"),
        ("/?a=b+c&d", "/?a=b%20c&d"), ("/?x=1:2,3&&y=", "/?x=1%3A2%2C3&y="), ("/é?ü", "/%C3%A9?%C3%BC"),
        ("/?a=b=c", "/?a=b%3Dc"), ("/%2e%2e/a", "/a"), ("/a?b/../c", "/a?b%2F..%2Fc"),
    ])
    func `a request target is normalized, and a normalized target stays the same`(given: String, sent: String) {
        #expect(AWSSignature.wireTarget(given[...]) == sent)
        #expect(AWSSignature.wireTarget(sent[...]) == sent)
    }

    @Test func `an encoded slash becomes a slash for S3, unless the path would gain dot segments`() {
        #expect(AWSSignature.wireTarget("/b/x%2fy?k=a%2Fb", slashesAreKept: true) == "/b/x/y?k=a%2Fb")
        #expect(AWSSignature.wireTarget("/b/..%2F..%2Fy", slashesAreKept: true) == "/b/..%2F..%2Fy")
        #expect(AWSSignature.wireTarget("/b/x%2Fy") == "/b/x%2Fy")
    }

    /// RFC 4231 §4.2, 4.3 and 4.7.
    @Test(arguments: [
        (
            [UInt8](repeating: 0x0b, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            [UInt8](repeating: 0xaa, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
    ])
    func `a message and key of RFC 4231 have the published HMAC`(key: [UInt8], message: String, code: String) {
        #expect(SHA256.hexadecimal(SHA256.authenticate(Array(message.utf8), key: key)) == code)
    }

    // MARK: - Requests

    private let secrets = SecretValues(values: ["id": "AKIDEXAMPLE", "key": key, "token": "T0K+/="])
    private let signing = AWSSigning(
        service: "sqs", region: "us-east-1", accessKey: "${secret:id}", secretKey: "${secret:key}")

    private func signed(
        _ change: (inout OutgoingRequest, inout AWSSigning) -> Void = { _, _ in }
    ) throws -> OutgoingRequest {
        var signing = signing
        var request = OutgoingRequest(
            method: "POST", url: "https://sqs.example:8443/q?b=2&a=1",
            headers: [
                HeaderField(name: "Content-Type", value: "application/json"),
                HeaderField(name: "X-Amz-Target", value: "A.B"), HeaderField(name: "Authorization", value: "old"),
                HeaderField(name: "User-Agent", value: "x"),
            ], body: Array("{}".utf8))
        change(&request, &signing)
        _ = try request.sign(by: signing, with: secrets, at: Self.moment)
        return request
    }

    private func field(_ name: String, _ request: OutgoingRequest) -> String? {
        request.headers.filter { $0.name.lowercased() == name }.map(\.value).joined(separator: "|")
    }

    @Test func `signing covers the headers no transport changes and replaces the old signature`() throws {
        let request = try signed()
        let authorization = try #require(field("authorization", request))
        #expect(
            authorization.contains(
                "SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-target, Signature="))
        #expect(!authorization.contains("old"))
        #expect(field("x-amz-date", request) == "20150830T123600Z")
        #expect(
            field("x-amz-content-sha256", request)
                == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")
        #expect(request.url == "https://sqs.example:8443/q?b=2&a=1")
    }

    @Test func `every part of the request and the time change the signature`() throws {
        let plain = try signed()
        let others = try [
            signed { request, _ in request.method = "PUT" }, signed { request, _ in request.url += "&c" },
            signed { request, _ in request.body = [] }, signed { request, _ in request.headers[1].value = "A.C" },
            signed { request, _ in request.url = "https://sqs.example/q?b=2&a=1" },
            signed { _, signing in signing.region = "eu" }, signed { _, signing in signing.service = "sns" },
            signed { _, signing in signing.secretKey = "x" }, signed { _, signing in signing.sessionToken = "y" },
        ]
        let signatures = Set(([plain] + others).map { field("authorization", $0) })
        #expect(signatures.count == others.count + 1)
        let again = try signed { request, _ in request.headers[3].value = "another" }
        #expect(field("authorization", again) == field("authorization", plain))
    }

    @Test func `a session token is sent and signed`() throws {
        let request = try signed { _, signing in signing.sessionToken = "${secret:token}" }
        #expect(field("x-amz-security-token", request) == "T0K+/=")
        #expect(try #require(field("authorization", request)).contains("x-amz-security-token;x-amz-target"))
    }

    @Test func `signing with a missing secret throws an error`() {
        #expect(throws: RequestError.missingSecret("gone", reason: "is not configured")) {
            try signed { _, signing in signing.secretKey = "${secret:gone}" }
        }
    }

    @Test func `a route lists the secrets of its AWS signing`() {
        let route = Route(url: "https://a", awsSigning: signing)
        #expect(route.secretNames(settings: DestinationSettings()) == ["id", "key"])
        #expect(signing.hasSecretKey)
    }

    @Test func `a signed route refuses an operation for a foreign origin`() throws {
        var header = OperationHeader(id: OperationID("1")!, createdAt: Self.moment)
        header.url = "https://b/x"
        let defect = Route(url: "https://a", awsSigning: signing).defect(of: Operation(header: header, body: []))
        #expect(defect == .credentialsElsewhere(origin: "https://b"))
    }

    @Test func `a body file is sent only to S3 over TLS, and its content is not signed`() throws {
        let file = BodyFile(path: "/f", length: 1, modified: 0, inode: 1)
        let header = OperationHeader(id: OperationID("1")!, createdAt: Self.moment, bodyFile: file)
        let operation = Operation(header: header, body: [])
        func defect(_ service: String, _ url: String) -> String? {
            var signing = signing
            signing.service = service
            return Route(url: url, method: "PUT", awsSigning: signing).defect(of: operation)?.description
        }
        #expect(defect("s3", "https://a/{id}") == nil)
        #expect(
            defect("s3", "http://a/{id}")
                == "the body file '/f' cannot be signed for http: its content is not in the signature")
        #expect(
            defect("sqs", "https://a/{id}") == "the body file '/f' cannot be signed for 'sqs': only S3 takes files")
        let request = try signed { request, signing in
            (request.body, request.bodyFile, signing.service) = (nil, file, "s3")
        }
        #expect(field("x-amz-content-sha256", request) == "UNSIGNED-PAYLOAD")
    }

    @Test func `redirects, a configured signature header and a non-ASCII host contradict AWS signing`() {
        let route = Route(
            url: "https://ä.example", headers: [HeaderField(name: "X-Amz-Date", value: "x")], redirects: .sameOrigin,
            awsSigning: signing)
        #expect(route.problems.map(\.key) == ["headers.X-Amz-Date", "redirects", "url"])
        #expect(Route(url: "https://a", awsSigning: signing).problems.isEmpty)
    }
}
