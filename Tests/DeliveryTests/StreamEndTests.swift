import CSystem
import Foundation
import Testing

@testable import Delivery
@testable import Policy

/// HTTP/2 answers that arrive before the whole body was sent, and the end of their stream.
@Suite(.waiting, .enabled(if: PlayedStream.isInstalled)) struct StreamEndTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Whether the answer has the flag END_STREAM.
        var ends: Bool
        /// The code of a following RST_STREAM; `nil` for none.
        var reset: UInt8?
        /// The code of a following GOAWAY; `nil` for none.
        var goAway: UInt8?
        var closes = false
        /// Whether the body is so small that the whole request has left.
        var isSmall = false
        /// Whether the head and the end arrive together. libcurl then drops what it has read.
        var isTogether = false
        var counts: Bool
    }

    static let rows: [Row] = [
        Row(testDescription: "END_STREAM, RST_STREAM NO_ERROR", ends: true, reset: 0, counts: true),
        Row(testDescription: "the whole stream at once", ends: true, reset: 0, isTogether: true, counts: false),
        Row(testDescription: "END_STREAM, RST_STREAM INTERNAL_ERROR", ends: true, reset: 2, counts: false),
        Row(testDescription: "RST_STREAM INTERNAL_ERROR", ends: false, reset: 2, counts: false),
        Row(testDescription: "RST_STREAM REFUSED_STREAM", ends: false, reset: 7, counts: false),
        Row(testDescription: "RST_STREAM CANCEL", ends: false, reset: 8, counts: false),
        Row(testDescription: "GOAWAY INTERNAL_ERROR, FIN", ends: false, goAway: 2, closes: true, counts: false),
        Row(testDescription: "FIN", ends: false, closes: true, counts: false),
        Row(testDescription: "END_STREAM, FIN", ends: true, closes: true, counts: false),
        Row(testDescription: "END_STREAM, silence", ends: true, counts: false),
        Row(testDescription: "END_STREAM to a whole request", ends: true, isSmall: true, counts: true),
    ]

    @Test(arguments: rows)
    func `over HTTP 2 a 2xx counts when the whole request has left, or the stream ended without an error`(
        row: Row
    ) throws {
        let server = try PlayedStream()
        let sink = AgentSink(concurrency: 1)
        defer { sink.close() }
        let isSilent = row.reset == nil && row.goAway == nil && !row.closes
        // Only a silent row meets this time-out, however slowly the machine plays the others.
        let patience: Duration = isSilent ? .seconds(1) : .seconds(30)
        let request = OutgoingRequest(
            method: "POST", url: "https://127.0.0.1:\(server.port)/",
            body: [UInt8](repeating: 1, count: row.isSmall ? 3 : 3 << 20),
            timeouts: Timeouts(connect: .seconds(30), request: patience, total: .seconds(60)), transport: .libcurl,
            connection: ConnectionOptions(caFile: server.authority))
        try sink.submit(request, ticket: 1)
        try server.awaitRequest(sink)
        server.gathers = row.isTogether
        server.answer(ends: row.ends)
        // The client takes the answer before the end of the stream. At the end of its last request the client rests.
        if row.isTogether { server.skipOutput() } else if !row.isSmall { try server.awaitPing() }
        if let code = row.goAway { server.send(type: 7, stream: 0, [0, 0, 0, 0, 0, 0, 0, code]) }
        if let code = row.reset { server.send(type: 3, stream: 1, [0, 0, 0, code]) }
        server.flush()
        if row.closes { server.close() }
        let report = try #require(try sink.reports(until: .now + .seconds(60)).first).report
        let result = report.result
        let right: [NetworkError] = isSilent ? [.truncated] : [.truncated, .reset]
        #expect(report.hasBrokenStream == row.isTogether, "\(report)")
        if row.counts {
            #expect(result.answer?.status == 200, "\(result)")
        } else {
            #expect(result.failure.map(right.contains) == true, "\(result)")
        }
    }

    /// The ends of a stream without an answer.
    enum End: CaseIterable { case closed, refused, cancelled, goAway, text }

    @Test(arguments: End.allCases)
    func `a stream that ends without an answer is broken, whatever ends it`(end: End) throws {
        let server = try PlayedStream()
        let sink = AgentSink(concurrency: 1)
        defer { sink.close() }
        let request = OutgoingRequest(
            method: "POST", url: "https://127.0.0.1:\(server.port)/", body: [1, 2, 3],
            timeouts: Timeouts(connect: .seconds(30), request: .seconds(30), total: .seconds(60)), transport: .libcurl,
            connection: ConnectionOptions(caFile: server.authority))
        try sink.submit(request, ticket: 1)
        if end == .text {
            try server.awaitPreface(sink)
            server.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            try server.awaitDelivery()
        } else {
            try server.awaitRequest(sink)
        }
        switch end {
        case .refused: server.send(type: 3, stream: 1, [0, 0, 0, 7])
        case .cancelled: server.send(type: 3, stream: 1, [0, 0, 0, 8])
        case .goAway: server.send(type: 7, stream: 0, [0, 0, 0, 0, 0, 0, 0, 2])
        case .closed, .text: break
        }
        server.skipOutput()
        if [.closed, .goAway].contains(end) { server.close() }
        let report = try #require(try sink.reports(until: .now + .seconds(60)).first).report
        let right: [NetworkError] = [.reset, .emptyAnswer]
        #expect(report.result.failure.map(right.contains) == true, "\(report)")
        #expect(report.hasBrokenStream, "\(report)")
    }
}

