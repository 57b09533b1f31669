import Foundation
import Testing

@testable import Policy

struct RedactionTests {
    private static let secrets = SecretValues(values: [
        "a": "s3cret-token", "b": "s3cret", "c": #"abc/DEF+"gehe<im"=1é2"#,
    ])
    private let redaction = Redaction(Self.secrets)

    private func redacted(_ text: String, _ redaction: Redaction? = nil) -> String {
        String(decoding: (redaction ?? self.redaction)(Array(text.utf8)), as: UTF8.self)
    }

    @Test func `an echoed secret is replaced anywhere, the longest secret first`() {
        #expect(redacted("you sent Bearer s3cret-token, s3cret") == "you sent Bearer [secret], [secret]")
        #expect(redacted("nothing here") == "nothing here")
        #expect(redacted("100% & \\ +") == "100% & \\ +")
        #expect(redacted("") == "")
    }

    @Test func `a secret of less than four bytes is not replaced and does not affect longer secrets`() {
        let redaction = Redaction(
            SecretValues(values: ["a": "e", "b": "ab", "c": "é1", "d": "abcd", "e": "ZQ==", "f": ""]))
        #expect(redacted("there, e ab é1: ab", redaction) == "there, e ab é1: ab")
        #expect(redacted("xabcdé abc ZQ==", redaction) == "x[secret]é abc [secret]")
        #expect(redacted("YWJjZA== cut: abcd", redaction) == "[secret] cut: [secret]")
        #expect(redacted("dWFiY2Q=, eHVhYmNk", redaction) == "[secret], [secret]")
        #expect(Redaction(SecretValues(values: ["a": "abc"])).description == "Redaction(none)")
    }

    @Test func `joined redactions replace the secrets of both, the longest first`() {
        let (old, new) = (SecretValues(values: ["a": "token"]), SecretValues(values: ["a": "token-two"]))
        for joined in [Redaction(old).joined(with: Redaction(new)), Redaction(new).joined(with: Redaction(old))] {
            #expect(redacted("token, token-two; dG9rZW4=", joined) == "[secret], [secret]; [secret]")
        }
        for joined in [Redaction(old).joined(with: .none), Redaction.none.joined(with: Redaction(old))] {
            #expect(redacted("token", joined) == "[secret]")
        }
    }

    @Test func `the beginning of a secret at the end of a cut answer is replaced too`() {
        #expect(redacted("you sent s3cret-tok") == "you sent [secret]")
        #expect(redacted("x s3cre") == "x [secret]")
        #expect(redacted("x abc%2FDEF%2") == "x [secret]")
    }

    @Test(arguments: [
        #"abc%2FDEF%2B%22gehe%3Cim%22%3D1%C3%A92"#, #"abc%2fDEF%2b%22gehe%3cim%22%3d1%c3%a92"#,
        #"abc/DEF+%22gehe%3Cim%22=1%C3%A92"#, #"abc%252FDEF%252B%2522gehe%253Cim%2522%253D1%25C3%25A92"#,
        #"abc\/DEF+\"gehe<im\"=1é2"#, #"abc\u002fDEF\u002b\u0022gehe\u003cim\u0022=1\u00e92"#,
        #"abc/DEF+\\\"gehe<im\\\"=1\\u00e92"#, #"abc/DEF+&quot;gehe&lt;im&#34;=1&#xe9;2"#,
        #"abc%2FDEF%2B\"gehe\u003cim&quot;=1é2"#,
    ])
    func `a secret is found behind the escapes of urls, JSON and HTML`(echo: String) {
        #expect(redacted("you sent \(echo), twice \(echo)!") == "you sent [secret], twice [secret]!")
    }

    @Test func `a secret is found in upper and in lower case`() {
        #expect(redacted("YOU SENT S3CRET-TOKEN, s3Cret") == "YOU SENT [secret], [secret]")
        #expect(redacted("ABC%2FDEF%2B%22GEHE%3CIM%22%3D1%C3%A92!") == "[secret]!")
    }

    @Test func `a plus in a form counts as a blank`() {
        let redaction = Redaction(SecretValues(values: ["a": "two words?"]))
        #expect(redacted("q=two+words%3F&b=1", redaction) == "q=[secret]&b=1")
    }

    @Test(arguments: 0..<7, [[], [Base64Option.url], [.unpadded], [.url, .unpadded]])
    func `a secret is found in Base64 behind any prefix`(before: Int, options: [Base64Option]) {
        for secret in Self.secrets.values.values {
            let bytes = Data(repeating: 0x75, count: before) + Data(secret.utf8) + Data("x".utf8)
            var text = bytes.base64EncodedString()
            if options.contains(.unpadded) { text = text.filter { $0 != "=" } }
            if options.contains(.url) {
                text = String(text.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
            }
            #expect(redacted("got 'Basic \(text)'") == "got 'Basic [secret]'")
            let escaped = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics)!
            #expect(!redacted("got \(escaped).").contains(text.dropFirst(before * 4 / 3 + 2).prefix(6)))
        }
    }

    enum Base64Option { case url, unpadded }

