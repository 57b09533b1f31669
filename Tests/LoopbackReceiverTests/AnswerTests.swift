import DrainqCLI
import HostileReceiver
import LoopbackReceiver
import Testing

/// Every behaviour as a client sees it on the wire.
struct AnswerTests {
    static let close: [HeaderLine] = ["Connection: close"]

    @Test func `an answer has its status, reason, headers and body`() throws {
        let (text, end) = try exchange(
            .status(429, headers: ["Retry-After: 5", "Connection: close"], body: "later"))
        #expect(
            text
                == "HTTP/1.1 429 \r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: 5\r\n\r\nlater"
        )
        #expect(end == .finished)
    }

    @Test func `a delayed answer comes after its delay`() throws {
        let start = ContinuousClock.now
        #expect(try exchange(Answer(204, headers: Self.close).delayed(.milliseconds(30))).end == .finished)
        #expect(ContinuousClock.now - start >= .milliseconds(30))
    }

    @Test func `a reset before the answer sends nothing`() throws {
        let (text, end) = try exchange(.reset)
        #expect(text.isEmpty)
        #expect(end == .reset)
    }

    @Test func `a close before the answer sends nothing`() throws {
        let (text, end) = try exchange(.close)
        #expect(text.isEmpty)
        #expect(end == .finished)
    }

    @Test func `silence keeps the connection and says nothing`() throws {
        let receiver = try LoopbackReceiver(script: .always(.silence))
        let client = Client(receiver)
        client.send(Client.get)
        #expect(receiver.wait(forAnswers: 1, within: .seconds(120)))
        let (text, end) = client.readAll(patience: 10)
        #expect(text.isEmpty)
        #expect(end == .silent)
        client.finishSending()
        #expect(client.readAll().end == .finished)
    }

    @Test func `a truncated answer announces more than it sends`() throws {
        let (text, end) = try exchange(.status(200, body: "hello").truncated(by: 10))
        #expect(text.hasSuffix("Content-Length: 15\r\n\r\nhello"))
        #expect(end == .finished)
    }

    @Test func `an answer can end in the middle of its headers`() throws {
        let (text, end) = try exchange(Answer.status(200, body: "x").ending(.close(at: .bytes(20))))
        #expect(text == "HTTP/1.1 200 \r\nConte")
        #expect(end == .finished)
    }

    @Test func `an answer can end with a reset inside its body`() throws {
        let answer = Answer.status(200, body: "hello").ending(.reset(at: .body(3)))
        let receiver = try LoopbackReceiver(script: .always(answer))
        let client = Client(receiver)
        client.send(Client.get)
        // What was sent may be lost with the reset; that it was a reset is certain.
        #expect(client.readAll().end == .reset)
    }

    @Test func `an answer can stall inside its body`() throws {
        let (text, end) = try exchange(Answer.status(200, body: "hello").ending(.stall(at: .body(2))), patience: 20)
        #expect(text.hasSuffix("\r\n\r\nhe"))
        #expect(end == .silent)
    }

    @Test func `a stale connection is closed without a word after the answer`() throws {
        let (text, end) = try exchange(Answer.status(200, body: "x").ending(.close(at: .end)))
        #expect(!text.contains("Connection"))
        #expect(text.hasSuffix("\r\n\r\nx"))
        #expect(end == .finished)
    }

    @Test func `a used connection can be closed as the next request arrives`() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(204), .close, .status(200)]))
        let client = Client(receiver)
        client.send(Client.get)
        #expect(client.read(until: "\r\n\r\n").contains("204"))
        client.send("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx")
        let (text, end) = client.readAll()
        #expect(text.isEmpty)
        #expect(end == .finished)
        #expect(receiver.requests().map(\.connection) == [1, 1])
    }

    @Test func `a dripping answer comes in pieces`() throws {
        let start = ContinuousClock.now
        let answer = Answer.status(200, headers: Self.close, body: "abcd")
        let (text, _) = try exchange(
            answer.paced(.init(bytes: 1, every: .milliseconds(5), onlyBody: true)))
        #expect(text.hasSuffix("\r\n\r\nabcd"))
        // Three pauses between four bytes.
        #expect(ContinuousClock.now - start >= .milliseconds(15))
        let whole = try exchange(Answer(204, headers: Self.close).paced(.init(bytes: 20, every: .milliseconds(1))))
        #expect(whole.text == "HTTP/1.1 204 \r\nConnection: close\r\n\r\n")
    }

    @Test func `a chunked answer has chunks and trailers`() throws {
        let answer = Answer.status(200, headers: Self.close, body: "hello").chunked(trailers: ["X-Sum: 1"])
        let (text, _) = try exchange(answer)
        #expect(text.hasSuffix("Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"))
    }

    @Test(arguments: [0, 1, 1_000_000])
    func `a large body is as long as it says, chunked or not`(size: Int) throws {
        let answer = Answer.status(200, headers: Self.close, body: String(repeating: "x", count: size))
        let plain = try exchange(answer).text
        #expect(plain.contains("Content-Length: \(size)\r\n"))
        #expect(plain.utf8.count { $0 == UInt8(ascii: "x") } == size)
        let chunked = try exchange(answer.chunked()).text
        #expect(chunked.utf8.count { $0 == UInt8(ascii: "x") } == size)
        #expect(chunked.hasSuffix("0\r\n\r\n"))
    }

    @Test(arguments: [HostileAnswer.endlessBody(), .endlessBody(chunked: false), .endlessHeaders])
    func `what is endless goes on until the client leaves`(answer: HostileAnswer) throws {
        let receiver = try LoopbackReceiver(script: .always(answer))
        do {
            let client = Client(receiver)
            client.send(Client.get)
            #expect(client.readAll(limit: 3_000_000).text.utf8.count >= 3_000_000)
            #expect(receiver.answeredCount == 0)
        }
        #expect(receiver.wait(forAnswers: 1, within: .seconds(120)))
    }

    @Test func `an endless answer does not keep another client waiting`() throws {
        let receiver = try LoopbackReceiver(
            script: .playing { request in
                request.path == "/endless" ? HostileAnswer.endlessBody().play : Answer(204).play
            })
        let greedy = Client(receiver)
        greedy.send("GET /endless HTTP/1.1\r\n\r\n")
        #expect(receiver.wait(forRequests: 1, within: .seconds(120)))
        let other = Client(receiver)
        other.send(Client.lastGet)
        #expect(other.readAll().end == .finished)
    }

    @Test func `raw bytes go out as they are`() throws {
        let (text, end) = try exchange(.verbatim("\u{1b}[1m nonsense\n").ending(.close(at: .end)))
        #expect(text == "\u{1b}[1m nonsense\n")
        #expect(end == .finished)
    }

    @Test func `a precompressed body is sent as it is given`() throws {
        let bytes: [UInt8] = [0x1F, 0x8B, 8, 0, 0]
        let (text, _) = try exchange(
            Answer(200, headers: ["Content-Encoding: gzip", "Connection: close"], body: bytes))
        #expect(text.contains("Content-Encoding: gzip\r\n"))
        #expect(text.contains("Content-Length: 5\r\n"))
    }

    @Test func `a receiver stops though an answer is still to come`() throws {
        let receiver = try LoopbackReceiver(script: .always(Answer(204).delayed(.seconds(600))))
        let client = Client(receiver)
        client.send(Client.get)
        #expect(receiver.wait(forRequests: 1, within: .seconds(120)))
        receiver.stop()
        #expect(receiver.answeredCount == 0)
        #expect(client.readAll().end == .finished)
    }

    @Test func `the last answer of a sequence repeats`() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(503), .status(204)]))
        let client = Client(receiver)
        client.send(Client.get + Client.get + Client.lastGet)
        let statuses = client.readAll().text.split(separator: "\r\n").filter { $0.hasPrefix("HTTP") }
        #expect(statuses.map { $0.dropFirst(9).prefix(3) } == ["503", "204", "204"])
    }

    @Test func `rules answer by method, path and header, each in its own order`() throws {
        let receiver = try LoopbackReceiver(
            script: Script(["POST /a* 503 *2", "POST /a* 201", "X-T:b 403", "/q 200"]))
        let client = Client(receiver)
        for line in ["POST /a1", "GET /q?x=y", "POST /a2", "POST /a", "POST /ab", "PUT /a", "GET /q"] {
            client.send("\(line) HTTP/1.1\r\n\r\n")
        }
        client.send("GET /z HTTP/1.1\r\nx-t: b\r\nConnection: close\r\n\r\n")
        let statuses = client.readAll().text.split(separator: "\r\n").filter { $0.hasPrefix("HTTP") }
        #expect(
            statuses.map { $0.dropFirst(9).prefix(3) } == ["503", "200", "503", "201", "201", "404", "200", "403"])
    }
}