/// The end of a TLS connection without close_notify.
@Suite(.waiting, .enabled(if: PlayedStream.isInstalled)) struct TLSEndTests {
    /// Over libcurl: URLSession takes no authority from a test.
    @Test func `an answer without a length ends with its connection, over TLS without close_notify too`() throws {
        let server = try PlayedStream(speaking: "http/1.1")
        let sink = AgentSink()
        defer { sink.close() }
        var request = OutgoingRequest(
            method: "POST", url: "https://127.0.0.1:\(server.port)/", body: [1],
            timeouts: Timeouts(connect: .seconds(30), request: .seconds(30), total: .seconds(60)), transport: .libcurl)
        request.connection.caFile = server.authority
        try sink.submit(request, ticket: 1)
        try server.awaitHead(sink)
        server.send("HTTP/1.1 200 OK\r\n\r\nwithout an end")
        try server.awaitDelivery()
        server.close()
        let result = try #require(try sink.reports(until: .now + .seconds(60)).first).report.result
        #expect(result.answer?.body == Array("without an end".utf8), "\(result)")
    }
}

/// An HTTP/2 server that a test plays frame by frame. `openssl s_server` carries the bytes.
final class PlayedStream {
    static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")

    let port: Int
    private let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    private let process = Process()
    private let (input, output) = (Pipe(), Pipe())

    var authority: String { directory.appending(path: "certificate").path }

