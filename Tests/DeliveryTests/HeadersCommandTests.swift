import Delivery
import Foundation
import Testing

@testable import Policy

struct `Header commands` {
    private let environment = ProgramEnvironment(of: ProcessInfo.processInfo.environment)

    private func fields(
        _ arguments: [String], for request: OutgoingRequest = request(), within timeout: Duration = .seconds(20)
    ) throws(RequestError) -> [HeaderField] {
        try HeadersCommand(arguments, directory: "/", environment: environment, timeout: timeout).headers(for: request)
    }

    private static func request(_ change: (inout OutgoingRequest) -> Void = { _ in }) -> OutgoingRequest {
        var request = OutgoingRequest(method: "POST", url: "https://api.example.com/v1/a?b=c")
        change(&request)
        return request
    }

    /// Returns the standard input that a command gets for the request.
    private func input(for request: OutgoingRequest) throws -> Data {
        let place = try SecretPlace()
        let none = try fields(["sh", "-c", "cat > '\(place.path)/input'"], for: request)
        #expect(none.isEmpty)
        return try Data(contentsOf: URL(filePath: "\(place.path)/input"))
    }

    // MARK: - The request

    @Test func `a command gets the request as a line of JSON, followed by the exact body of the request`() throws {
        let body: [UInt8] = Array(#"{"n": 1.10}"#.utf8) + [0, 10, 255]
        let got = try input(
            for: Self.request {
                $0.headers = [
                    HeaderField(name: "Content-Type", value: "application/json"),
                    HeaderField(name: "X-Tag", value: "a"), HeaderField(name: "x-tag", value: "b \"c\""),
                    HeaderField(name: "Idempotency-Key", value: #""a\"b\\c""#),
                ]
                $0.body = body
            })
        let line =
            #"{"bodyLength":14,"headers":{"content-type":"application/json","idempotency-key":"\"a\\\"b\\\\c\"","x-tag":"a, b \"c\""},"idempotencyKey":"a\"b\\c","method":"POST","url":"https://api.example.com/v1/a?b=c"}"#
        #expect(got == Data(line.utf8) + [10] + body)
    }

    @Test(arguments: [nil, []] as [[UInt8]?])
    func `the line is the whole input for a request without a body`(body: [UInt8]?) throws {
        let got = try input(for: Self.request { $0.body = body })
        #expect(
            String(decoding: got, as: UTF8.self)
                == #"{"bodyLength":0,"headers":{},"method":"POST","url":"https://api.example.com/v1/a?b=c"}"# + "\n")
    }

    @Test func `a body file is named and not copied`() throws {
        let got = try input(
            for: Self.request { $0.bodyFile = BodyFile(path: "/srv/a b.bin", length: 7, modified: 1, inode: 2) })
        #expect(
            String(decoding: got, as: UTF8.self)
                == #"{"bodyFile":"/srv/a b.bin","bodyLength":7,"headers":{},"method":"POST","url":"https://api.example.com/v1/a?b=c"}"#
                + "\n")
    }

    @Test func `a command may answer without reading a large request`() throws {
        let request = Self.request { $0.body = [UInt8](repeating: 0x61, count: 5_000_000) }
        #expect(try fields(["printf", "A: b"], for: request) == [HeaderField(name: "A", value: "b")])
    }

    // MARK: - The answer

    @Test(arguments: [
        ("", []),
        ("X-Signature: abc\n", [("X-Signature", "abc")]),
        ("X-Signature: abc", [("X-Signature", "abc")]),
        ("A:1\r\nB: \t 2:3 \t\r\n\r\n\nA: 4\n", [("A", "1"), ("B", "2:3"), ("A", "4")]),
        ("Empty:\n", [("Empty", "")]),
        ("Blank:  \n", [("Blank", "")]),
        ("Name: übung\n", [("Name", "übung")]),
        ("authorization: Bearer x\n", [("authorization", "Bearer x")]),
    ])
    func `each line of the output is a header field`(output: String, expected: [(String, String)]) throws {
        #expect(try fields(["printf", "%s", output]) == expected.map { HeaderField(name: $0.0, value: $0.1) })
    }

    @Test(arguments: [
        ("marker\n", "wrote line 1, which is no header field"),
        ("A: b\n\nmarker marker\n", "wrote line 3, which is no header field"),
        (": marker\n", "wrote line 1, which has a name that is not a token"),
        ("my marker: b\n", "wrote line 1, which has a name that is not a token"),
        ("A : marker\n", "wrote line 1, which has a name that is not a token"),
        (" A: marker\n", "wrote line 1, which has a name that is not a token"),
        ("A: mar\rker\n", "wrote line 1, which has a value with control characters"),
        ("A: mar\u{7f}ker\n", "wrote line 1, which has a value with control characters"),
        ("Idempotency-Key: marker\n", "wrote a header 'Idempotency-Key', which drainq writes itself"),
        ("drainq-attempt: marker\n", "wrote a header 'drainq-attempt', which drainq writes itself"),
        ("HOST: marker\n", "wrote a header 'HOST', which drainq writes itself"),
        ("Content-Length: 3\n", "wrote a header 'Content-Length', which drainq writes itself"),
        (String(repeating: "A: marker\n", count: 65), "wrote more than 64 header fields"),
        ("A: " + String(repeating: "m", count: 16_384), "wrote more than 16 KB"),
    ])
    func `an invalid answer is refused, and the error does not repeat the answer`(output: String, reason: String) {
        #expect(throws: RequestError.headersCommand(reason: "'printf' \(reason)")) {
            try fields(["printf", "%s", output])
        }
    }

