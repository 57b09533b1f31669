import Delivery
import Foundation
import HostileReceiver
import LoopbackReceiver
import Policy
import Testing

/// The contract of a sink, checked with the built agents and a server on a socket.
@Suite(.waiting) struct ConformanceTests {
    @Test(
        arguments: [
            200, 201, 202, 204, 206, 226, 300, 304, 400, 403, 404, 407, 408, 409, 410, 418, 422, 429, 451, 499, 500,
            501,
            503, 599,
        ], Transport.allCases)
    func `a status is the answer, whatever it is`(status: Int, transport: Transport) throws {
        let script = Script.always(.status(status, headers: ["X-Answer: yes"], body: "word"))
        let answer = try #require(try attempt(script, by: transport).answer)
        #expect(answer.status == status)
        #expect(answer.header("x-answer") == "yes")
        #expect(String(decoding: answer.body, as: UTF8.self) == ([204, 304].contains(status) ? "" : "word"))
    }

    @Test(arguments: [301, 302, 303, 307, 308], Transport.allCases)
    func `a redirect is not followed but is the answer`(status: Int, transport: Transport) throws {
        let receiver = try LoopbackReceiver(
            script: .always(.status(status, headers: ["Location: /elsewhere"], body: "moved")))
        let sink = AgentSink()
        defer { sink.close() }
        let answer = try #require(try sink.deliver(.post(to: receiver, by: transport)).result.answer)
        #expect(answer.status == status)
        #expect(answer.header("location") == "/elsewhere")
        #expect(answer.body == Array("moved".utf8))
        #expect(receiver.receivedCount == 1)
    }

    @Test(
        arguments: ["Basic realm=\"a\"", "Digest realm=\"a\", nonce=\"b\"", "Bearer", "Negotiate", ""],
        Transport.allCases)
    func `a 401 is the answer with its body, for every challenge`(challenge: String, transport: Transport) throws {
        let script = Script.always(.status(401, headers: [HeaderLine("WWW-Authenticate", challenge)], body: "who?"))
        let answer = try #require(try attempt(script, by: transport).answer)
        #expect(answer.status == 401)
        #expect(answer.body == Array("who?".utf8))
    }

    @Test(arguments: Transport.allCases)
    func `an informational answer is not the answer`(transport: Transport) throws {
        let text = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"
        let answer = try #require(try attempt(.always(.verbatim(text)), by: transport).answer)
        #expect(answer.status == 201)
        #expect(answer.header("link") == nil)
        #expect(answer.body == Array("ok".utf8))
    }

    @Test(arguments: Transport.allCases)
    func `method, target, fields and body of a request arrive unchanged`(transport: Transport) throws {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink()
        defer { sink.close() }
        var request = OutgoingRequest.post(
            to: receiver, by: transport, path: "/a%20b?c=d%2F", body: "{\"n\":1.10}\n\0ü")
        request.method = "PATCH"
        request.url = request.url.replacing("http://", with: "HTTP://")
        request.headers += [
            HeaderField(name: "Idempotency-Key", value: "\"6f96\""), HeaderField(name: "X-Empty", value: ""),
            HeaderField(name: "X-Twice", value: "a"), HeaderField(name: "X-Twice", value: "b"),
        ]
        #expect(try sink.deliver(request).result.answer?.status == 204)
        let received = try #require(receiver.requests().first)
        #expect(received.method == "PATCH")
        #expect(received.target == "/a%20b?c=d%2F")
        #expect(received.body == request.body)
        #expect(received.header("content-length") == "\(request.body?.count ?? 0)")
        #expect(received.header("content-type") == "application/json")
        #expect(received.header("idempotency-key") == "\"6f96\"")
        #expect(received.header("x-empty") == "")
        let twice = received.headers.filter { $0.name.lowercased() == "x-twice" }.map(\.value).joined(separator: ",")
        #expect(twice.replacing(" ", with: "") == "a,b")
        #expect(received.header("expect") == nil)
        #expect(received.header("cookie") == nil)
    }

    @Test(arguments: ["/a/../b", "/./b?c=/../d", "/%2e%2e/b", "/a//b/..", "/.."], Transport.allCases)
    func `a target arrives as it is shown and signed, with its dot segments`(target: String, transport: Transport)
        throws
    {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink()
        defer { sink.close() }
        #expect(try sink.deliver(.post(to: receiver, by: transport, path: target)).result.answer?.status == 204)
        #expect(receiver.requests().first?.target == target)
    }

    @Test(arguments: ["127.1", "0x7f.1", "2130706433", "0177.0.0.1"], Transport.allCases)
    func `an IPv4 address may be written in any notation`(host: String, transport: Transport) throws {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink()
        defer { sink.close() }
        var request = OutgoingRequest.post(to: receiver, by: transport)
        request.url = request.url.replacing("127.0.0.1", with: host)
        #expect(try sink.deliver(request).result.answer?.status == 204)
        #expect(receiver.requests().first?.header("host")?.hasPrefix("127.0.0.1:") == true)
    }

