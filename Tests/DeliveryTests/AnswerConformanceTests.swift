import HostileReceiver
import LoopbackReceiver
import Testing

@testable import Delivery
@testable import Policy

/// The meaning of each answer: every row is the same over both transports.
@Suite(.waiting) struct AnswerConformanceTests {
    enum Meaning: Sendable, Equatable {
        /// The answer counts, with the given number of bytes of the body.
        case answer(Int, bytes: Int)
        case failure(NetworkError)

        init(_ result: AttemptReport.Result) {
            switch result {
            case .answer(let answer): self = .answer(answer.status, bytes: answer.body.count)
            case .failure(let error, _): self = .failure(error)
            }
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var answer: HostileAnswer
        var meaning: Meaning
        var change: @Sendable (inout OutgoingRequest) -> Void = { _ in }

        init(
            _ description: String, _ answer: HostileAnswer, _ meaning: Meaning,
            _ change: @escaping @Sendable (inout OutgoingRequest) -> Void = { _ in }
        ) {
            (testDescription, self.answer, self.meaning, self.change) = (description, answer, meaning, change)
        }
    }

    private static func closing(_ text: String) -> HostileAnswer { .verbatim(text).ending(.close(at: .end)) }
    /// The connection stays open, and nothing more comes.
    private static func stalling(_ text: String) -> HostileAnswer { .verbatim(text).ending(.stall(at: .end)) }
    private static let soon: @Sendable (inout OutgoingRequest) -> Void = { $0.timeouts.request = .milliseconds(300) }

    static let rows: [Row] = decided + cut + progress + encoded + contradicting + excessive + long

    /// A status of 300 or more decides, whatever becomes of the body.
    private static let decided: [Row] = [302, 400, 401, 429, 503].flatMap { status in
        [
            Row(
                "\(status), and the body stalls",
                stalling("HTTP/1.1 \(status) No\r\nRetry-After: 600\r\nContent-Length: 10\r\n\r\nno"),
                .answer(status, bytes: 2), soon),
            Row(
                "\(status), and the body is cut", closing("HTTP/1.1 \(status) No\r\nContent-Length: 10\r\n\r\ncut"),
                .answer(status, bytes: 3)),
            Row(
                "\(status), and a chunk has no length",
                closing("HTTP/1.1 \(status) No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\nzz\r\n"),
                .answer(status, bytes: 2)),
            Row(
                "\(status), and the body goes on past the total time",
                stalling("HTTP/1.1 \(status) No\r\nContent-Length: 10\r\n\r\nslow"), .answer(status, bytes: 4)
            ) { $0.timeouts.total = .milliseconds(700) },
        ]
    }

    /// A 2xx counts only as a whole.
    private static let cut: [Row] = [
        Row(
            "200, and the body stalls", stalling("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nno"),
            .failure(.timeout), soon),
        Row("200, cut", closing("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\ncut"), .failure(.truncated)),
        Row(
            "200, and its chunks are cut", closing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"),
            .failure(.truncated)),
        Row(
            "200, longer than the limit", HostileAnswer(.status(200, body: String(repeating: "x", count: 100_000))),
            .answer(200, bytes: 65_536)),
        Row(
            "200, longer than the limit and then cut",
            HostileAnswer(.status(200, body: String(repeating: "x", count: 100_000)).truncated(by: 5)),
            .answer(200, bytes: 65_536)),
        Row(
            "200 with trailers",
            closing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"),
            .answer(200, bytes: 2)),
        Row("no final status", closing("HTTP/1.1 102 Processing\r\n\r\n"), .failure(.emptyAnswer)),
    ]