    @Test func `the credentials of Basic authentication are found decoded`() {
        let redaction = Redaction(SecretValues(values: ["basic": Data("alice:open sesame".utf8).base64EncodedString()]))
        #expect(
            redacted("no user 'alice:open sesame', nor 'open sesame'", redaction)
                == "no user '[secret]', nor '[secret]'")
    }

    @Test func `the words of headers from a signing command are secrets`() {
        let fields = [
            HeaderField(name: "Authorization", value: #"Scheme Credential=AKIA12345678, Signature="0123abcdef""#),
            HeaderField(name: "X-Version", value: "2"), HeaderField(name: "Content-Type", value: "application/json"),
        ]
        let redaction = Redaction(.none, signed: fields)
        #expect(redacted("2: bad signature 0123abcdef", redaction) == "2: bad signature [secret]")
        #expect(redacted(#"\#(fields[0].value)"#, redaction) == "[secret]")
        #expect(redacted("Scheme of application/json", redaction) == "Scheme of application/json")
    }

    @Test func `every text of a report is redacted`() {
        let details = SealedReport(
            AttemptReport(result: .failure(.other, detail: "bad proxy s3cret"), duration: .zero), redaction)
        #expect(details.excerpt?.description == "bad proxy [secret]")
        let long = String(repeating: "x", count: 190) + "s3cret-token"
        let answer = AttemptReport.Answer(
            status: 200, headers: [HeaderField(name: "Content-Type", value: "text/s3cret")], body: Array(long.utf8))
        let report = SealedReport(AttemptReport(result: .answer(answer), duration: .zero), redaction)
        #expect(report.excerpt?.description == String(repeating: "x", count: 190) + "[secret]")
        let route = Route(accept: AnswerRule.accept(contentType: "application/json"))
        let verdict = Classification.verdict(on: report, route: route, now: Timestamp(microseconds: 0))
        #expect(verdict.rule.description == "accept: content type is 'text/[secret]', not 'application/json': defers")
    }

    @Test func `a rule on a batch's answer decides by the original and shows no secret`() throws {
        let body = #"[{"error":"bad token abc\/DEF+\"gehe<im\"=1\u00e92"},{"error":null}]"#
        let report = SealedReport(
            AttemptReport(result: .answer(.init(status: 200, body: Array(body.utf8))), duration: .zero), redaction)
        let results = Batch.Results(pointer: JSONPointer("")!, error: JSONPointer("/error")!)
        let batch = Batch(max: 2, results: results)
        let verdicts = try #require(
            batch.verdicts(
                on: report, members: ["a", "b"].compactMap { OperationID($0) }, route: Route(batch: batch),
                now: Timestamp(microseconds: 0)))
        #expect(verdicts.map(\.outcome) == [.failed, .delivered])
        #expect(verdicts[0].rule.description == #"batch results: error "bad token [secret]": fails"#)
    }

    @Test(.timeLimit(.minutes(10))) func `a word of many matches is replaced once, and backslashes are read once`() {
        let secret = Redaction(SecretValues(values: ["a": "abcdef"]))
        let filled = Array(String(repeating: "YWJjZGVm", count: 1 << 15).utf8)
        #expect(secret(filled) == Array("[secret]".utf8))
        let parts = Array("a YWJjZGVmYWJj%5aGVmYWJjZGVm/b".utf8)
        #expect(secret(parts) == Array("a [secret]".utf8))
        let slashes = Redaction(SecretValues(values: ["a": String(repeating: "\\", count: 24) + "x"]))
        let body = Array(String(repeating: "\\", count: 3000).utf8)
        #expect(String(decoding: slashes(body), as: UTF8.self).hasSuffix("\\[secret]"))
        #expect(slashes(body + Array("x".utf8)).count < 3000)
    }

    @Test(.timeLimit(.minutes(10)), arguments: ["\\", "%", "&", "+", "A"])
    func `a secret of escape characters is found in a long text of escapes`(letter: String) {
        let secret = Redaction(SecretValues(values: ["a": String(repeating: letter, count: 40)]))
        let code = String(letter.utf8.first!, radix: 16)
        for unit in [letter, "%\(code)", "%25", "\\u00\(code)", "&#x\(code);", "&amp;", "\\\\u", "%5c\\u0025&#37;"] {
            let body = String(repeating: unit, count: 4_000 / unit.utf8.count)
            let isAll = unit == letter || unit == "%\(code)" || unit.hasSuffix("\(code);") || unit == "\\u00\(code)"
            let redacted = String(decoding: secret(Array(body.utf8)), as: UTF8.self)
            if isAll { #expect(redacted == "[secret]", "\(unit)") }
        }
    }

    @Test(.timeLimit(.minutes(10))) func `a secret made of escapes does not stall the search`() {
        let body = Array(String(repeating: "%2", count: 1 << 15).utf8)
        let long = Redaction(SecretValues(values: ["a": String(repeating: "%2", count: 4096)]))
        let report = SealedReport(
            AttemptReport(result: .answer(.init(status: 500, body: body)), duration: .zero), long)
        #expect(report.excerpt?.description == "[secret]")
    }
}
