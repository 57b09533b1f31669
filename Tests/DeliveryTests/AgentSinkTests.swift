import Foundation
import Glibc
import LoopbackReceiver
import Policy
import Testing

@testable import Delivery

/// The parent's side: deadlines, broken agents, and nothing left behind.
@Suite(.serialized) struct AgentSinkTests {
    /// An agent that is this shell script instead, with the socket as its standard input.
    private func sink(playing lines: String, grace: Duration = .milliseconds(300)) -> AgentSink {
        AgentSink(program: { _ in .shell(lines) }, concurrency: 5, grace: grace)
    }

    private func request(total: Duration = .milliseconds(300)) -> OutgoingRequest {
        OutgoingRequest(
            method: "POST", url: "http://127.0.0.1:1/", body: [1],
            timeouts: Timeouts(connect: .seconds(1), request: .seconds(1), total: total))
    }

    private static let ready = #"printf '\x00\x00\x00\x09\x04\x00\x00\x00\x00\x00\x00\x00\x01' >&0"#

    @Test func `an agent that reports nothing is killed after the grace`() throws {
        let sink = sink(playing: "\(Self.ready); while read -r -N 1; do :; done; sleep 60")
        defer { sink.close() }
        let start = ContinuousClock.now
        let reports = try sink.deliver([request(), request()])
        #expect(reports.allSatisfy { $0.result.failure == .deadline })
        #expect(start.duration(to: .now) < .seconds(3))
    }

