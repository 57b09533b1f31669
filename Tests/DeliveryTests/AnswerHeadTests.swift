import Policy
import Testing

@testable import Delivery

struct AnswerHeadTests {
    private func head(_ lines: [String]) -> AnswerHead {
        var head = AnswerHead()
        let taken = lines.map { head.take($0.utf8) }
        #expect(!taken.contains(false))
        return head
    }

    @Test func `a field keeps its name and value, without surrounding blanks`() {
        let head = head(["HTTP/1.1 200 OK\r\n", "X-A:  b c \t\r\n", "x-a:\r\n", "\r\n"])
        #expect(head.status == 200)
        #expect(head.isComplete)
        #expect(head.headers == [HeaderField(name: "X-A", value: "b c"), HeaderField(name: "x-a", value: "")])
    }

    @Test func `a folded line continues the previous field`() {
        let head = head(["HTTP/1.1 200\r\n", "A: b\r\n", "\t c\r\n", "\r\n"])
        #expect(head.headers == [HeaderField(name: "A", value: "b c")])
    }

    @Test func `informational heads and trailers add no fields to the answer`() {
        let head = head([
            "HTTP/1.1 103 Early Hints\r\n", "Link: x\r\n", "\r\n", "HTTP/2 404 \r\n", "A: b\r\n", "\r\n", "T: x\r\n",
            "\r\n",
        ])
        #expect(head.status == 404)
        #expect(head.headers == [HeaderField(name: "A", value: "b")])
    }

    @Test func `a head without a final status is not complete`() {
        #expect(!head(["HTTP/1.1 100 Continue\r\n", "\r\n"]).isComplete)
    }

    @Test(arguments: [
        "HTTP/1.1\r\n", "HTTP/1.1 abc\r\n", "X: y\r\n", "HTTP/x 200 OK\r\n", "HTTP/ 200 OK\r\n", "HTTP/1.1 20 OK\r\n",
        "HTTP/1.1 2000 OK\r\n", "HTTP/1.1 099 OK\r\n", "HTTP/1.1 200+ OK\r\n", "HTTP/1.1 +20 OK\r\n", "\r\n",
    ])
    func `a head without a status line at its beginning is refused`(line: String) {
        for before in [[], ["HTTP/1.1 103 Early Hints\r\n", "\r\n"]] {
            var head = head(before)
            let isTaken = head.take(line.utf8)
            #expect(!isTaken)
            #expect(head.defect == .noStatus)
            #expect(!head.isComplete)
        }
    }

    @Test(arguments: ["HTTP/1.1 200 X: y\r\n", "HTTP/1.1 200 OK\r\n", "HTTP/2 200\r\n", " HTTP/1.1 200 OK\r\n"])
    func `a status line has no effect after the first line of a head`(line: String) {
        #expect(head(["HTTP/1.1 500 No\r\n", "X: a\r\n", line, "\r\n"]).status == 500)
        #expect(head(["HTTP/1.1 500 No\r\n", "\r\n", line, "\r\n"]).status == 500)
    }

    @Test(arguments: [("HTTP/1.1\t500 200 OK\r\n", 1, 500), ("HTTP/2 204 \r\n", 2, 204), ("HTTP/1.0 404\r\n", 1, 404)])
    func `a status line names a version and a status`(line: String, version: Int, status: Int) {
        let head = head([line, "\r\n"])
        #expect(head.version == version)
        #expect(head.status == status)
        #expect(head.isComplete)
    }

    @Test(arguments: [1, 2])
    func `a status line names the version that the connection has negotiated`(version: Int) {
        for (line, spoken) in [("HTTP/1.1 200 OK\r\n", 1), ("HTTP/1.0 200 OK\r\n", 1), ("HTTP/2 200\r\n", 2)] {
            var head = AnswerHead(over: version)
            let isTaken = head.take(line.utf8)
            #expect(isTaken == (spoken == version))
            #expect(head.defect == (spoken == version ? nil : .version(spoken)))
        }
        let detail = AnswerHead.Defect.version(2).detail(over: 1)
        #expect(detail == "the answer is in HTTP/2, but its connection speaks HTTP/1")
    }

    @Test func `more than one transfer coding ends a head when it is whole`() {
        var head = head(["HTTP/1.1 429 No\r\n", "Transfer-Encoding: gzip, br\r\n", "Retry-After: 9\r\n"])
        let isTaken = head.take("\r\n".utf8)
        #expect(!isTaken)
        #expect(head.defect == .codings && head.isComplete && head.headers.count == 2)
    }

    @Test func `a head may contain bare line feeds and bytes that are not text`() {
        var head = AnswerHead()
        let lines: [[UInt8]] = [
            Array("HTTP/1.1 200 OK\n".utf8), [0x41, 0x3A, 0xFF, 0x0D, 0x0A], Array("no colon\r\n".utf8), [0x0A],
        ]
        let taken = lines.map { head.take($0) }
        #expect(taken == [true, true, true, true])
        #expect(head.isComplete)
        #expect(head.headers == [HeaderField(name: "A", value: "\u{FFFD}")])
    }

    @Test func `lines are counted through all heads and trailers`() {
        var head = head(["HTTP/1.1 200\r\n"])
        let line = Array(("X: " + String(repeating: "x", count: 1021)).utf8)
        let taken = (0...AnswerHead.limit / line.count).map { _ in head.take(line) }
        #expect(taken.count { $0 } == (AnswerHead.limit - 14) / line.count)
        #expect(taken.last == false)
        #expect(head.defect == .tooLong && head.isComplete && head.headers.count == taken.count { $0 })
    }
}
