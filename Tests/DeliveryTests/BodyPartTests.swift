import CSystem
import Foundation
import LoopbackReceiver
import Policy
import Testing

@testable import Delivery

/// A body in the file of its operation: the agent gets the file's descriptor, and reads the body while sending.
@Suite(.waiting) final class BodyPartTests {
    private let path = URL(filePath: socketPath()).deletingLastPathComponent().appending(path: "operation").path
    private static let head = Array("a header line\n".utf8)
    private let body: [UInt8]

    init() {
        var dice = Dice(state: 1)
        body = (0..<1_000_003).map { _ in UInt8.random(in: 0...255, using: &dice) }
    }

    deinit {
        try? FileManager.default.removeItem(at: URL(filePath: path).deletingLastPathComponent())
    }

    /// The body's part of a file, with a line before and a line behind.
    private func part(checksum: UInt32? = nil) throws -> FilePart {
        try Data(Self.head + body + Array("\nan attempt\n".utf8)).write(to: URL(filePath: path))
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        try #require(descriptor >= 0)
        let before = csystem_crc32c(0, Self.head, Self.head.count)
        return FilePart(
            file: OpenFile(descriptor) { close($0) }, offset: Self.head.count, length: body.count,
            checksumBefore: before, checksum: checksum ?? csystem_crc32c(before, body, body.count))
    }

    private func request(_ part: FilePart, to receiver: LoopbackReceiver, by transport: Transport) -> OutgoingRequest {
        var request = OutgoingRequest.post(to: receiver, by: transport)
        (request.body, request.bodyPart) = (nil, part)
        return request
    }

    @Test(arguments: Transport.allCases)
    func `five bodies arrive byte for byte, and their files are closed`(transport: Transport) throws {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink()
        defer { sink.close() }
        let results = try sink.deliver((0..<5).map { _ in request(try part(), to: receiver, by: transport) })
        #expect(results.allSatisfy { $0.result.answer?.status == 204 })
        #expect(receiver.requests().allSatisfy { $0.body == body && $0.header("content-length") == "\(body.count)" })
        let files = FileManager.default
        let open = try files.contentsOfDirectory(atPath: "/proc/self/fd").map {
            try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
        #expect(!open.contains(path))
    }

    @Test(arguments: Transport.allCases)
    func `a body changed after the claim does not arrive whole`(transport: Transport) throws {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink()
        defer { sink.close() }
        let result = try sink.deliver(request(try part(checksum: 1), to: receiver, by: transport)).result
        #expect(result.failure == .cancelled)
        #expect(result.detail == "the operation's file has changed since it was claimed")
        #expect(!receiver.requests().contains { $0.body == body })
    }

    @Test func `an agent that dies before the attempt begins leaves the body to the next agent`() throws {
        let receiver = try LoopbackReceiver()
        var started = 0
        let sink = AgentSink(
            program: { transport in
                started += 1
                return started == 1 ? .shell("\(Self.ready); read -r -N 20; kill -KILL $$") : program(for: transport)
            }, concurrency: 1)
        defer { sink.close() }
        let request = request(try part(), to: receiver, by: .libcurl)
        #expect(try sink.deliver(request).isUnbegun && receiver.requests().isEmpty)
        #expect(try sink.deliver(request).result.answer?.status == 204)
        #expect(receiver.requests().map(\.body) == [body])
    }

    private static let ready =
        "printf '"
        + (Frame.ready().bytes ?? []).map { byte in
            let digits = String(byte, radix: 16)
            return #"\x"# + (digits.utf8.count < 2 ? "0" : "") + digits
        }.joined() + "' >&0"
}