    @Test(arguments: [
        (#"printf 'garbage that is no frame' >&0; sleep 60"#, "frame"),
        (#"printf '\x00\x00\x00\x01\x09' >&0; sleep 60"#, "unknown kind 9"),
        (#"printf '\x00\x00\x00\x09\x03\x00\x00\x00\x00\x00\x00\x00\x00' >&0; sleep 60"#, "not its own"),
        ("exit 9", "exited with status 9"),
        ("kill -SEGV $$", "killed by signal 11"),
    ])
    func `an agent that goes mad is replaced and the attempt says so`(madness: String, words: String) throws {
        let sink = sink(playing: "\(Self.ready); read -r -t 5 -N 20; \(madness)")
        defer { sink.close() }
        let result = try sink.deliver(request(total: .seconds(5))).result
        #expect(result.failure == .agentDied)
        #expect(result.detail?.contains(words) == true, "\(result)")
    }

    @Test func `an agent that dies before it runs is an error of the sink, soon`() throws {
        let sink = sink(playing: "exit 3")
        defer { sink.close() }
        let error = #expect(throws: SinkError.self) { try sink.deliver(request(total: .seconds(5))) }
        #expect(error?.description.contains("exited with status 3") == true)
    }

    @Test func `an agent of another release is an error of the sink that says so`() throws {
        let sink = sink(playing: #"printf '\x00\x00\x00\x09\x04\x00\x00\x00\x00\x00\x00\x00\x63' >&0; sleep 60"#)
        defer { sink.close() }
        let error = #expect(throws: SinkError.self) { try sink.deliver(request(total: .seconds(5))) }
        #expect(error?.description.contains("of another release") == true)
    }

    @Test func `an executable that is not there is an error of the sink at once`() {
        let sink = AgentSink(
            program: { _ in AgentProgram(executable: "/nowhere/drainq", arguments: []) }, concurrency: 1)
        let error = #expect(throws: SinkError.self) { try sink.submit(request(), ticket: 0) }
        #expect(error?.description == "cannot start a delivery agent: /nowhere/drainq: No such file or directory")
    }

    @Test func `the deadline is the parent's`() throws {
        let receiver = try LoopbackReceiver(script: .always(.silence))
        let sink = AgentSink()
        defer { sink.close() }
        var request = OutgoingRequest.post(to: receiver)
        request.timeouts.total = .milliseconds(300)
        let start = ContinuousClock.now
        #expect(try sink.deliver(request).result.failure == .deadline)
        #expect(start.duration(to: .now) < .seconds(1))
    }

    @Test func `when an agent hangs with several attempts, all are made again, and nobody pays for another`() throws {
        let receiver = try LoopbackReceiver(script: .always(Answer.status(200).delayed(.milliseconds(100))))
        let sink = AgentSink(program: program(for:), concurrency: 2, grace: .milliseconds(200))
        defer { sink.close() }
        _ = try sink.deliver(.post(to: receiver))
        kill(try #require(sink.agents.first).process, SIGSTOP)
        var late = OutgoingRequest.post(to: receiver)
        late.timeouts.total = .milliseconds(300)
        let reports = try sink.deliver([late, .post(to: receiver)])
        #expect(reports.map(\.result.answer?.status) == [200, 200])
    }

    @Test func `what makes its agent hang is late again when it is alone, and the only one that pays`() throws {
        let started = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: started) }
        let receiver = try LoopbackReceiver(
            script: .deciding { request, _ in
                guard request.path == "/hang" else { return Answer.status(200).delayed(.milliseconds(100)) }
                // The agent that was started last.
                let processes = (try? String(contentsOf: started, encoding: .utf8)) ?? ""
                if let process = processes.split(separator: "\n").last.flatMap({ pid_t($0) }) {
                    kill(process, SIGSTOP)
                }
                return .silence
            })
        let sink = AgentSink(after: "echo $$ >>'\(started.path)'", concurrency: 3, grace: .milliseconds(300))
        defer { sink.close() }
        let requests = ["/hang", "/", "/"].map { path in
            var request = OutgoingRequest.post(to: receiver, path: path)
            request.timeouts.total = .seconds(1)
            return request
        }
        let reports = try sink.deliver(requests)
        #expect(reports[0].result.failure == .deadline)
        #expect(reports[1...].map(\.result.answer?.status) == [200, 200])
    }

    @Test func `a request larger than a frame is refused by itself`() throws {
        let sink = AgentSink()
        defer { sink.close() }
        var request = request()
        request.body = [UInt8](repeating: 0, count: Frame.longestPayload)
        let result = try sink.deliver(request).result
        #expect(result.detail == "the request is larger than a delivery agent takes")
    }

    @Test func `a wake-up ends the wait`() throws {
        let receiver = try LoopbackReceiver(script: .always(.silence))
        let sink = AgentSink()
        defer { sink.close() }
        try sink.submit(.post(to: receiver), ticket: 0)
        let pipe = Pipe()
        try pipe.fileHandleForWriting.write(contentsOf: [1])
        let start = ContinuousClock.now
        let reports = try sink.reports(
            until: start + .seconds(10), wakeup: pipe.fileHandleForReading.fileDescriptor)
        #expect(reports.isEmpty)
        #expect(start.duration(to: .now) < .seconds(2))
    }

    @Test func `a wait without attempts ends at its deadline`() throws {
        let sink = AgentSink()
        let start = ContinuousClock.now
        #expect(try sink.reports(until: start + .milliseconds(50)).isEmpty)
        #expect(start.duration(to: .now) >= .milliseconds(50))
    }

    @Test(arguments: Transport.allCases)
    func `another agent comes when URLSession has had much to do, and never for libcurl`(
        _ transport: Transport
    ) throws {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink(concurrency: 4, agents: 2)
        defer { sink.close() }
        for _ in 1..<AgentSink.attemptsForAnother / 4 {
            _ = try sink.deliver((0..<4).map { _ in .post(to: receiver, by: transport) })
        }
        #expect(sink.agents.count == 1)
        for _ in 0..<2 { _ = try sink.deliver((0..<4).map { _ in .post(to: receiver, by: transport) }) }
        #expect(sink.agents.count == (transport == .urlsession ? 2 : 1))
        #expect(receiver.receivedCount == AgentSink.attemptsForAnother + 4)
    }

    @Test func `a closed sink has left no process, no zombie and no descriptor, and stays closed`() throws {
        let receiver = try LoopbackReceiver(
            script: .deciding { request, _ in
                request.path == "/deadly" ? deadlyAnswer : Answer.status(200).delayed(.milliseconds(50))
            })
        let sink = AgentSink(concurrency: 4, agents: 2)
        var processes: Set<pid_t> = []
        var sockets: Set<ino_t> = []
        func note() {
            for agent in sink.agents where processes.insert(agent.process).inserted {
                var status = stat()
                #expect(fstat(agent.socket, &status) == 0)
                sockets.insert(status.st_ino)
            }
        }
        for (ticket, path) in ["/", "/deadly", "/", "/"].enumerated() {
            try sink.submit(.post(to: receiver, path: path), ticket: ticket)
        }
        var reported = 0
        let deadline = ContinuousClock.now + .seconds(10)
        while reported < 4, ContinuousClock.now < deadline {
            note()
            reported += try sink.reports(until: min(deadline, .now + .milliseconds(2))).count
        }
        note()
        #expect(reported == 4)
        #expect(processes.count >= 3)
        sink.close()
        sink.close()
        #expect(throws: SinkError.self) { try sink.submit(.post(to: receiver), ticket: 9) }
        for process in processes { #expect(kill(process, 0) == -1 && errno == ESRCH) }
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
        for socket in sockets { #expect(!open.contains("socket:[\(socket)]")) }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can look into an agent"))
    func `an agent inherits its socket, the null device, what transports read of the environment, and nothing else`()
        throws
    {
        let inherited = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        let lock = Glibc.open(inherited.path, O_CREAT | O_RDWR, 0o600)  // without O_CLOEXEC, as a careless caller
        defer {
            close(lock)
            unlink(inherited.path)
        }
        let receiver = try LoopbackReceiver(script: .always(.silence))
        let sink = AgentSink()
        defer { sink.close() }
        try sink.submit(.post(to: receiver), ticket: 0)
        _ = try sink.reports(until: .now + .milliseconds(200))
        let process = try #require(sink.agents.first?.process)
        let directory = "/proc/\(process)/fd"
        let open = try FileManager.default.contentsOfDirectory(atPath: directory).compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: directory + "/" + $0)
        }
        #expect(!open.contains(inherited.path))
        #expect(open.filter { $0 == "/dev/null" }.count == 2)
        let environment = try String(contentsOfFile: "/proc/\(process)/environ", encoding: .utf8).split(separator: "\0")
        #expect(environment.contains("SWIFT_BACKTRACE=enable=no"))
        #expect(environment.contains { $0.hasPrefix("PATH=") })
        #expect(ProcessInfo.processInfo.environment["HOME"] != nil && !environment.contains { $0.hasPrefix("HOME=") })
    }

    @Test func `an agent ends when its run does, even one that is killed`() throws {
        let receiver = try LoopbackReceiver(script: .always(.silence))
        let sink = AgentSink()
        try sink.submit(.post(to: receiver), ticket: 0)
        _ = try sink.reports(until: .now + .milliseconds(100))
        let agent = try #require(sink.agents.first)
        // A run that dies closes its end without a word.
        agent.dismiss()
        let start = ContinuousClock.now
        #expect(try sink.reports(until: start + .seconds(5)).first?.report.result.detail == "exited with status 0")
        sink.close()
    }

    @Test(arguments: [("true", 1_073_741_824), ("ulimit -d 250000", 256_000_000)])
    func `an agent has a bound on its memory, the lower one where there are two`(shell: String, bytes: Int) throws {
        let sink = AgentSink(after: shell)
        defer { sink.close() }
        // It answers when it has begun.
        #expect(try sink.defect(of: .libcurl) == nil)
        let process = try #require(sink.agents.first?.process)
        let limits = try String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8)
        #expect(limits.contains(try Regex("Max data size +\(bytes) +\(bytes)")), "\(limits)")
    }
}
