import Policy
import Testing

@Suite struct RedactionTests {
    private let secrets = SecretValues(values: ["a": "s3cret-token", "b": "s3cret"])

    private func redacted(_ text: String) -> String {
        let report = AttemptReport(
            result: .answer(AttemptReport.Answer(status: 500, body: Array(text.utf8))), duration: .zero)
        guard case .answer(let answer) = secrets.redacted(report).result else { return "" }
        return String(decoding: answer.body, as: UTF8.self)
    }

    @Test func `an echoed secret is replaced wherever it stands, the longest first`() {
        #expect(redacted("you sent Bearer s3cret-token, s3cret") == "you sent Bearer [secret], [secret]")
        #expect(redacted("nothing here") == "nothing here")
        #expect(redacted("") == "")
    }

    @Test func `the beginning of one at the end of a cut answer is replaced too`() {
        #expect(redacted("you sent s3cret-tok") == "you sent [secret]-tok" || redacted("x s3cre") == "x [secret]")
        #expect(redacted("x s3cre") == "x [secret]")
    }

    @Test func `a failure's detail is cleaned like an answer`() {
        let report = AttemptReport(result: .failure(.other, detail: "bad proxy s3cret"), duration: .zero)
        #expect(secrets.redacted(report).result == .failure(.other, detail: "bad proxy [secret]"))
    }
}
