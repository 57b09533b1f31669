import Delivery
import Foundation
import HostileReceiver
import LoopbackReceiver
import Testing

@testable import Policy

/// Behaviour of a hostile server, and the name of the resulting error.
@Suite(.waiting) struct HostileServerTests {
    @Test(arguments: Transport.allCases)
    func `a reset before the answer is named reset`(transport: Transport) throws {
        #expect(try attempt(.always(.reset), by: transport).failure == .reset)
    }

    @Test(arguments: Transport.allCases)
    func `a close before the answer is an empty answer`(transport: Transport) throws {
        #expect(try attempt(.always(.close), by: transport).failure == .emptyAnswer)
    }

    @Test(arguments: Transport.allCases)
    func `a reset inside the answer is a truncated answer`(transport: Transport) throws {
        let answer = Answer.status(200, body: String(repeating: "x", count: 1000)).ending(.reset(at: .body(10)))
        #expect(try attempt(.always(answer), by: transport).failure == .truncated)
    }

    @Test(arguments: Transport.allCases)
    func `an answer shorter than announced is truncated`(transport: Transport) throws {
        #expect(
            try attempt(.always(Answer.status(200, body: "half").truncated(by: 4)), by: transport).failure == .truncated
        )
    }

    @Test(arguments: Transport.allCases)
    func `chunks that end early are a truncated answer`(transport: Transport) throws {
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"
        #expect(
            try attempt(.always(.verbatim(text).ending(.close(at: .end))), by: transport).failure == .truncated)
    }

    @Test(arguments: Transport.allCases)
    func `an answer that is not HTTP is malformed`(transport: Transport) throws {
        let result = try attempt(
            .always(.verbatim("SSH-2.0-OpenSSH_9.2\r\n\r\n").ending(.close(at: .end))), by: transport)
        #expect(result.failure == .malformedAnswer, "\(result)")
    }

    @Test(arguments: Transport.allCases)
    func `a port without a listener is refused, and the error proves that no request was sent`(transport: Transport)
        throws
    {
        let receiver = try LoopbackReceiver()
        let request = OutgoingRequest.post(to: receiver, by: transport)
        receiver.stop()
        let sink = AgentSink()
        defer { sink.close() }
        let result = try sink.deliver(request).result
        #expect(result.failure == .refused, "\(result)")
        #expect(result.failure?.provesNotSent == true)
    }

    @Test(arguments: Transport.allCases)
    func `an unknown host is a DNS error`(transport: Transport) throws {
        let result = try attempt(.always(.status(200)), by: transport) { $0.url = "http://nowhere.invalid/" }
        #expect(result.failure == .dns, "\(result)")
    }

    @Test(arguments: Transport.allCases)
    func `a silent server is a time-out, even with a limit below a second`(transport: Transport) throws {
        let start = ContinuousClock.now
        let result = try attempt(.always(.silence), by: transport) { $0.timeouts.request = .milliseconds(300) }
        #expect(result.failure == .timeout)
        #expect(start.duration(to: .now) < .seconds(2))
    }

    @Test(arguments: Transport.allCases)
    func `a slow answer with steady progress is not a time-out`(transport: Transport) throws {
        let answer = Answer.status(200, body: "0123456789").paced(
            .init(bytes: 1, every: .milliseconds(100), onlyBody: true))
        let result = try attempt(.always(answer), by: transport) { $0.timeouts.request = .milliseconds(600) }
        #expect(result.answer?.body.count == 10, "\(result)")
    }

    @Test(arguments: Transport.allCases)
    func `a slow answer passes the deadline in spite of progress`(transport: Transport) throws {
        let answer = Answer.status(200, body: "0123456789").paced(
            .init(bytes: 1, every: .milliseconds(200), onlyBody: true))
        let result = try attempt(.always(answer), by: transport) { $0.timeouts.total = .milliseconds(700) }
        #expect(result.failure == .deadline)
    }

    @Test(arguments: Transport.allCases)
    func `an unestablished connection of a request with a body is a connect time-out`(transport: Transport)
        throws
    {
        // A listening socket whose queue is full leaves the next connection in the air.
        let full = try FullSocket()
        let result = try attempt(.always(.status(200)), by: transport) {
            $0.url = "http://127.0.0.1:\(full.port)/"
            $0.timeouts.connect = .milliseconds(300)
            $0.timeouts.request = .seconds(2)
        }
        #expect(result.failure == .connectTimeout, "\(result)")
    }

    @Test(arguments: [true, false], Transport.allCases)
    func `an endless body is cut at the bound`(chunked: Bool, transport: Transport) throws {
        let result = try attempt(.always(.endlessBody(chunked: chunked)), by: transport)
        #expect(result.answer?.status == 200)
        #expect(result.answer?.body.count == 65_536)
    }

    @Test(arguments: Transport.allCases)
    func `endless headers end the attempt without an answer, and soon`(transport: Transport) throws {
        let start = ContinuousClock.now
        let result = try attempt(.always(.endlessHeaders), by: transport) { $0.timeouts.total = .seconds(3) }
        #expect(result.answer == nil)
        #expect(start.duration(to: .now) < .seconds(8))
    }

    @Test(arguments: Transport.allCases)
    func `a stale connection does not lose the request`(transport: Transport) throws {
        let receiver = try LoopbackReceiver(script: .always(Answer.status(200).ending(.close(at: .end))))
        let sink = AgentSink()
        defer { sink.close() }
        for _ in 0..<5 {
            #expect(try sink.deliver(.post(to: receiver, by: transport)).result.answer?.status == 200)
        }
    }

    @Test(arguments: Transport.allCases)
    func `an answer with trailers is an answer`(transport: Transport) throws {
        let answer = try #require(try attempt(.always(deadlyAnswer), by: transport).answer)
        #expect(answer.status == 200)
        #expect(answer.body == Array("ok".utf8))
        #expect(answer.header("x-sum") == nil)
    }

    @Test(arguments: Transport.allCases)
    func `a close in the middle of the head is no answer`(transport: Transport) throws {
        let cut = HostileAnswer.verbatim("HTTP/1.1 200 OK\r\nContent-Le").ending(.close(at: .end))
        let failure = try attempt(.always(cut), by: transport).failure
        #expect([.truncated, .emptyAnswer, .malformedAnswer].contains(failure), "\(failure as Any)")
    }

    @Test(
        arguments: [
            "Location: /\r\n", "WWW-Authenticate: Basic realm=\"a\"\r\n",
            "X-Latin: caf\u{e9}\r\nContent-Length: 2\r\n", "Content-Length:2\r\n",
        ], Transport.allCases)
    func `a head that confuses Foundation's parser gives its status`(fields: String, transport: Transport) throws {
        let latin = "HTTP/1.1 302 Found\r\n\(fields)\r\nok".unicodeScalars.map { UInt8($0.value) }
        let verbatim = HostileAnswer(Answer(302)).formed(.verbatim(latin))
        let answer = try #require(try attempt(.always(verbatim.ending(.close(at: .end))), by: transport).answer)
        #expect(answer.status == 302)
    }

    @Test(arguments: Transport.allCases)
    func `an enormous content length is a truncated answer, and does not kill the agent`(transport: Transport) throws {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nok"
        let result = try attempt(.always(.verbatim(text).ending(.close(at: .end))), by: transport)
        #expect(result.failure == .truncated, "\(result)")
    }

    @Test func `an endless body of a redirect is cut, and does not delay a concurrent attempt`() throws {
        var endless = HostileAnswer.endlessBody(chunked: false)
        (endless.honest.status, endless.honest.headers) = (302, ["Location: /"])
        let receiver = try LoopbackReceiver(script: .always(endless))
        let other = try LoopbackReceiver()
        let sink = AgentSink()
        defer { sink.close() }
        let reports = try sink.deliver([.post(to: receiver), .post(to: other)])
        #expect(reports.map(\.result.answer?.status) == [302, 204])
    }

    @Test(arguments: Transport.allCases)
    func `a decompressed answer is cut at the bound`(transport: Transport) throws {
        // Twenty megabytes of zeros, in twenty kilobytes.
        let receiver = try LoopbackReceiver(
            script: .always(Answer(200, headers: ["Content-Encoding: gzip"], body: try bomb(megabytes: 20))))
        let sink = AgentSink()
        defer { sink.close() }
        let answer = try #require(try sink.deliver(.post(to: receiver, by: transport)).result.answer)
        #expect(answer.status == 200)
        #expect(answer.body == [UInt8](repeating: 0, count: 65_536))
    }

    private func bomb(megabytes: Int) throws -> [UInt8] {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "head -c \(megabytes)000000 /dev/zero | gzip -9"]
        process.standardOutput = pipe
        try process.run()
        defer { process.waitUntilExit() }
        return Array(try pipe.fileHandleForReading.readToEnd() ?? Data())
    }

    static let hasOpenSSL = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    /// Starts s_server(1) with a new certificate, and calls `body` with the URL and the path of the certificate.
    func withServer(_ options: String, _ body: (_ url: String, _ certificate: String) throws -> Void) throws {
        let server = Process()
        let (input, output) = (Pipe(), Pipe())
        server.executableURL = URL(filePath: "/bin/sh")
        server.arguments = [
            "-c",
            """
            cd "$(mktemp -d)" && openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2 \
              -addext subjectAltName=IP:127.0.0.1 -keyout key -out certificate 2> /dev/null && pwd
            exec openssl s_server -accept 127.0.0.1:0 -key key -cert certificate -www \(options) 2> /dev/null
            """,
        ]
        (server.standardInput, server.standardOutput) = (input, output)
        try server.run()
        // First the path of its directory.
        var said = ""
        defer {
            server.terminate()
            server.waitUntilExit()
            try? FileManager.default.removeItem(atPath: String(said.prefix { $0 != "\n" }))
        }
        while !said.contains(/ACCEPT .*\n/) {
            let more = output.fileHandleForReading.availableData
            try #require(!more.isEmpty, "openssl ended: \(said)")
            said += String(decoding: more, as: UTF8.self)
        }
        let port = try #require(said.firstMatch(of: /:(\d+)\s/)).1
        try body("https://127.0.0.1:\(port)/", "\(said.prefix { $0 != "\n" })/certificate")
    }

    @Test(.enabled(if: hasOpenSSL), arguments: Transport.allCases)
    func `an untrusted certificate is a TLS error`(transport: Transport) throws {
        try withServer("") { url, _ in
            let result = try attempt(.always(.status(200)), by: transport) { $0.url = url }
            #expect(result.failure == .tls, "\(result)")
        }
    }

    /// Over TLS 1.3 the server refuses after the client's side of the handshake is over: the request may have left.
    @Test(
        .enabled(if: hasOpenSSL), arguments: ["-tls1_2", "-tls1_3"],
        [(Transport.libcurl, 1), (.libcurl, 1 << 20), (.urlsession, 1), (.urlsession, 1 << 20)])
    func `a missing client certificate is a TLS error for each of six attempts`(
        version: String, attempt: (transport: Transport, bodyLength: Int)
    ) throws {
        try withServer("\(version) -Verify 1 -verify_return_error") { url, certificate in
            // URLSession takes authorities from the environment, not from the request.
            let sink = AgentSink(
                after: "export URLSessionCertificateAuthorityInfoFile='\(certificate)'", concurrency: 6)
            defer { sink.close() }
            var request = OutgoingRequest(
                method: "POST", url: url, body: Array(repeating: 1, count: attempt.bodyLength),
                timeouts: Timeouts(connect: .seconds(9), request: .seconds(9), total: .seconds(18)),
                transport: attempt.transport)
            if attempt.transport == .libcurl { request.connection.caFile = certificate }
            for report in try sink.deliver(Array(repeating: request, count: 6)) {
                #expect(report.result.failure == .tls, "\(report.result)")
            }
        }
    }

    /// A sink whose agents see an additional variable. The shared environment of the tests does not change.
    private func sink(with variable: String) -> AgentSink {
        AgentSink(after: "export \(variable)")
    }

    @Test(arguments: Transport.allCases)
    func `a refused tunnel is a proxy error`(transport: Transport) throws {
        let proxy = try LoopbackReceiver(script: .always(.status(403)))
        let sink = sink(with: "https_proxy=\(proxy.url)")
        defer { sink.close() }
        var request = OutgoingRequest.post(to: proxy, by: transport)
        request.url = "https://a.example/"
        let result = try sink.deliver(request).result
        #expect(result.failure == .proxy, "\(result)")
    }

    @Test(arguments: Transport.allCases)
    func `a request uses the proxy of the environment`(transport: Transport) throws {
        let proxy = try LoopbackReceiver(script: .always(.status(202)))
        let sink = sink(with: "http_proxy=\(proxy.url)")
        defer { sink.close() }
        var request = OutgoingRequest.post(to: proxy, by: transport)
        request.url = "http://nowhere.invalid/x"
        #expect(try sink.deliver(request).result.answer?.status == 202)
        #expect(proxy.requests().first?.target == "http://nowhere.invalid/x")
    }

    @Test(arguments: Transport.allCases)
    func `a redirect that arrives during a cancellation does no harm`(transport: Transport) throws {
        let receiver = try LoopbackReceiver(
            script: .always(Answer.status(302, headers: ["Location: /"]).delayed(.milliseconds(100))))
        let sink = AgentSink(concurrency: 20)
        defer { sink.close() }
        let requests = (0..<40).map { number in
            var request = OutgoingRequest.post(to: receiver, by: transport)
            request.timeouts.request = .milliseconds(90 + number)
            return request
        }
        for report in try sink.deliver(requests) {
            #expect(report.result.answer?.status == 302 || report.result.failure == .timeout, "\(report.result)")
        }
    }
}
