import Policy
import Testing

@testable import DrainqCLI

struct `A recorded answer` {
    private func parse(_ text: String) throws -> AttemptReport.Answer {
        try RecordedAnswer.parse(Array(text.utf8), name: "answer.txt")
    }

    @Test(arguments: ["\r\n", "\n"])
    func `the output of curl is read`(end: String) throws {
        let lines = ["HTTP/1.1 403 Forbidden", "X-RateLimit-Remaining: 0", "Empty:", "", "{\"a\":1}\r\nHTTP/1.1"]
        let answer = try parse(lines.joined(separator: end))
        #expect(answer.status == 403)
        #expect(answer.headers.map(\.name) == ["X-RateLimit-Remaining", "Empty"])
        #expect(answer.header("x-ratelimit-remaining") == "0")
        #expect(answer.body == Array("{\"a\":1}\r\nHTTP/1.1".utf8))
    }

    @Test func `interim answers and a proxy's answer may precede the final answer`() throws {
        let answer = try parse(
            "HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/2 429 \r\nretry-after: 5\r\n\r\nbody"
        )
        #expect(answer.status == 429 && answer.header("Retry-After") == "5" && answer.body == Array("body".utf8))
    }

    @Test func `a recorded answer may end with its header`() throws {
        #expect(try parse("HTTP/2 204\r\nDate: x").status == 204)
        #expect(try parse("HTTP/2 204").body.isEmpty)
    }

    @Test(arguments: [
        ("", "line 1 is not a status line such as HTTP/1.1 200 OK"), ("{}", "line 1 is not a status line"),
        ("HTTP/1.1 20", "line 1 is not a status line"),
        ("HTTP/1.1 200 OK\nno field\n\n", "line 2 is not a header field"),
    ])
    func `malformed text is refused with the number of its line`(text: String, reason: String) {
        do {
            _ = try parse(text)
            Issue.record("it was read")
        } catch let failure as CommandFailure {
            #expect(failure.status == .dataInvalid)
            #expect(failure.messages[0].text.hasPrefix("cannot explain 'answer.txt': " + reason))
        } catch {
            Issue.record("\(error)")
        }
    }
}
