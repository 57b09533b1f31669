import LoopbackReceiver
import Testing

@Suite struct ScriptTextTests {
    @Test(arguments: [
        ("503", "503"),
        ("  503   *3 ", "503 *3"),
        ("429 retry-after=5", "429 Retry-After:5"),
        ("200 delay=100ms body=ok", "200 body=ok delay=100ms"),
        ("reset", "reset"),
        ("close", "close"),
        ("silence delay=1s", "silence delay=1s"),
        ("200 truncate=10", "200 truncate=10"),
        ("200 body={\"a\":[1]} type=application/json", "200 Content-Type:application/json body={\"a\":[1]}"),
        (#"200 body="a \"b\"\n\x1b\xff\\""#, #"200 body="a \"b\"\n\x1b\xff\\""#),
        (#"200 reason="Not so" body="""#, #"200 reason="Not so""#),
        (#"200 X-Note:"a: b" Set-Cookie:a=b"#, #"200 X-Note:"a: b" Set-Cookie:a=b"#),
        ("POST /orders* X-Tenant:b 201", "POST /orders* X-Tenant:b 201"),
        ("/a=b:c 404", "/a=b:c 404"),
        ("200 size=1MB drip=1KB/1000ms", "200 size=1000000 drip=1000/1s"),
        (
            "200 size=5 chunked trailer=\"A:b c\" drip-body=1/1500ms",
            "200 size=5 chunked trailer=\"A:b c\" drip-body=1/1500ms"
        ),
        ("200 bad-chunks", "200 bad-chunks"),
        ("200 endless until-close", "200 endless until-close"),
        ("200 endless=headers", "200 endless=headers"),
        ("200 length=-3 body=hello", "200 body=hello length=-3"),
        ("200 close", "200 close=end"),
        ("200 body=hello reset=body+3", "200 body=hello reset=body+3"),
        ("200 stall=20", "200 stall=20"),
        ("200 delay=60s", "200 delay=1m"),
        (#"raw="HTTP/1.1 200 OK\r\n\r\n" close"#, #"raw="HTTP/1.1 200 OK\r\n\r\n" close=end"#),
        ("204 reset=0", "reset"),
    ])
    func `a rule is read, and written so that it reads the same`(text: String, canonical: String) throws {
        let rule = try Script.Rule(text)
        #expect(rule.description == canonical)
        #expect(try Script.Rule(canonical) == rule)
    }

    @Test(arguments: [
        ("", "", ScriptError.Problem.noAnswer),
        ("POST /a", "", .noAnswer),
        ("delay=5s", "delay=5s", .noAnswer),
        ("99", "99", .notA("a status from 100 to 999")),
        ("rest", "rest", .unknown(nearest: "reset")),
        ("200 dealy=5s", "dealy=5s", .unknown(nearest: "delay")),
        ("200 frobnicate", "frobnicate", .unknown(nearest: nil)),
        ("200 delay=5", "delay=5", .notA("a duration such as 250ms or 2s")),
        ("200 delay", "delay", .value(needed: true)),
        ("200 chunked=yes", "chunked=yes", .value(needed: false)),
        ("200 size=-1", "size=-1", .notA("a size such as 10 or 64KB")),
        ("200 size=99999999999GB", "size=99999999999GB", .notA("a size such as 10 or 64KB")),
        ("200 drip=0/1s", "drip=0/1s", .notA("bytes and a duration such as 10/100ms")),
        ("200 length=3", "length=3", .notA("a difference such as +10 or -1")),
        ("200 reset=middle", "reset=middle", .notA("a place such as 20, body+5 or end")),
        ("200 trailer=x", "trailer=x", .notA("a trailer such as Name:value")),
        ("200 endless=feet", "endless=feet", .notA("'body' or 'headers'")),
        ("200 body=\"abc", "body=\"abc", .unclosedQuote),
        ("200 body=\"\\q\"", "body=\"\\q\"", .unclosedQuote),
        ("200 *0", "*0", .notA("a count such as *3")),
        ("200 *2 *3", "*3", .repeated),
        ("200 201", "201", .repeated),
        ("200 /path", "/path", .conditionAfterAnswer),
        ("200 POST", "POST", .conditionAfterAnswer),
    ])
    func `a word that cannot be used is named`(text: String, word: String, problem: ScriptError.Problem) {
        let error = #expect(throws: ScriptError.self) { try Script.Rule(text) }
        #expect(error == ScriptError(rule: text, word: word, problem: problem))
    }

    @Test func `an error reads as a sentence`() {
        let error = #expect(throws: ScriptError.self) { try Script(["200", "503 dealy=5s"]) }
        #expect(
            error?.description == "cannot use 'dealy=5s' in the answer '503 dealy=5s': no such word, perhaps 'delay'")
    }

    @Test func `any bytes survive being written and read`() throws {
        var generator = Seeded(state: 7)
        for _ in 0..<500 {
            var answer = Answer(Int.random(in: 100...999, using: &generator))
            let bytes = (0..<Int.random(in: 1...40, using: &generator)).map { _ in
                UInt8.random(in: 0...255, using: &generator)
            }
            answer.body = .bytes(bytes)
            answer.delay = .microseconds(Int.random(in: 0...5_000_000, using: &generator))
            answer.ending = [.open, .close(at: .end), .reset(at: .bytes(bytes.count)), .stall(at: .body(3))]
                .randomElement(using: &generator)!
            let rule = Script.Rule(answer, times: Int.random(in: 1...3, using: &generator))
            #expect(try Script.Rule(rule.description) == rule)
        }
    }
}

private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
