import Foundation
import LoopbackReceiver
import Testing

@testable import Delivery
@testable import Policy

/// An answer counts only for its own request, and an attempt is a single request.
@Suite(.waiting) struct OwnAnswerTests {
    /// A client with a concurrency of 1, and a server that the test plays.
    final class Scene {
        let server: PlayedServer
        let sink = AgentSink(concurrency: 1)
        private var tickets = 0

        init(overUnix: Bool = false) throws {
            server = try overUnix ? PlayedServer(at: socketPath()) : PlayedServer()
        }

        deinit { sink.close() }

        /// Begins an attempt.
        func submit(_ body: String, bodyFile: BodyFile? = nil, freshConnection: Bool = false) throws {
            tickets += 1
            try sink.submit(
                OutgoingRequest(
                    method: "POST", url: server.url + "/", body: bodyFile == nil ? Array(body.utf8) : nil,
                    bodyFile: bodyFile,
                    timeouts: Timeouts(connect: .seconds(60), request: .seconds(60), total: .seconds(120)),
                    transport: .libcurl, connection: ConnectionOptions(unixSocket: server.path),
                    freshConnection: freshConnection), ticket: tickets)
        }

        /// Returns the result of the last attempt.
        func result() throws -> AttemptReport.Result {
            let reports = try sink.reports(until: .now + .seconds(60))
            return try #require(reports.first { $0.ticket == tickets }).report.result
        }

        /// Opens two connections with an attempt on each. The next attempt uses the first connection.
        func keepTwo() throws -> (PlayedServer.Connection, PlayedServer.Connection) {
            let connections = try ["first", "second"].map { body in
                try submit(body)
                let connection = try server.accept()
                #expect(try exchange(connection, "200 OK").answer?.status == 200)
                return connection
            }
            return (connections[0], connections[1])
        }

        /// Makes a whole attempt on a connection that the server leaves open.
        func exchange(_ connection: PlayedServer.Connection, _ status: String) throws -> AttemptReport.Result {
            #expect(try !connection.readRequest().isEmpty)
            connection.send("HTTP/1.1 \(status)\r\nContent-Length: 2\r\n\r\nok")
            return try result()
        }
    }

    @Test(arguments: [false, true])
    func `connections take turns, and each rests while another is used`(overUnix: Bool) throws {
        let scene = try Scene(overUnix: overUnix)
        let (first, second) = try scene.keepTwo()
        for connection in [first, second, first, second] {
            try scene.submit("again")
            #expect(try scene.exchange(connection, "200 OK").answer?.status == 200)
        }
        #expect(scene.server.isQuiet)
    }

    @Test(arguments: [false, true])
    func `a connection that is an answer behind is closed after a single wrong answer`(overUnix: Bool) throws {
        let scene = try Scene(overUnix: overUnix)
        let (first, second) = try scene.keepTwo()
        try scene.submit("third")
        #expect(try first.readRequest() == "third")
        // The client cannot recognize the stray answer yet. The real answer comes while the connection rests, delayed
        // by Nagle's algorithm until the stray answer is acknowledged.
        first.send("HTTP/1.1 200 Stray\r\nContent-Length: 0\r\n\r\n")
        #expect(try scene.result().answer?.status == 200)
        first.send("HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n")
        try scene.submit("fourth")
        #expect(try scene.exchange(scene.server.accept(), "201 Created").answer?.status == 201)
        #expect(try first.isClosedByClient())
        #expect(try second.isClosedByClient())
    }

    @Test(arguments: [false, true])
    func `a stray answer on a kept connection is discarded with the connection`(overUnix: Bool) throws {
        let scene = try Scene(overUnix: overUnix)
        let (first, _) = try scene.keepTwo()
        first.send("HTTP/1.1 422 Stray\r\nContent-Length: 0\r\n\r\n")
        try scene.submit("second")
        let second = try scene.server.accept()
        #expect(try scene.exchange(second, "201 Created").answer?.status == 201)
        #expect(try first.isClosedByClient())
    }

    @Test(arguments: [false, true])
    func `the first byte of a stray answer closes the connection`(overUnix: Bool) throws {
        let scene = try Scene(overUnix: overUnix)
        let (first, _) = try scene.keepTwo()
        first.send("H")
        try scene.submit("second")
        #expect(try scene.exchange(scene.server.accept(), "201 Created").answer?.status == 201)
        #expect(try first.isClosedByClient())
    }

