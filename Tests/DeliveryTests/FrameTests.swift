import Delivery
import Testing

@testable import Policy

struct FrameTests {
    static let frames: [Frame] = [
        .setup(concurrency: 5),
        .ready(), .opened(defect: nil), .opened(defect: UnavailableTransport(reason: "none", isPassing: false)),
        .opened(defect: UnavailableTransport(reason: "", isPassing: true)),
        .cancel(ticket: .max),
        .attempt(ticket: 0, OutgoingRequest(method: "GET", url: "http://a/")),
        .attempt(
            ticket: -1,
            OutgoingRequest(
                method: "PATCH", url: "https://a.example/ü?q=%20",
                headers: [HeaderField(name: "A", value: ""), HeaderField(name: "A", value: "日本")],
                body: [0, 255, 10, 13],
                timeouts: Timeouts(connect: .milliseconds(1), request: .seconds(2), total: .seconds(Int64.max)),
                answerLimit: 0)),
        .attempt(ticket: 1, OutgoingRequest(method: "POST", url: "http://a/", body: [])),
        .attempt(
            ticket: 2,
            OutgoingRequest(
                method: "PUT", url: "https://a/",
                bodyFile: BodyFile(path: "/srv/ü", length: 1 << 40, modified: -1, inode: .max),
                transport: .libcurl,
                connection: ConnectionOptions(
                    proxy: .url("socks5h://u:p@h:1"), caFile: "/ca",
                    clientCertificate: .init(certificateFile: "/c", keyFile: nil, passphrase: ""),
                    unixSocket: "/s"),
                redirects: .sameOrigin, freshConnection: true)),
        .attempt(
            ticket: 3,
            OutgoingRequest(
                method: "PUT", url: "https://a/", transport: .libcurl,
                connection: ConnectionOptions(
                    proxy: .direct, clientCertificate: .init(certificateFile: "/c", keyFile: "/k", passphrase: nil)))),
        .attempt(
            ticket: 4,
            OutgoingRequest(
                method: "POST", url: "http://a/",
                bodyPart: FilePart(file: nil, offset: 1, length: .max, checksumBefore: .max, checksum: 0))),
        .report(ticket: 7, AttemptReport(result: .failure(.emptyAnswer, detail: "x\0y"), duration: .nanoseconds(-1))),
        .report(
            ticket: 8,
            AttemptReport(
                result: .answer(
                    AttemptReport.Answer(status: 503, headers: [HeaderField(name: "b", value: "c")], body: [1, 2])),
                duration: .seconds(1))),
        .report(
            ticket: 9,
            AttemptReport(
                result: .answer(AttemptReport.Answer(status: 200, body: [1], isCut: true)), duration: .seconds(1))),
    ]

