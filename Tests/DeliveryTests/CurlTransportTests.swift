import Foundation
import HostileReceiver
import LoopbackReceiver
import Testing

@testable import Delivery
@testable import Policy

/// Results of libcurl for each behaviour of a server or a proxy.
@Suite(.waiting) struct CurlTransportTests {
    @Test func `libcurl is available`() {
        #expect(LibcurlAvailability.check() == nil)
        #expect(LibcurlAvailability.check() == nil)
    }

    // MARK: - Connections

    /// Five attempts in turn would take five times as long.
    @Test func `five attempts over TLS to a silent server reach their connect time-outs together`() throws {
        let server = try PlayedServer()
        let sink = AgentSink(concurrency: 5)
        defer { sink.close() }
        let reports = try sink.deliver(
            (0..<5).map { _ in
                OutgoingRequest(
                    method: "POST", url: server.url.replacing("http:", with: "https:") + "/", body: [1],
                    timeouts: Timeouts(connect: .seconds(2), request: .seconds(9), total: .seconds(9)),
                    transport: .libcurl)
            })
        for report in reports {
            #expect(report.result.failure == .connectTimeout, "\(report)")
            #expect(report.duration >= .milliseconds(1900) && report.duration < .seconds(7))
        }
    }

    // MARK: - Answers

    @Test(arguments: [0, 1, 9, 14, 15, 28, 44, 45, 50, 54])
    func `a reset at any point is an error, and never an answer`(place: Int) throws {
        let answer = Answer.status(200, headers: ["X-A: 1"], body: "0123456789").ending(.reset(at: .bytes(place)))
        let result = try attempt(.always(answer), by: .libcurl)
        #expect([.reset, .truncated, .emptyAnswer, .malformedAnswer].contains(result.failure), "\(result)")
    }

