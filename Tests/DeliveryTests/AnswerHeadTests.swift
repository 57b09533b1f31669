import Policy
import Testing

@testable import Delivery

@Suite struct AnswerHeadTests {
    private func head(_ lines: [String]) -> AnswerHead {
        var head = AnswerHead()
        let taken = lines.map { head.take($0.utf8) }
        #expect(!taken.contains(false))
        return head
    }

    @Test func `fields are kept as they came, without the blanks around them`() {
        let head = head(["HTTP/1.1 200 OK\r\n", "X-A:  b c \t\r\n", "x-a:\r\n", "\r\n"])
        #expect(head.status == 200)
        #expect(head.isComplete)
        #expect(head.headers == [HeaderField(name: "X-A", value: "b c"), HeaderField(name: "x-a", value: "")])
    }

    @Test func `a folded line goes on with the field before it`() {
        let head = head(["HTTP/1.1 200\r\n", "A: b\r\n", "\t c\r\n", "\r\n"])
        #expect(head.headers == [HeaderField(name: "A", value: "b c")])
    }

    @Test func `informational heads and trailers leave nothing behind`() {
        let head = head([
            "HTTP/1.1 103 Early Hints\r\n", "Link: x\r\n", "\r\n", "HTTP/2 404 \r\n", "A: b\r\n", "\r\n", "T: x\r\n",
            "\r\n",
        ])
        #expect(head.status == 404)
        #expect(head.headers == [HeaderField(name: "A", value: "b")])
    }

    @Test(arguments: ["HTTP/1.1 100 Continue\r\n", "HTTP/1.1\r\n", "HTTP/1.1 abc\r\n", "X: y\r\n"])
    func `a head without a final status is not complete`(line: String) {
        #expect(!head([line, "\r\n"]).isComplete)
    }

    @Test func `a bare line feed and bytes that are no text do no harm`() {
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
        var head = AnswerHead()
        let line = Array(("X: " + String(repeating: "x", count: 1021)).utf8)
        let taken = (0...AnswerHead.limit / line.count).map { _ in head.take(line) }
        #expect(taken.count { $0 } == AnswerHead.limit / line.count)
        #expect(taken.last == false)
    }
}