    @Test func `the largest number of fields and the longest field are accepted`() throws {
        #expect(try fields(["printf", "%s", String(repeating: "A: b\n", count: 64)]).count == 64)
        let longest = String(repeating: "m", count: HeadersCommand.answerLimit - 3)
        #expect(try fields(["printf", "%s", "A: \(longest)"]).first?.value == longest)
    }

    @Test(arguments: [
        (["sh", "-c", "echo 'A: b'; echo marker >&2; exit 77"], "'sh' exited with status 77"),
        (["/nonexistent/sign"], "'/nonexistent/sign' cannot be started: No such file or directory"),
        (["printf", #"\377"#], "'printf' wrote something other than UTF-8"),
    ])
    func `a failed command makes no request`(arguments: [String], reason: String) {
        #expect(throws: RequestError.headersCommand(reason: reason)) { try fields(arguments) }
    }

    @Test func `a command that exceeds its time-out makes no request`() {
        let late = RequestError.noCredentials(
            reason: "the route's headersCommand 'sh' did not end within 300ms", for: .zero)
        #expect(throws: late) { try fields(["sh", "-c", "echo 'A: b'; sleep 1000"], within: .milliseconds(300)) }
    }

    @Test(arguments: [("exit 3", "exited with status 3"), ("kill -TERM $$", "was killed by signal 15 (Terminated)")])
    func `a command that fails may succeed later`(script: String, reason: String) {
        let failure = RequestError.noCredentials(reason: "the route's headersCommand 'sh' \(reason)", for: .zero)
        #expect(throws: failure) { try fields(["sh", "-c", script]) }
    }

    // MARK: - Standard Webhooks

    private static let hasOpenSSL =
        ExternalCommand(["openssl", "version"], directory: "/", environment: ProgramEnvironment())
        .run(within: .seconds(120)).failure == nil

    @Test(.enabled(if: hasOpenSSL, "openssl is not installed"), arguments: [false, true])
    func `the example for Standard Webhooks signs the given request`(isFile: Bool) throws {
        let place = try SecretPlace()
        let key = try place.write("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", to: "key")
        let body: [UInt8] = Array(#"{"path": "/a\"b"}"#.utf8) + [0, 10]
        let file = try place.write(Data(body), to: "body with blanks")
        let request = Self.request {
            $0.headers = [HeaderField(name: "Idempotency-Key", value: #""msg-1""#)]
            if isFile {
                $0.bodyFile = BodyFile(path: file, length: body.count, modified: 0, inode: 0)
            } else {
                $0.body = body
            }
        }
        let example = URL(filePath: #filePath).appending(path: "../../../etc/drainq/examples/standard-webhooks-sign")
        let signed = try fields([example.standardizedFileURL.path, key], for: request)
        #expect(signed.map(\.name) == ["webhook-id", "webhook-timestamp", "webhook-signature"])
        #expect(signed[0].value == "msg-1")

        let hmac = ExternalCommand(
            [
                "openssl", "dgst", "-sha256", "-binary", "-mac", "HMAC", "-macopt",
                "hexkey:31f290f6bf06298aab4f08d43c3f082cf648a362da2da4b0",
            ], directory: "/", environment: ProgramEnvironment()
        ).run(input: Array("msg-1.\(signed[1].value).".utf8) + body, within: .seconds(120))
        #expect(signed[2].value == "v1,\(Data(hmac.output).base64EncodedString())")
    }
}
