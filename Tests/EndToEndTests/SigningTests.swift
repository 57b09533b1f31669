import LoopbackReceiver
import Testing

@testable import Policy

/// Whether signed requests arrive unchanged: a transport that rewrites an address or a field breaks the signature.
struct SigningTests {
    private static let key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

    /// Returns the signature of the received request.
    private func signature(of request: ReceivedRequest, service: String) throws -> String {
        let authorization = try #require(request.header("Authorization"))
        let names = try #require(authorization.firstMatch(of: /SignedHeaders=([^,]+),/)).1.split(separator: ";")
        let fields = request.headers.filter { field in names.contains { $0 == field.name.lowercased() } }
            .map { HeaderField(name: $0.name, value: $0.value) }
        let time = try #require(request.header("X-Amz-Date"))
        return AWSSignature(service: service, region: "eu-central-1", time: time).authorization(
            method: request.method, target: request.target, fields: fields,
            payloadHash: SHA256.hexadecimal(SHA256.hash(request.body)), accessKey: "AKIDEXAMPLE",
            secretKey: Self.key, keepsPath: service == "s3")
    }

    @Test(arguments: ["urlsession", "libcurl"], ["sqs", "s3"])
    func `the signature matches the received request`(transport: String, service: String) throws {
        let receiver = try LoopbackReceiver()
        let drainq = try Drainq(
            """
            { routes: { default: {
                url: "\(receiver.url)/a/{key}//x?q={payload.q}&b=1+2&%7e=é&flag&a=%2f", method: "PUT", compress: "gzip",
                headers: { "Content-Type": "application/x-amz-json-1.0 ;  charset=utf-8", "X-Amz-Target": "A.B", "x-amz-meta-note": "a   b" },
                sign: { aws: { service: "\(service)", region: "eu-central-1", accessKey: "AKIDEXAMPLE",
                               secretKey: "\(Self.key)", sessionToken: "a/b+c==" } },
            } } }
            """)
        drainq.environment["DRAINQ_TRANSPORT"] = transport
        let added = try drainq.run("add", "--key", "k/ö (1)!*'~:@", input: #"{"q":"ü &=+/?%"}"#)
        #expect(added.status == 0, "\(added.error)")
        let run = try drainq.run("run")
        #expect(run.status == 0, "\(run.error)")
        let request = try #require(receiver.requests().first)
        #expect(try request.header("Authorization") == signature(of: request, service: service))
        let names = try #require(request.header("Authorization"))
        for name in ["content-type", "host", "x-amz-date", "x-amz-meta-note", "x-amz-security-token", "x-amz-target"] {
            #expect(names.contains(name))
        }
    }
}