    /// Every received byte is progress.
    private static let progress: [Row] = [
        Row(
            "102 again and again, then 200",
            HostileAnswer.verbatim(
                String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 10)
                    + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            ).paced(.init(bytes: 27, every: .milliseconds(100))), .answer(200, bytes: 2)
        ) { $0.timeouts.request = .milliseconds(600) },
        Row(
            "a header line now and then",
            HostileAnswer.verbatim(
                "HTTP/1.1 200 OK\r\n" + String(repeating: "X-Line: 1\r\n", count: 10)
                    + "Content-Length: 2\r\n\r\nok"
            ).paced(.init(bytes: 11, every: .milliseconds(100))), .answer(200, bytes: 2)
        ) { $0.timeouts.request = .milliseconds(600) },
        // Longer than URLSession's own timer would allow, in whole seconds of connect and request.
        Row(
            "102 for longer than all limits but the total",
            HostileAnswer.verbatim(
                String(repeating: "HTTP/1.1 102 Processing\r\n\r\n", count: 12)
                    + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
            ).paced(.init(bytes: 27, every: .milliseconds(300))), .answer(200, bytes: 2)
        ) { ($0.timeouts.connect, $0.timeouts.request) = (.milliseconds(200), .milliseconds(700)) },
        Row(
            "chunks of one byte",
            HostileAnswer.verbatim(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + String(repeating: "1\r\na\r\n", count: 60_000) + "0\r\n\r\n"), .answer(200, bytes: 60_000)),
    ]

    /// Text in a coding that it does not have is read as it came.
    private static let encoded: [Row] = ["gzip", "deflate", "br", "UTF-8", "gzip, gzip", "identity,"].flatMap {
        coding in
        [200, 400].map { status in
            Row(
                "\(status) whose text is not in \(coding)",
                closing(
                    "HTTP/1.1 \(status) Is\r\nContent-Encoding: \(coding)\r\nContent-Length: 17\r\n\r\n{\"plain\": \"text\"}"
                ), .answer(status, bytes: 17))
        }
    }

    /// An answer that contradicts its connection, or whose body costs more than it says.
    private static let contradicting: [Row] =
        ["HTTP/2 200", "HTTP/2.0 200 OK", "HTTP/3 200", "HTTP/2 422 No"].map { line in
            Row(
                "\(line), over HTTP/1.1", closing("\(line)\r\nContent-Length: 2\r\n\r\nok"), .failure(.malformedAnswer))
        }
        + [
            "Transfer-Encoding: gzip, gzip, chunked", "Transfer-Encoding: deflate\r\nTransfer-Encoding: gzip, chunked",
            "Transfer-Encoding: deflate,identity,gzip, chunked",
        ].flatMap { fields in
            [
                Row(
                    "200 with \(fields)", closing("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\n0\r\n\r\n"),
                    .failure(.malformedAnswer)),
                Row(
                    "429 with \(fields)",
                    closing("HTTP/1.1 429 No\r\n\(fields)\r\nRetry-After: 9\r\n\r\n0\r\n\r\n"),
                    .answer(429, bytes: 0)),
            ]
        }

    /// Bytes where an answer has none.
    private static let excessive: [Row] = [
        Row(
            "101 and bytes of another protocol",
            closing("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nbytes"),
            .failure(.emptyAnswer))
    ]

