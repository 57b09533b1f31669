import LoopbackReceiver
import Testing

@testable import DrainqCLI

struct AnswerScriptTests {
    static let rules: [(text: String, rule: Script.Rule)] = [
        ("503", .init(Answer(503))),
        ("  503   *3 ", .init(Answer(503), times: 3)),
        ("429 retry-after=5", .init(.status(429, headers: ["Retry-After: 5"]))),
        ("200 delay=100ms body=ok", .init(.status(200, body: "ok").delayed(.milliseconds(100)))),
        ("200 delay=5m", .init(Answer(200).delayed(.seconds(300)))),
        ("reset", .init(.reset)), ("close", .init(.close)), ("silence delay=1s", .init(.silence.delayed(.seconds(1)))),
        (
            "200 body={\"a\":[1]} type=application/json",
            .init(.status(200, headers: [HeaderLine("Content-Type", "application/json")], body: #"{"a":[1]}"#))
        ),
        (
            #"200 body="a \"b\"\n\x1b\xff\\""#,
            .init(Answer(200, body: Array("a \"b\"\n\u{1b}".utf8) + [0xFF, 0x5C]))
        ),
        (#"200 body="""#, .init(Answer(200))),
        ("200 body=whole truncate=2", .init(.status(200, body: "whole").truncated(by: 2))),
        (
            #"200 X-Note:"a: b" Set-Cookie:a=b"#,
            .init(Answer(200, headers: [HeaderLine("X-Note", "a: b"), HeaderLine("Set-Cookie", "a=b")]))
        ),
        ("302 location=http://a/", .init(Answer(302, headers: [HeaderLine("Location", "http://a/")]))),
        (
            "POST /orders* X-Tenant:b 201",
            .init(
                Answer(201),
                when: .init(method: "POST", path: "/orders*", headers: [HeaderLine("X-Tenant", "b")]))
        ),
        ("/a=b:c 404", .init(Answer(404), when: .init(path: "/a=b:c"))),
    ]

    @Test(arguments: rules.indices)
    func `a rule is read`(row: Int) throws {
        #expect(try Script.Rule(Self.rules[row].text) == Self.rules[row].rule)
    }

    @Test(arguments: [
        ("99", "99", "the value is not a status from 100 to 999"),
        ("rest", "rest", "no such word, perhaps 'reset'"),
        ("200 dealy=5s", "dealy=5s", "no such word, perhaps 'delay'"),
        ("200 frobnicate", "frobnicate", "no such word"),
        ("200 delay=5", "delay=5", "the value is not a duration such as 250ms or 2s"),
        ("200 delay", "delay", "a value is needed"),
        ("200 truncate=0", "truncate=0", "the value is not a number of bytes"),
        (
            "200 body=x truncate=9223372036854775807", "truncate=9223372036854775807",
            "the value is not a number of bytes"
        ),
        ("200 body=\"abc", "body=\"abc", "the quotation mark is not closed"),
        ("200 body=\"\\q\"", "body=\"\\q\"", "the quotation mark is not closed"),
        ("200 *0", "*0", "the value is not a count such as *3"),
        ("200 *2 *3", "*3", "it contradicts an earlier word"),
        ("200 201", "201", "it contradicts an earlier word"),
        ("200 /path", "/path", "conditions come before the answer"),
        ("200 POST", "POST", "conditions come before the answer"),
    ])
    func `an error names the unusable word and the problem`(text: String, word: String, problem: String) {
        let error = #expect(throws: UsageError.self) { try Script.Rule(text) }
        #expect(error?.message == "cannot use '\(word)' in the answer '\(text)': \(problem)")
    }

    @Test(arguments: ["", "POST /a", "delay=5s"])
    func `a rule without an answer says so`(text: String) {
        let error = #expect(throws: UsageError.self) { try Script.Rule(text) }
        #expect(
            error?.message == "cannot use the answer '\(text)': a status, 'silence', 'reset' or 'close' is missing")
    }

    @Test func `an error reads as a sentence`() {
        let error = #expect(throws: UsageError.self) { try Script(["200", "503 dealy=5s"]) }
        #expect(
            error?.message == "cannot use 'dealy=5s' in the answer '503 dealy=5s': no such word, perhaps 'delay'")
    }
}
