import CSystem
import Foundation
import LoopbackReceiver
import Testing

@testable import Delivery
@testable import Policy

/// Bodies that stay in a file until the request is sent.
@Suite(.waiting) final class BodyFileTests {
    private let path = URL(filePath: socketPath()).deletingLastPathComponent().appending(path: "body").path

    deinit {
        try? FileManager.default.removeItem(at: URL(filePath: path).deletingLastPathComponent())
    }

    /// Writes the file, and describes its current state.
    private func file(_ bytes: [UInt8]) throws -> BodyFile {
        try Data(bytes).write(to: URL(filePath: path))
        return try described()
    }

    private func described() throws -> BodyFile { try BodyFile(describing: path) }

    private func request(_ file: BodyFile, to receiver: LoopbackReceiver) -> OutgoingRequest {
        var request = OutgoingRequest.post(to: receiver, by: .libcurl)
        (request.body, request.bodyFile) = (nil, file)
        return request
    }

    private func deliver(_ file: BodyFile) throws -> (result: AttemptReport.Result, received: [ReceivedRequest]) {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink()
        defer { sink.close() }
        return (try sink.deliver(request(file, to: receiver)).result, receiver.requests())
    }

    @Test(arguments: [0, 1, 65_536, 1_000_003])
    func `a file arrives byte for byte`(count: Int) throws {
        var dice = Dice(state: UInt64(count))
        let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &dice) }
        let (result, received) = try deliver(try file(bytes))
        #expect(result.answer?.status == 204)
        #expect(received.first?.body == bytes)
        #expect(received.first?.header("content-length") == "\(count)")
    }

    @Test func `an attempt sends the file once, and the next attempt sends the file from the start`() throws {
        let receiver = try LoopbackReceiver(script: .sequence([.status(200), .close, .status(201)]))
        let sink = AgentSink(concurrency: 1)
        defer { sink.close() }
        let request = request(try file(Array("whole".utf8)), to: receiver)
        #expect(try sink.deliver(request).result.answer?.status == 200)
        // The kept connection closes during the request: libcurl by itself would send the request again.
        #expect(try sink.deliver(request).result.answer == nil)
        #expect(receiver.requests().map(\.text) == ["whole", "whole"])
        #expect(try sink.deliver(request).result.answer?.status == 201)
        #expect(receiver.requests().map(\.text) == ["whole", "whole", "whole"])
    }

    @Test func `a file overwritten while it is sent does not arrive whole, also with its modification time set back`()
        throws
    {
        let file = try file([UInt8](repeating: 1, count: 1000))
        let body = try OpenBodyFile(file)
        let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 500, alignment: 1)
        defer { space.deallocate() }
        #expect(try body.read(at: 0, into: space) == 500)
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.write(contentsOf: Data(repeating: 2, count: 1000))
        try handle.close()
        let time = timespec(tv_sec: Int(file.modified / 1_000_000_000), tv_nsec: Int(file.modified % 1_000_000_000))
        try #require(utimensat(AT_FDCWD, path, [time, time], 0) == 0)
        let error = #expect(throws: BodyFileError.self) { try body.read(at: 500, into: space) }
        #expect(error?.name == .cancelled)
    }

    @Test func `an agent never has a whole file in memory`() throws {
        let receiver = try LoopbackReceiver(recordsBodies: false)
        var file = try file([])
        try #require(truncate(path, 200 << 20) == 0)
        file = try described()
        let sink = AgentSink()
        defer { sink.close() }
        #expect(try sink.deliver(request(file, to: receiver)).result.answer?.status == 204)
        #expect(receiver.requests().first?.bodyLength == 200 << 20)
        let agent = try #require(sink.agents.first?.process)
        let status = try String(contentsOfFile: "/proc/\(agent)/status", encoding: .utf8)
        let peak = try #require(status.firstMatch(of: /VmHWM:\s+(\d+) kB/)).1
        #expect(Int(peak)! < 100_000, "\(peak) kB")
    }

    @Test func `a changed or missing file is refused before a request is sent`() throws {
        let file = try file([1, 2, 3])
        for change in [
            { (file: inout BodyFile) in file.length = 4 }, { $0.modified -= 1 }, { $0.inode += 1 },
            { $0.path += "-gone" },
        ] {
            var other = file
            change(&other)
            let (result, received) = try deliver(other)
            #expect(result.failure == .bodyFileChanged, "\(result)")
            #expect(received.isEmpty)
        }
    }

    @Test(arguments: ["a symbolic link", "a FIFO", "a directory"])
    func `a symbolic link, a FIFO or a directory as body file is refused without a wait`(kind: String) throws {
        switch kind {
        case "a symbolic link":
            try Data([1]).write(to: URL(filePath: path + "-target"))
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + "-target")
        case "a FIFO": try #require(mkfifo(path, 0o600) == 0)
        default: try #require(mkdir(path, 0o700) == 0)
        }
        let (result, received) = try deliver(try described())
        #expect(result.failure == .bodyFileChanged, "\(result)")
        #expect(received.isEmpty)
    }

    @Test func `a file changed during a request does not arrive whole`() throws {
        let server = try ReluctantServer()
        let file = try file([UInt8](repeating: 1, count: 32 << 20))
        let sink = AgentSink()
        defer { sink.close() }
        let request = OutgoingRequest(
            method: "PUT", url: "http://127.0.0.1:\(server.port)/", bodyFile: file, transport: .libcurl)
        try sink.submit(request, ticket: 0)
        server.awaitFirstByte()
        let handle = try FileHandle(forUpdating: URL(filePath: path))
        try handle.write(contentsOf: Data([2]))
        try handle.close()
        let received = server.readToEnd()
        let report = try #require(try sink.reports(until: .now + .seconds(60)).first?.report)
        #expect(report.result.failure == .bodyFileChanged, "\(report.result)")
        #expect(report.result.detail == "the body file '\(path)' has changed since it was added")
        #expect(received < 32 << 20)
    }

    @Test func `a file truncated during a request ends the request`() throws {
        let server = try ReluctantServer()
        let file = try file([UInt8](repeating: 1, count: 32 << 20))
        let sink = AgentSink()
        defer { sink.close() }
        let request = OutgoingRequest(
            method: "PUT", url: "http://127.0.0.1:\(server.port)/", bodyFile: file, transport: .libcurl)
        try sink.submit(request, ticket: 0)
        server.awaitFirstByte()
        try #require(truncate(path, 16 << 20) == 0)
        _ = server.readToEnd()
        let report = try #require(try sink.reports(until: .now + .seconds(60)).first?.report)
        #expect(report.result.failure == .bodyFileChanged, "\(report.result)")
    }
}

extension BodyFile {
    /// Describes the current state of the file, link or directory at `path`.
    init(describing path: String) throws {
        var status = stat()
        try #require(lstat(path, &status) == 0)
        self.init(
            path: path, length: Int(status.st_size), modified: csystem_modified(&status),
            inode: UInt64(status.st_ino))
    }
}

/// A server that accepts a single connection and reads only on demand.
private final class ReluctantServer {
    let port: UInt16
    private let listener: Int32
    private var client: Int32 = -1

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { place in
            place.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        try #require(isListening)
    }

    deinit {
        close(client)
        close(listener)
    }

    /// Returns when the request has begun to arrive.
    func awaitFirstByte() {
        client = accept(listener, nil, nil)
        var first: UInt8 = 0
        _ = recv(client, &first, 1, Int32(MSG_PEEK))
    }

    /// Reads until the client closes. Returns the number of bytes.
    func readToEnd() -> Int {
        var space = [UInt8](repeating: 0, count: 1 << 20)
        var total = 0
        while case let count = recv(client, &space, space.count, 0), count > 0 { total += count }
        return total
    }
}