    @Test(arguments: [
        "HTTP/1.1\r\n\r\n", "HTTP/1.1 \r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n",
        "hello, world\r\n",
        "HTTP/1.1 099 Low\r\n\r\n", "\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ])
    func `an invalid answer is malformed, empty or truncated`(text: String) throws {
        let result = try attempt(.always(.verbatim(text).ending(.close(at: .end))), by: .libcurl)
        #expect([.malformedAnswer, .emptyAnswer, .truncated].contains(result.failure), "\(result)")
    }

    @Test func `a stray 100 and early hints before the answer are not the answer`() throws {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\nHTTP/1.1 201 Created\r\n\r\n"
        let result = try attempt(.always(.verbatim(text).ending(.close(at: .end))), by: .libcurl)
        #expect(result.answer == AttemptReport.Answer(status: 201))
    }

    @Test func `trailers are not fields of the answer`() throws {
        let answer = try #require(try attempt(.always(deadlyAnswer), by: .libcurl).answer)
        #expect(answer.body == Array("ok".utf8))
        #expect(answer.header("x-sum") == nil)
    }

    @Test(arguments: [(100, true), (5_000, false)])
    func `cookies are fields of the answer up to the bound`(count: Int, isTaken: Bool) throws {
        let cookies = (0..<count).map { HeaderLine("Set-Cookie", "c\($0)=" + String(repeating: "x", count: 60)) }
        let result = try attempt(.always(.status(200, headers: cookies)), by: .libcurl)
        if isTaken {
            #expect(result.answer?.headers.count { $0.name == "Set-Cookie" } == count)
        } else {
            #expect(result.failure == .malformedAnswer, "\(result)")
        }
    }

    @Test func `cookies are not sent back`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(200, headers: ["Set-Cookie: a=b; Path=/"])))
        let sink = AgentSink(concurrency: 1)
        defer { sink.close() }
        for _ in 0..<2 { _ = try sink.deliver(.post(to: receiver, by: .libcurl)) }
        #expect(receiver.requests().allSatisfy { $0.header("cookie") == nil })
    }

    @Test func `a reason of a megabyte is a malformed answer`() throws {
        let answer = HostileAnswer.verbatim("HTTP/1.1 200 \(String(repeating: "O", count: 1 << 20))\r\n\r\n")
        #expect(try attempt(.always(answer), by: .libcurl).failure == .malformedAnswer)
    }

    @Test func `endless informational answers end`() throws {
        let hints = String(
            repeating: "HTTP/1.1 103 Early Hints\r\nX-A: \(String(repeating: "x", count: 900))\r\n\r\n", count: 400)
        #expect(try attempt(.always(.verbatim(hints)), by: .libcurl).failure == .malformedAnswer)
    }

    @Test func `a header that arrives too slowly passes the deadline`() throws {
        let answer = Answer.status(200, headers: ["X-A: 0123456789"]).paced(.init(bytes: 1, every: .milliseconds(50)))
        let result = try attempt(.always(answer), by: .libcurl) { $0.timeouts.total = .milliseconds(600) }
        #expect(result.failure == .deadline, "\(result)")
    }

    @Test func `an early refusal of a large body is the answer`() throws {
        let receiver = try LoopbackReceiver(bodyLimit: 1000)
        let sink = AgentSink()
        defer { sink.close() }
        var request = OutgoingRequest.post(to: receiver, by: .libcurl)
        request.body = [UInt8](repeating: 1, count: 20 << 20)
        #expect(try sink.deliver(request).result.answer?.status == 413)
    }

    // MARK: - Time

    @Test(arguments: [80, 250])
    func `a time-out shorter than a second is not rounded`(milliseconds: Int) throws {
        let receiver = try LoopbackReceiver(
            script: .rules([
                .init(.silence, when: .init(path: "/silence")), .init(.status(200)),
            ]))
        let sink = AgentSink()
        defer { sink.close() }
        #expect(try sink.deliver(.post(to: receiver, by: .libcurl)).result.answer?.status == 200)
        var request = OutgoingRequest.post(to: receiver, by: .libcurl, path: "/silence")
        request.timeouts.request = .milliseconds(milliseconds)
        let report = try sink.deliver(request)
        #expect(report.result.failure == .timeout)
        #expect(report.result.detail == "nothing was sent or received for \(Double(milliseconds) / 1000) s")
        #expect(report.duration >= .milliseconds(milliseconds))
        #expect(report.duration < .milliseconds(milliseconds + 500))
    }

    @Test func `a GET whose connection is not established ends with a connect time-out`() throws {
        let full = try FullSocket()
        let start = ContinuousClock.now
        let result = try attempt(.always(.status(200)), by: .libcurl) {
            $0.url = "http://127.0.0.1:\(full.port)/"
            ($0.method, $0.body) = ("GET", nil)
            $0.timeouts.connect = .milliseconds(150)
            $0.timeouts.request = .milliseconds(50)
        }
        #expect(result.failure == .connectTimeout, "\(result)")
        #expect(start.duration(to: .now) < .seconds(1))
    }

    @Test func `waiting for five slow answers costs almost no processor time`() throws {
        let receiver = try LoopbackReceiver(
            script: .rules([
                .init(.status(200), when: .init(path: "/")), .init(Answer.status(200).delayed(.seconds(1))),
            ]))
        let sink = AgentSink(concurrency: 5)
        defer { sink.close() }
        _ = try sink.deliver(.post(to: receiver, by: .libcurl))
        let agent = try #require(sink.agents.first?.process)
        let before = try processorTime(of: agent)
        let reports = try sink.deliver((0..<5).map { _ in .post(to: receiver, by: .libcurl, path: "/slow") })
        #expect(reports.allSatisfy { $0.result.answer?.status == 200 && $0.duration >= .seconds(1) })
        let spent = try processorTime(of: agent) - before
        #expect(spent <= .milliseconds(50), "\(spent) for five answers that took a second")
    }

    /// In hundredths of a second.
    private func processorTime(of process: pid_t) throws -> Duration {
        let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        let fields = text.split(separator: ") ", maxSplits: 1)[1].split(separator: " ")
        return .milliseconds(10 * ((Int(fields[11]) ?? 0) + (Int(fields[12]) ?? 0)))
    }

    // MARK: - Proxies

    private static let password = "s3cr3t-w0rd"

    private func byProxy(_ proxy: String, url: String = "https://a.example/?token=q-u-e-r-y") -> OutgoingRequest {
        OutgoingRequest(
            method: "POST", url: url, headers: [HeaderField(name: "Authorization", value: "Bearer x")], body: [1],
            timeouts: Timeouts(connect: .seconds(5), request: .seconds(5), total: .seconds(10)),
            transport: .libcurl, connection: ConnectionOptions(proxy: .url(proxy)))
    }

    private func deliver(_ request: OutgoingRequest) throws -> AttemptReport.Result {
        let sink = AgentSink()
        defer { sink.close() }
        return try sink.deliver(request).result
    }

    @Test(arguments: [(403, NetworkError.proxy), (502, .proxy), (302, .proxy)])
    func `a refused tunnel is a proxy error`(status: Int, name: NetworkError) throws {
        let proxy = try LoopbackReceiver(script: .always(.status(status)))
        let result = try deliver(byProxy(proxy.url))
        #expect(result.failure == name, "\(result)")
        // The credentials are the server's, not the proxy's.
        #expect(proxy.requests().allSatisfy { $0.method == "CONNECT" && $0.header("authorization") == nil })
    }

    @Test func `a proxy's 407 is the answer, with and without a tunnel`() throws {
        let proxy = try LoopbackReceiver(
            script: .always(.status(407, headers: ["Proxy-Authenticate: Basic realm=\"p\""])))
        #expect(try deliver(byProxy(proxy.url)).answer?.status == 407)
        #expect(try deliver(byProxy(proxy.url, url: "http://a.example/")).answer?.status == 407)
    }

    @Test(arguments: ["407 Who", "502 No"])
    func `an endless refusal of a proxy ends the attempt, and does not disturb attempts of the same agent`(
        status: String
    ) throws {
        let chunks = String(repeating: "1000\r\n\(String(repeating: "x", count: 4096))\r\n", count: 4000)
        let text = "HTTP/1.1 \(status)\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)"
        let proxy = try LoopbackReceiver(script: .always(.verbatim(text)))
        let receiver = try LoopbackReceiver()
        let sink = AgentSink(concurrency: 5)
        defer { sink.close() }
        let good = (0..<4).map { OutgoingRequest.post(to: receiver, by: .libcurl, body: "\($0)") }
        let reports = try sink.deliver([byProxy(proxy.url)] + good)
        if status == "407 Who" {
            #expect(reports[0].result.answer?.status == 407, "\(reports[0])")
        } else {
            #expect(reports[0].result.failure == .proxy, "\(reports[0])")
        }
        #expect(reports.dropFirst().allSatisfy { $0.result.answer?.status == 204 })
        #expect(receiver.receivedCount == 4)
        #expect(sink.agents.count == 1)
    }

    @Test func `a proxy gets the credentials of its URL`() throws {
        let proxy = try LoopbackReceiver(script: .always(.status(200)))
        let url = proxy.url.replacing("http://", with: "http://user:\(Self.password)%40@")
        #expect(try deliver(byProxy(url, url: "http://a.example/x")).answer?.status == 200)
        let received = try #require(proxy.requests().first)
        #expect(received.target == "http://a.example/x")
        let expected = Data("user:\(Self.password)@".utf8).base64EncodedString()
        #expect(received.header("proxy-authorization") == "Basic \(expected)")
    }

    @Test func `an unreachable proxy is a proxy error, not a failure of the destination`() throws {
        let proxy = try LoopbackReceiver()
        let url = proxy.url
        proxy.stop()
        #expect(try deliver(byProxy(url)).failure == .proxy)
        #expect(try deliver(byProxy("http://nowhere.invalid:3128")).failure == .proxy)
        #expect(try deliver(byProxy(url.replacing("http://", with: "socks5h://"))).failure == .proxy)
        let full = try FullSocket()
        var request = byProxy("http://127.0.0.1:\(full.port)")
        request.timeouts.connect = .milliseconds(200)
        #expect(try deliver(request).failure == .proxy)
    }

    @Test func `the agent says why libcurl cannot be used, before a request is sent`() throws {
        let libraries = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: libraries, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: libraries) }
        try Data("no library".utf8).write(to: libraries.appending(path: "libcurl.so.4"))
        let sink = AgentSink(after: "export LD_LIBRARY_PATH='\(libraries.path)'")
        defer { sink.close() }
        for _ in 0..<2 { #expect(try sink.defect(of: .libcurl)?.contains("libcurl.so.4: ") == true) }
        let whole = AgentSink()
        defer { whole.close() }
        #expect(try whole.defect(of: .libcurl) == nil)
        #expect(whole.agents.count == 1)
    }

    @Test func `a request for a direct connection ignores the proxy of the environment`() throws {
        let proxy = try LoopbackReceiver()
        let sink = AgentSink(after: "export http_proxy='\(proxy.url)'")
        defer { sink.close() }
        var request = OutgoingRequest.post(to: proxy, by: .libcurl)
        request.connection.proxy = .direct
        request.url = "http://127.0.0.2:1/"
        #expect(try sink.deliver(request).result.failure == .refused)
        #expect(proxy.receivedCount == 0)
    }

    @Test(arguments: [
        "http://user:\(password)@127.0.0.1:1", "http://user:\(password)@nowhere.invalid",
        "ht!tp://user:\(password)@a:1",
        "gopher://user:\(password)@127.0.0.1:1", "http://user:\(password)@127.0.0.1:99999",
        "http://user:\(password)@[zz]:1",
    ])
    func `no error quotes a credential or a query`(proxy: String) throws {
        let result = try deliver(byProxy(proxy))
        let detail = try #require(result.detail)
        #expect(!detail.contains(Self.password) && !detail.contains("q-u-e-r-y") && !detail.isEmpty, "\(detail)")
        #expect(result.failure == .proxy, "\(result)")
    }

    // MARK: - Connections

    @Test func `a missing unix socket is refused, and so is a unix socket with too long a name`() throws {
        for path in ["/nowhere/socket", "/" + String(repeating: "x", count: 200)] {
            let result = try attempt(.always(.status(200)), by: .libcurl) { $0.connection.unixSocket = path }
            #expect(result.failure == .refused, "\(result)")
        }
    }

    @Test func `many requests share two connections to a unix socket, which take turns`() throws {
        let path = socketPath()
        defer { try? FileManager.default.removeItem(at: URL(filePath: path).deletingLastPathComponent()) }
        let receiver = try LoopbackReceiver(at: .unix(path: path))
        let sink = AgentSink(concurrency: 1)
        defer { sink.close() }
        for number in 0..<20 {
            var request = OutgoingRequest.post(to: receiver, by: .libcurl, body: "\(number)")
            request.url = "http://api.example/\(number)"
            request.connection.unixSocket = receiver.url
            #expect(try sink.deliver(request).result.answer?.status == 204)
        }
        #expect(receiver.connectionCount == 2)
        #expect(receiver.requests().last?.header("host") == "api.example")
    }

    @Test(arguments: [(16_384, false), (16_385, true)])
    func `a body that is longer than a record of TLS is read while it is sent`(length: Int, isRead: Bool) {
        let request = OutgoingRequest(
            method: "POST", url: "https://api.example/", body: [UInt8](repeating: 1, count: length),
            timeouts: Timeouts(connect: .seconds(1), request: .seconds(1), total: .seconds(1)), transport: .libcurl)
        #expect(request.streamsBody == isRead)
    }

    @Test func `a body that does not leave at once shares no HTTP 2 connection`() {
        var connections = CurlConnections(concurrency: 9, sockets: CurlSockets())
        func request(_ length: Int) -> OutgoingRequest {
            OutgoingRequest(
                method: "POST", url: "https://api.example/", body: [UInt8](repeating: 1, count: length),
                timeouts: Timeouts(connect: .seconds(1), request: .seconds(1), total: .seconds(1)), transport: .libcurl)
        }
        let origin = connections.origin(of: request(1))
        #expect(connections.mayShare(request(30_000), to: origin))
        #expect(!connections.mayShare(request(60_000), to: origin))
        connections.noteShared(30_000, of: origin)
        #expect(connections.mayShare(request(2_000), to: origin) && connections.mayShare(request(0), to: origin))
        #expect(!connections.mayShare(request(3_000), to: origin))
        #expect(connections.needsHTTP1(request(3_000), to: origin))
        connections.noteLackOfHTTP1(of: origin)
        #expect(!connections.needsHTTP1(request(3_000), to: origin))
        #expect(!connections.mayShare(request(3_000), to: origin))
        connections.noteShared(-30_000, of: origin)
        #expect(connections.mayShare(request(3_000), to: origin))
    }

    @Test func `an unreadable file of authorities is a TLS error before a request is sent`() throws {
        let receiver = try LoopbackReceiver()
        var request = OutgoingRequest.post(to: receiver, by: .libcurl)
        request.url = receiver.url.replacing("http://", with: "https://")
        request.connection.caFile = "/nowhere/ca.pem"
        #expect(try deliver(request).failure == .tls)
        #expect(receiver.receivedCount == 0)
    }
}