    @Test(arguments: [false, true])
    func `a kept connection closed by the server is replaced before a request is sent`(overUnix: Bool) throws {
        let scene = try Scene(overUnix: overUnix)
        let (first, _) = try scene.keepTwo()
        first.close()
        try scene.submit("second")
        #expect(try scene.exchange(scene.server.accept(), "201 Created").answer?.status == 201)
        #expect(scene.server.isQuiet)
    }

    @Test func `an answer before the request is malformed`() throws {
        let full = try PlayedServer()
        let sink = AgentSink(concurrency: 1)
        defer { sink.close() }
        // Through a tunnel, so that the answer arrives before libcurl chooses the bytes to send.
        var request = OutgoingRequest(
            method: "POST", url: "http://127.0.0.1:9/", body: [1], timeouts: Timeouts(total: .seconds(10)),
            transport: .libcurl)
        request.connection.proxy = .url("socks5h://127.0.0.1:\(full.port)")
        try sink.submit(request, ticket: 1)
        let proxy = try full.accept()
        try proxy.skipInput()
        proxy.sendBytes([5, 0])
        try proxy.skipInput()
        proxy.sendBytes([5, 0, 0, 1, 127, 0, 0, 1, 0, 9] + Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8))
        let report = try #require(try sink.reports(until: .now + .seconds(60)).first).report
        #expect(report.result.failure == .malformedAnswer, "\(report.result)")
        #expect(report.isUnread)
    }

    @Test(arguments: [false, true])
    func `a request whose kept connection dies is not sent again, and the server gets fresh connections`(
        overUnix: Bool
    ) throws {
        let scene = try Scene(overUnix: overUnix)
        let (first, second) = try scene.keepTwo()
        try scene.submit("third")
        #expect(try first.readRequest() == "third")
        first.close()
        // libcurl opens another connection, but may not send the request again.
        #expect(try scene.server.accept().isClosedByClient())
        let result = try scene.result()
        #expect(result.failure == .reset, "\(result)")
        #expect(try second.isClosedByClient())
        for _ in 0..<3 {
            try scene.submit("next")
            #expect(try scene.exchange(scene.server.accept(), "201 Created").answer?.status == 201)
        }
    }

    @Test(arguments: ["400 Bad Request", "501 Unsupported method"])
    func `a refusal that closes a kept connection is malformed, and counts on a fresh connection`(status: String) throws
    {
        let scene = try Scene()
        let refusal = "HTTP/1.1 \(status)\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        let (first, _) = try scene.keepTwo()
        try scene.submit("third")
        try first.readHead()
        first.send(refusal)
        first.close()
        let result = try scene.result()
        #expect(result.failure == .malformedAnswer, "\(result)")
        // On a fresh connection the same answer counts.
        try scene.submit("second", freshConnection: true)
        let second = try scene.server.accept()
        #expect(try second.readRequest() == "second")
        second.send(refusal)
        #expect(try scene.result().answer.map { "\($0.status)" } == String(status.prefix(3)))
    }

    @Test func `a request for a fresh connection opens a connection`() throws {
        let scene = try Scene()
        _ = try scene.keepTwo()
        try scene.submit("second", freshConnection: true)
        #expect(try scene.exchange(scene.server.accept(), "201 Created").answer?.status == 201)
    }

    @Test func `an answer before the whole body counts, and its connection is not used again`() throws {
        let length = 64 << 20
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
        defer { try? FileManager.default.removeItem(at: file) }
        try FileHandle(forWritingTo: file).truncate(atOffset: UInt64(length))
        let scene = try Scene()
        try scene.submit("", bodyFile: try BodyFile(describing: file.path))
        let first = try scene.server.accept()
        try first.readHead()
        first.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        #expect(try first.skipRequest() == length)
        #expect(try scene.result().answer?.status == 200)
        #expect(try first.isClosedByClient())
        try scene.submit("second")
        #expect(try scene.exchange(scene.server.accept(), "201 Created").answer?.status == 201)
    }

    @Test func `a server gets a fresh connection for each request after its first stray answer`() throws {
        let scene = try Scene()
        let (first, _) = try scene.keepTwo()
        first.send("HTTP/1.1 200 Stray\r\nContent-Length: 0\r\n\r\n")
        for _ in 0..<5 {
            try scene.submit("next")
            let connection = try scene.server.accept()
            #expect(try scene.exchange(connection, "201 Created").answer?.status == 201)
            connection.send("HTTP/1.1 200 Stray\r\nContent-Length: 0\r\n\r\n")
            #expect(try connection.isClosedByClient())
        }
        #expect(try first.isClosedByClient())
    }
}
