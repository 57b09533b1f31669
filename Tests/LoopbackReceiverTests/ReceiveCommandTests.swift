import CSystem
import LoopbackReceiver
import Synchronization
import Testing

@testable import DrainqCLI

struct ReceiveCommandTests {
    /// The lines of a command that gets these requests, one connection each, in order.
    private func lines(
        of command: ReceiveCommand, for requests: [String]
    ) async throws -> (lines: [String], notices: [String], summary: ReceiveCommand.Summary) {
        let path = "/tmp/drainq-receive-\(UInt64.random(in: 0 ... .max)).url"
        defer { unlink(path) }
        var command = command
        command.urlFile = path
        let prepared = command
        let running = Running()
        let ended = try await withCheckedThrowingContinuation { (done: CheckedContinuation<Running, any Error>) in
            onThread {
                do {
                    let summary = try prepared.run(
                        output: { running.add(line: $0) },
                        notice: { notice in
                            running.add(notice: notice)
                            let port = UInt16(notice.split(separator: ":").last!)!
                            onThread {
                                for request in requests {
                                    let client = Client(port: port)
                                    client.send(request)
                                    _ = client.readAll()
                                }
                            }
                        })
                    running.set(summary)
                    done.resume(returning: running)
                } catch {
                    done.resume(throwing: error)
                }
            }
        }
        let (lines, notices, summary) = ended.result()
        let url = notices[0].split(separator: " ").last!
        #expect(try String(contentsOfFileAt: path) == "\(url)\n")
        return (lines, notices, try #require(summary))
    }

    private static let post =
        "POST /a?b HTTP/1.1\r\nIdempotency-Key: \"k 1\"\r\nConnection: close\r\nContent-Length: 9\r\n\r\n{\"a\":\n 1}"
    private static let odd =
        "PUT /\u{1b}[1m HTTP/1.1\r\nConnection: close\r\nContent-Length: 4\r\n\r\na\"\u{7}\n"

    @Test func `the first line is the URL, then comes a line a request`() async throws {
        let (lines, notices, summary) = try await lines(of: ReceiveCommand(count: 2), for: [Self.post, Self.odd])
        #expect(
            lines == [String(notices[0].dropFirst("listening on ".count)), "POST /a?b 9 k 1", #"PUT /\u{1b}[1m 4 -"#])
        #expect(summary == .init(ending: .count, requests: 2))
    }

    @Test func `bodies are lines of JSON and nothing else`() async throws {
        let (lines, _, _) = try await lines(
            of: ReceiveCommand(count: 2, printsOnlyBodies: true), for: [Self.post, Self.odd])
        #expect(lines == [#"{"a":  1}"#, #""a\"\u0007\n""#])
    }

    @Test func `events are lines of JSON`() async throws {
        let (lines, notices, _) = try await lines(
            of: ReceiveCommand(count: 1, printsOnlyBodies: true, isJSON: true), for: [Self.post])
        #expect(lines.count == 3)
        #expect(
            lines[0]
                == "{\"event\":\"listening\",\"url\":\"\(notices[0].dropFirst("listening on ".count))\",\"schema\":1}")
        #expect(lines[1].hasPrefix(#"{"event":"request","number":1,"connection":1,"milliseconds":"#))
        #expect(
            lines[1].hasSuffix(
                #""method":"POST","target":"/a?b","idempotencyKey":"k 1","headers":[["Idempotency-Key","\"k 1\""],"#
                    + #"["Connection","close"],["Content-Length","9"]],"bytes":9,"body":{"a":  1},"schema":1}"#))
        #expect(lines[2] == #"{"event":"end","by":"count","requests":1,"schema":1}"#)
    }

    @Test func `it ends when its time is over`() throws {
        let summary = try ReceiveCommand(count: 1, maxTime: .milliseconds(5)).run(output: { _ in }, notice: { _ in })
        #expect(summary == .init(ending: .time, requests: 0))
    }

    @Test func `an answer that cannot be read is named before anything listens`() throws {
        let failure = #expect(throws: CommandFailure.self) {
            try ReceiveCommand(answers: ["200", "5O3"]).run(output: { _ in }, notice: { _ in })
        }
        #expect(failure?.messages.first?.text == "cannot use '5O3' in the answer '5O3': no such word")
    }

    @Test func `a file that cannot be written is named`() throws {
        let failure = #expect(throws: CommandFailure.self) {
            try ReceiveCommand(urlFile: "/dev/null/x").run(output: { _ in }, notice: { _ in })
        }
        #expect(failure?.messages.first?.text == "cannot write '/dev/null/x': Not a directory")
    }

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
    func `a signal ends it without an error`(number: Int32) async {
        await #expect(processExitsWith: .exitCode(7)) { [number] in
            signal(SIGHUP, SIG_DFL)
            let summary = try ReceiveCommand().run(output: { _ in }, notice: { _ in kill(getpid(), number) })
            if summary == .init(ending: .signal, requests: 0) { exit(7) }
        }
    }

    @Test func `a signal that was ignored before it is ignored after it`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            signal(SIGINT, SIG_IGN)
            _ = try ReceiveCommand(maxTime: .milliseconds(5)).run(output: { _ in }, notice: { _ in })
            let after = signal(SIGINT, SIG_DFL)
            if unsafeBitCast(after, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) { exit(7) }
        }
    }
}

private final class Running: Sendable {
    private let state = Mutex((lines: [String](), notices: [String](), summary: ReceiveCommand.Summary?.none))

    func add(line: String) { state.withLock { $0.lines.append(line) } }
    func add(notice: String) { state.withLock { $0.notices.append(notice) } }
    func set(_ summary: ReceiveCommand.Summary) { state.withLock { $0.summary = summary } }
    func result() -> (lines: [String], notices: [String], summary: ReceiveCommand.Summary?) { state.withLock { $0 } }
}

extension String {
    fileprivate init(contentsOfFileAt path: String) throws {
        let file = try #require(fopen(path, "re"))
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = fread(&bytes, 1, bytes.count, file)
        self.init(decoding: bytes[..<count], as: UTF8.self)
    }
}