    @Test(arguments: frames)
    func `a decoded frame equals the encoded frame`(frame: Frame) throws {
        var buffer = FrameBuffer()
        buffer.append(try #require(frame.bytes))
        #expect(try buffer.next() == frame)
        #expect(try buffer.next() == nil)
    }

    @Test func `a report keeps what it says about its connection`() throws {
        for (isUnread, hasBrokenStream) in [(false, true), (true, false), (true, true)] {
            let report = AttemptReport(
                result: .failure(.reset, detail: ""), duration: .zero, isUnread: isUnread,
                hasBrokenStream: hasBrokenStream)
            let frame = Frame.report(ticket: 1, report)
            #expect(try Frame(payload: try #require(frame.bytes).dropFirst(4)) == frame)
        }
    }

    @Test func `frames arrive whole for every cut of the bytes`() throws {
        let bytes = Self.frames.flatMap { $0.bytes ?? [] }
        for length in [1, 3, 7, 1000] {
            var buffer = FrameBuffer()
            var arrived: [Frame] = []
            for start in stride(from: 0, to: bytes.count, by: length) {
                buffer.append(bytes[start..<min(bytes.count, start + length)])
                while let frame = try buffer.next() { arrived.append(frame) }
            }
            #expect(arrived == Self.frames)
        }
    }

    @Test(arguments: frames)
    func `a frame cut short is an error at every length`(frame: Frame) throws {
        let payload = try #require(frame.bytes).dropFirst(4)
        for length in 0..<payload.count {
            #expect(throws: FrameError.self) { try Frame(payload: payload.prefix(length)) }
        }
    }

    @Test(arguments: frames)
    func `a byte too many is an error`(frame: Frame) throws {
        #expect(throws: FrameError.self) { try Frame(payload: try #require(frame.bytes).dropFirst(4) + [0]) }
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `a damaged frame decodes to a valid frame or is refused, and never traps`(seed: UInt64) throws {
        var generator = Dice(state: seed)
        for frame in Self.frames {
            var payload = try #require(frame.bytes).dropFirst(4)
            for _ in 0..<3 {
                let place = Int.random(in: payload.indices, using: &generator)
                payload[place] = UInt8.random(in: 0...255, using: &generator)
            }
            if let other = try? Frame(payload: payload) { #expect(other.bytes != nil) }
        }
    }

    @Test func `a length beyond the bound is an error before its bytes arrive`() {
        var buffer = FrameBuffer(longest: 100)
        buffer.append([0, 0, 0, 101])
        #expect(throws: FrameError.self) { try buffer.next() }
    }

    @Test func `a header count larger than the payload allows is refused`() throws {
        var bytes = try #require(Frame.attempt(ticket: 0, OutgoingRequest(method: "", url: "")).bytes).dropFirst(4)
        bytes.replaceSubrange(bytes.startIndex + 9..<bytes.startIndex + 17, with: [0x10, 0, 0, 0, 0, 0, 0, 0])
        #expect(throws: FrameError.self) { try Frame(payload: bytes) }
    }

    @Test func `an attempt says its base once, and of its fields only those that differ`() throws {
        let base = RequestBase(.init(method: "POST", url: "http://a.example/v1/events"))
        let fields = (0..<3).map { number in
            [
                HeaderField(name: "Authorization", value: "Bearer 0123456789"),
                HeaderField(name: "Idempotency-Key", value: "\"\(number)\""),
            ]
        }
        // The last has a base of its own, and another normal form of a value.
        let frames: [Frame] = [
            .attempt(ticket: 1, OutgoingRequest(base, headers: fields[0], body: [1])),
            .attempt(ticket: 2, OutgoingRequest(base, headers: fields[1], body: [2])),
            .cancel(ticket: 1),
            .attempt(ticket: 3, OutgoingRequest(base, headers: fields[2] + [HeaderField(name: "A", value: "\u{E9}")])),
            .attempt(
                ticket: 4,
                OutgoingRequest(
                    method: "POST", url: "http://a.example/",
                    headers: fields[2] + [HeaderField(name: "A", value: "e\u{301}")])),
        ]
        var (sent, buffer) = (FrameHistory(), FrameBuffer())
        let lengths = try frames.map { frame in
            let bytes = try #require(frame.bytes(after: &sent))
            buffer.append(bytes)
            #expect(try buffer.next() == frame)
            return bytes.count
        }
        #expect(lengths[0] > 200)
        #expect(lengths[1] < 60)
    }

    @Test func `a report says of its fields only those that differ from the report before`() throws {
        func report(_ date: String, _ more: [HeaderField] = []) -> Frame {
            let headers = [HeaderField(name: "Server", value: "nginx"), HeaderField(name: "Date", value: date)] + more
            return .report(
                ticket: 1,
                AttemptReport(
                    result: .answer(AttemptReport.Answer(status: 204, headers: headers)), duration: .milliseconds(1)))
        }
        let frames = [
            report("a"), report("b"),
            .report(ticket: 2, AttemptReport(result: .failure(.reset, detail: ""), duration: .zero)),
            report("b", [HeaderField(name: "Via", value: "")]), report("b"),
        ]
        var (sent, buffer) = (FrameHistory(), FrameBuffer())
        for frame in frames {
            buffer.append(try #require(frame.bytes(after: &sent)))
            #expect(try buffer.next() == frame)
        }
    }

    @Test func `an attempt that refers to an earlier one is an error if there is none`() throws {
        let request = OutgoingRequest(method: "POST", url: "http://a/", headers: [HeaderField(name: "A", value: "b")])
        var history = FrameHistory()
        let first = try #require(Frame.attempt(ticket: 0, request).bytes(after: &history))
        let second = try #require(Frame.attempt(ticket: 1, request).bytes(after: &history))
        #expect(throws: Never.self) { try Frame(payload: first.dropFirst(4)) }
        #expect(throws: FrameError.self) { try Frame(payload: second.dropFirst(4)) }
    }
}

struct Dice: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }
}