    @Test(arguments: Transport.allCases)
    func `only gzip is asked for`(transport: Transport) throws {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink()
        defer { sink.close() }
        #expect(try sink.deliver(.post(to: receiver, by: transport)).result.answer?.status == 204)
        #expect(receiver.requests().first?.header("accept-encoding") == "gzip")
    }

    @Test(arguments: ["GET", "HEAD", "DELETE", "OPTIONS", "PUT", "POST", "PROPFIND"], Transport.allCases)
    func `any method goes out without a body`(method: String, transport: Transport) throws {
        let receiver = try LoopbackReceiver(script: .always(.status(200, body: "answer")))
        let sink = AgentSink()
        defer { sink.close() }
        for body in [nil, []] as [[UInt8]?] {
            var request = OutgoingRequest.post(to: receiver, by: transport)
            (request.method, request.body) = (method, body)
            let answer = try #require(try sink.deliver(request).result.answer)
            #expect(answer.status == 200)
            #expect(answer.body == (method == "HEAD" ? [] : Array("answer".utf8)))
            let received = try #require(receiver.takeRequests().first)
            #expect(received.method == method)
            #expect(received.body.isEmpty)
            if method == "POST" || method == "PUT" { #expect(received.header("content-length") == "0") }
        }
    }

    @Test(arguments: Transport.allCases)
    func `a body of ten megabytes arrives`(transport: Transport) throws {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink()
        defer { sink.close() }
        var request = OutgoingRequest.post(to: receiver, by: transport)
        var dice = Dice(state: 1)
        request.body = (0..<10 << 17).flatMap { _ in withUnsafeBytes(of: dice.next()) { Array($0) } }
        #expect(try sink.deliver(request).result.answer?.status == 204)
        #expect(receiver.requests().first?.body == request.body)
    }

    @Test(arguments: Transport.allCases)
    func `a compressed answer is read`(transport: Transport) throws {
        let zipped = try #require(Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJBwCGphA2BQAAAA=="))
        let script = Script.always(
            Answer(200, headers: ["Content-Encoding: gzip"], body: Array(zipped)))
        let result = try attempt(script, by: transport)
        #expect(result.answer?.body == Array("hello".utf8), "\(result)")
    }

    @Test(arguments: [0, 1, 4, 5, 100], Transport.allCases)
    func `an answer is kept up to the bound`(limit: Int, transport: Transport) throws {
        let result = try attempt(.always(.status(200, body: "12345")), by: transport) { $0.answerLimit = limit }
        #expect(result.answer?.status == 200)
        #expect(result.answer?.body == Array("12345".utf8.prefix(limit)))
        #expect(result.answer?.isCut == (limit < 5))
    }

    @Test(arguments: Transport.allCases)
    func `a chunked answer is read`(transport: Transport) throws {
        let result = try attempt(.always(Answer.status(200, body: "in chunks").chunked()), by: transport)
        #expect(result.answer?.body == Array("in chunks".utf8))
    }

    @Test(arguments: Transport.allCases)
    func `five requests are in flight at once`(transport: Transport) throws {
        let receiver = try LoopbackReceiver(script: .always(.silence))
        let sink = AgentSink(concurrency: 5)
        defer { sink.close() }
        for ticket in 0..<5 { try sink.submit(.post(to: receiver, by: transport), ticket: ticket) }
        // No request is answered, so the fifth arrives while four are in flight.
        while receiver.receivedCount < 5 {
            try #require(try sink.reports(until: .now + .milliseconds(10), wakeups: []).isEmpty)
        }
    }

    // MARK: - The contract of `Sink`; FakeSinkTests checks the same of the sink in the run's tests

    @Test(arguments: Transport.allCases)
    func `every ticket is reported once, and a closed sink has no reports`(transport: Transport) throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(200), .status(404), .reset, .silence]))
        let sink = AgentSink(concurrency: 3)
        var reported: [Int] = []
        for ticket in [7, 3, 9] { try sink.submit(.post(to: receiver, by: transport), ticket: ticket) }
        while reported.count < 3 { reported += try sink.reports(until: .now + .seconds(60), wakeups: []).map(\.ticket) }
        #expect(reported.sorted() == [3, 7, 9])
        try sink.submit(.post(to: receiver, by: transport), ticket: 1)
        sink.close()
        sink.close()
        #expect(throws: SinkError.self) { try sink.reports(until: .now, wakeups: []) }
    }

    @Test(arguments: Transport.allCases)
    func `two hundred requests in a row use two connections over libcurl and two hundred over URLSession`(
        transport: Transport
    ) throws {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink(concurrency: 1)
        defer { sink.close() }
        for number in 0..<200 {
            #expect(
                try sink.deliver(.post(to: receiver, by: transport, body: "\(number)")).result.answer?.status == 204)
        }
        #expect(receiver.requests().map(\.text) == (0..<200).map(String.init))
        #expect(receiver.connectionCount == (transport == .libcurl ? 2 : 200))
    }
}
