import Testing

@testable import Policy

/// What an operator reads of an answer.
struct ServerWordsTests {
    @Test(arguments: [
        ("token expired", "token expired"), ("  a \n b ", "a b"), ("", nil), ("   ", nil),
        (#"{"error":"token expired"}"#, "token expired"),
        (#"{"error":{"code":401,"message":"token expired"},"docs":"https://x"}"#, "token expired"),
        (#"{"title":"Unauthorized","detail":"token expired","status":401}"#, "token expired"),
        (#"{"error":"invalid_grant","error_description":"token expired"}"#, "token expired"),
        (#"{"errors":[{"message":"a"},{"message":"b"}]}"#, "a; b"),
        (
            #"{"error":"token expired","hint":"renew it at https:\/\/id.example.com"}"#,
            "token expired; renew it at https://id.example.com"
        ),
        // An excerpt is cut anywhere.
        (#"{"message":"the end of this is mis…"#, "the end of this is mis…"),
        (#"{"message":"quote \" in\u0020it\n"}"#, "quote \" in it"),
        (#"{"ok":false}"#, #"{"ok":false}"#), (#"{"message":"\u001b[31m"}"#, #"\u{1b}[31m"#),
        (
            "<html><head><title>500</title></head><body><h1>Internal Server Error</h1>\n<p>ORA-01653: no room</p></body></html>",
            "Internal Server Error ORA-01653: no room"
        ),
        ("<!DOCTYPE html><html><head><title>Bad &amp; gone</title><style>p { color: red }</sty", "Bad & gone"),
        ("<Error><Code>NoSuchBucket</Code><Message>none</Message></Error>", "NoSuchBucket none"),
        ("<header>kept</header><script>alert(1)</script>", "kept"),
    ])
    func `an answer is read by its message, without its markup`(excerpt: String, words: String?) {
        #expect(ServerWords.readable(excerpt) == words)
    }

    @Test func `long words are cut`() {
        let words = ServerWords.readable(String(repeating: "word ", count: 100))
        #expect(words?.count == ServerWords.longest && words?.last == "…")
    }

    @Test func `causes that differ by ids and numbers have one group`() {
        func cause(_ words: String) -> Cause { Cause(status: 422, words: words) }
        #expect(cause("order 17 is unknown").group == cause("order 18 is unknown").group)
        #expect(cause("order 17 is unknown").group != cause("sku is unknown").group)
        #expect(Cause(failure: "503") == Cause(status: 503) && Cause(failure: "dns") == Cause(error: "dns"))
    }
}