    /// `{}` in gzip.
    private static let emptyObject: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 174, 5, 0, 67, 191, 166, 163, 2, 0, 0, 0,
    ]

    /// A body in a coding, and the text that can be read.
    struct CodedRow: Sendable {
        var coding: String
        var body: [UInt8]
        var text: String
        var isCut = true
    }

    private static let coded = [
        CodedRow(coding: "X-Gzip", body: emptyObject, text: "{}", isCut: false),
        CodedRow(coding: "gzip", body: emptyObject + emptyObject, text: "{}{}", isCut: false),
        CodedRow(coding: "gzip", body: emptyObject + [1, 2, 3], text: "{}"),
        CodedRow(coding: "gzip", body: emptyObject.dropLast(), text: "{}"),
        CodedRow(coding: "gzip", body: Array(emptyObject.prefix(10)), text: ""),
        CodedRow(coding: "gzip, gzip", body: emptyObject, text: ""),
        CodedRow(coding: "zstd", body: [0x28, 0xB5, 0x2F, 0xFD], text: ""),
    ]

    @Test(arguments: coded, Transport.allCases)
    func `a whole message counts, and a body that cannot be decoded is cut`(row: CodedRow, transport: Transport) throws
    {
        for status in [200, 422] {
            let sent = Answer(status, headers: [HeaderLine("Content-Encoding", row.coding)], body: row.body)
            let result = try attempt(.always(sent), by: transport)
            let answer = try #require(result.answer, "\(result)")
            #expect(answer.status == status && answer.isCut == row.isCut)
            #expect(String(decoding: answer.body, as: UTF8.self) == row.text)
        }
    }

    @Test(arguments: Transport.allCases)
    func `a connection that ends within a coded body truncates the answer`(transport: Transport) throws {
        let sent = Answer(200, headers: ["Content-Encoding: gzip"], body: Self.emptyObject)
        #expect(try attempt(.always(sent.truncated(by: 5)), by: transport).failure == .truncated)
    }

    /// Trailers count towards the limit of header fields. The status decides once it has been read.
    private static let long: [Row] = [200, 422, 503].flatMap { status in
        let fields = String(repeating: "X-T: zzzzzzzzzzzzzzzzzzzzzzzz\r\n", count: 10_000)
        func meaning(bytes: Int) -> Meaning {
            status == 200 ? .failure(.malformedAnswer) : .answer(status, bytes: bytes)
        }
        return [
            Row(
                "\(status) with 290 KB of header fields",
                closing("HTTP/1.1 \(status) No\r\n\(fields)Content-Length: 2\r\n\r\nok"), meaning(bytes: 0)),
            Row(
                "\(status) with 290 KB of trailers",
                closing(
                    "HTTP/1.1 \(status) No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\(fields)\r\n"),
                meaning(bytes: 2)),
        ]
    }

    @Test(arguments: rows, Transport.allCases)
    func `an answer means the same over both transports`(row: Row, transport: Transport) throws {
        let result = try attempt(.always(row.answer), by: transport, row.change)
        #expect(Meaning(result) == row.meaning, "\(result)")
    }

    /// An answer to the head of a request whose body the server does not read.
    struct EarlyRow: Sendable {
        var status: Int
        var body: Int
        var right: [Meaning]
    }

    static let early: [EarlyRow] = [
        EarlyRow(status: 200, body: 2, right: [.failure(.truncated)]),
        EarlyRow(status: 204, body: 0, right: [.failure(.truncated)]),
        // Longer than `answerLimit`: a captive portal's page.
        EarlyRow(status: 200, body: 100_000, right: [.failure(.truncated)]),
        EarlyRow(status: 413, body: 2, right: [.answer(413, bytes: 2)]),
        EarlyRow(status: 302, body: 100_000, right: [.answer(302, bytes: 65_536)]),
    ]

    @Test(arguments: early, Transport.allCases)
    func `a 2xx counts only when the whole request has left`(row: EarlyRow, transport: Transport) throws {
        let server = try PlayedServer()
        let sink = AgentSink(concurrency: 1)
        defer { sink.close() }
        // More than the buffers of two sockets hold.
        let request = OutgoingRequest(
            method: "POST", url: server.url + "/", body: [UInt8](repeating: 1, count: 32 << 20),
            timeouts: Timeouts(connect: .seconds(5), request: .seconds(1), total: .seconds(10)), transport: transport)
        try sink.submit(request, ticket: 1)
        #expect(try sink.reports(until: .now + .seconds(60), wakeups: [server.descriptor]).isEmpty)
        let connection = try server.accept()
        try connection.readHead()
        connection.send(
            "HTTP/1.1 \(row.status) Early\r\n" + (row.status == 204 ? "" : "Content-Length: \(row.body)\r\n") + "\r\n"
                + String(repeating: "x", count: row.body))
        let result = try #require(try sink.reports(until: .now + .seconds(60)).first).report.result
        #expect(row.right.contains(Meaning(result)), "\(result)")
    }
}