    init(speaking protocols: String = "h2") throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        process.executableURL = URL(filePath: "/bin/sh")
        process.currentDirectoryURL = directory
        process.arguments = [
            "-c",
            """
            openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -days 2 \
              -keyout key -out certificate 2> /dev/null
            exec openssl s_server -quiet -alpn \(protocols) -accept 127.0.0.1:0 -naccept 2 -key key -cert certificate
            """,
        ]
        (process.standardInput, process.standardOutput) = (input, output)
        process.standardError = FileHandle.nullDevice
        try process.run()
        port = try Self.port(of: process)
    }

    deinit {
        close()
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: directory)
    }

    /// Waits until a process listens, and returns its port. openssl -quiet does not print the port that the kernel has
    /// chosen; a port that the test chooses may be another server's by the time openssl binds it.
    private static func port(of process: Process) throws -> Int {
        let files = "/proc/\(process.processIdentifier)/fd"
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: files)) ?? []
            let opened = Set(
                names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(files)/\($0)") })
            for line in try String(contentsOfFile: "/proc/net/tcp", encoding: .utf8).split(separator: "\n") {
                // The own address, the state 0A for listening, and the inode.
                let fields = line.split(separator: " ")
                guard fields.count > 9, fields[3] == "0A", opened.contains("socket:[\(fields[9])]") else { continue }
                return try #require(Int(fields[1].suffix(4), radix: 16))
            }
            try #require(process.isRunning && ContinuousClock.now < deadline, "openssl does not listen")
            usleep(10_000)
        }
    }

    /// Waits for the client's first bytes while the sink works.
    func awaitPreface(_ sink: AgentSink) throws {
        let early = try sink.reports(until: .now + .seconds(60), wakeups: [output.fileHandleForReading.fileDescriptor])
        try #require(early.isEmpty, "\(early)")
    }

    /// Reads the client's preface and the beginning of its request while the sink works.
    func awaitRequest(_ sink: AgentSink) throws {
        try awaitPreface(sink)
        var received: [UInt8] = []
        // The preface, and the frame of the request's header fields: type 1 on stream 1.
        while !received.contains([1, 4, 0, 0, 0, 1]) && !received.contains([1, 0x24, 0, 0, 0, 1]) {
            let more = output.fileHandleForReading.availableData
            try #require(!more.isEmpty, "the client has gone")
            received += more
        }
        // SETTINGS, and the acknowledgement of the client's.
        send(type: 4, stream: 0, [])
        send(type: 4, flags: 1, stream: 0, [])
    }

    /// Reads the head of a request over HTTP/1.1 while the sink works.
    func awaitHead(_ sink: AgentSink) throws {
        try awaitPreface(sink)
        var received: [UInt8] = []
        while !received.contains(Array("\r\n\r\n".utf8)) {
            let more = output.fileHandleForReading.availableData
            try #require(!more.isEmpty, "the client has gone")
            received += more
        }
    }

    /// Sends a text in HTTP/1.1.
    func send(_ text: String) {
        try? input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }

    /// Waits until openssl has sent everything from its standard input: it has read all of it, and sleeps.
    func awaitDelivery() throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            var count: Int32 = 1
            try #require(ioctl(input.fileHandleForWriting.fileDescriptor, UInt(FIONREAD), &count) == 0)
            let stat = try String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)
            if count == 0, stat.contains(") S ") { return }
            try #require(ContinuousClock.now < deadline, "openssl does not read")
            usleep(10_000)
        }
    }

    /// Answers stream 1 with 200 and a body of two bytes.
    func answer(ends: Bool) {
        // `:status: 200` and `content-length: 2` (RFC 7541).
        send(type: 1, flags: 4, stream: 1, [0x88, 0x0F, 0x0D, 0x01, 0x32])
        send(type: 0, flags: ends ? 1 : 0, stream: 1, Array("ok".utf8))
    }

    /// Waits until the client has read all frames so far.
    func awaitPing() throws {
        send(type: 6, stream: 0, [UInt8](repeating: 7, count: 8))
        var received: [UInt8] = []
        while !received.contains([6, 1, 0, 0, 0, 0]) {
            let more = output.fileHandleForReading.availableData
            try #require(!more.isEmpty, "the client has gone")
            received += more
        }
        skipOutput()
    }

    /// Discards what the client sends. openssl stops sending while its output is not read.
    func skipOutput() {
        output.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
    }

    /// Whether frames leave together, by `flush`.
    var gathers = false
    private var gathered: [UInt8] = []

    func send(type: UInt8, flags: UInt8 = 0, stream: UInt8, _ payload: [UInt8]) {
        gathered += [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
        if !gathers { flush() }
    }

    func flush() {
        try? input.fileHandleForWriting.write(contentsOf: gathered)
        gathered = []
    }

    func close() {
        output.fileHandleForReading.readabilityHandler = nil
        process.terminate()
    }
}
