import CSystem
import Foundation
import LoopbackReceiver
import Testing

@testable import Delivery
@testable import Policy

/// The parent's side: deadlines, broken agents, and nothing left behind.
@Suite(.waiting) final class AgentSinkTests {
    deinit {
        unlink(started.path)
    }

    /// A sink whose agents are this shell script, with the socket as standard input.
    private func sink(playing lines: String, grace: Duration = .milliseconds(300)) -> AgentSink {
        AgentSink(program: { _ in .shell(lines) }, concurrency: 5, grace: grace)
    }

    private func request(total: Duration = .milliseconds(300)) -> OutgoingRequest {
        OutgoingRequest(
            method: "POST", url: "http://127.0.0.1:1/", body: [1],
            timeouts: Timeouts(connect: .seconds(1), request: .seconds(1), total: total))
    }

    /// Shell commands that write to descriptor 1 as an agent does when the attempts 0 to `count` begin.
    private static func begins(_ count: Int) -> String {
        (0..<count).map { #"printf '\x0\#($0)\x00\x00\x00\x00\x00\x00\x00'"# }.joined(separator: "; ")
    }

    private static let ready =
        "printf '"
        + (Frame.ready().bytes ?? []).map { byte in
            let digits = String(byte, radix: 16)
            return #"\x"# + (digits.utf8.count < 2 ? "0" : "") + digits
        }.joined() + "' >&0"

    @Test func `an agent that reports nothing is killed after the grace`() throws {
        let sink = sink(playing: "\(Self.ready); \(Self.begins(1)); while read -r -N 1; do :; done; sleep 60")
        defer { sink.close() }
        let report = try sink.deliver(request())
        #expect(report.result.failure == .deadline)
        #expect(!report.isSuspect)
    }

    @Test(arguments: [
        (#"printf 'garbage that is no frame' >&0; sleep 60"#, "frame"),
        (#"printf '\x00\x00\x00\x01\x09' >&0; sleep 60"#, "unknown kind 9"),
        (#"printf '\x00\x00\x00\x09\x03\x00\x00\x00\x00\x00\x00\x00\x00' >&0; sleep 60"#, "not its own"),
        ("exit 9", "exited with status 9"),
        ("kill -SEGV $$", "killed by signal 11"),
    ])
    func `a broken or dead agent fails its attempt with the reason`(madness: String, words: String) throws {
        let sink = sink(playing: "\(Self.ready); read -r -t 5 -N 20; \(Self.begins(1)); \(madness)")
        defer { sink.close() }
        let result = try sink.deliver(request(total: .seconds(5))).result
        #expect(result.failure == .agentDied)
        #expect(result.detail?.contains(words) == true, "\(result)")
    }

    @Test func `an agent that exits before it is ready is an error of the sink with the exit status`() throws {
        let sink = sink(playing: "exit 3")
        defer { sink.close() }
        let error = #expect(throws: SinkError.self) { try sink.deliver(request(total: .seconds(5))) }
        #expect(error?.description.contains("exited with status 3") == true)
    }

    @Test func `an agent of another release is an error of the sink with the reason`() throws {
        let sink = sink(playing: #"printf '\x00\x00\x00\x09\x04\x00\x00\x00\x00\x00\x00\x00\x63' >&0; sleep 60"#)
        defer { sink.close() }
        let error = #expect(throws: SinkError.self) { try sink.deliver(request(total: .seconds(5))) }
        #expect(error?.description.contains("its version differs") == true)
    }

    @Test func `a missing executable is an error of the sink at once`() {
        let sink = AgentSink(
            program: { _ in AgentProgram(executable: "/nowhere/drainq", arguments: []) }, concurrency: 1)
        let error = #expect(throws: SinkError.self) { try sink.submit(request(), ticket: 0) }
        #expect(error?.description == "cannot start a delivery agent: /nowhere/drainq: No such file or directory")
    }

    @Test func `flush sends submitted requests without a wait for reports`() throws {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink(concurrency: 5)
        defer { sink.close() }
        for ticket in 0..<3 { try sink.submit(.post(to: receiver), ticket: ticket) }
        sink.flush()
        let end = ContinuousClock.now + .seconds(60)
        while receiver.receivedCount < 3, ContinuousClock.now < end { usleep(1000) }
        #expect(receiver.receivedCount == 3)
    }

    @Test func `the parent enforces the deadline`() throws {
        let receiver = try LoopbackReceiver(script: .always(.silence))
        let sink = AgentSink()
        defer { sink.close() }
        var request = OutgoingRequest.post(to: receiver)
        request.timeouts.total = .milliseconds(300)
        #expect(try sink.deliver(request).result.failure == .deadline)
    }

    @Test func `attempts not begun when their agent dies or hangs are reported as unbegun`() throws {
        let receiver = try LoopbackReceiver()
        for end in ["kill -KILL $$", "exec sleep 60"] {
            var started = 0
            let sink = AgentSink(
                program: { transport in
                    started += 1
                    return started == 1
                        ? .shell("\(Self.ready); read -r -N 20; \(Self.begins(1)); \(end)") : program(for: transport)
                }, concurrency: 3, grace: .milliseconds(200))
            defer { sink.close() }
            let reports = try sink.deliver(
                (0..<3).map { _ in
                    var request = OutgoingRequest.post(to: receiver)
                    request.timeouts.total = .seconds(3)
                    return request
                })
            #expect([.agentDied, .deadline].contains(reports[0].result.failure))
            #expect(reports.map(\.isUnbegun) == [false, true, true])
            #expect(reports.allSatisfy { !$0.isSuspect })
            #expect(receiver.takeRequests().isEmpty)
            #expect(try sink.deliver(.post(to: receiver)).result.answer?.status == 204)
            #expect(receiver.takeRequests().count == 1)
        }
    }

    @Test func `an attempt that three agents in a row do not begin counts as begun`() throws {
        let sink = sink(playing: "\(Self.ready); read -r -N 20; exit 9")
        defer { sink.close() }
        let reports = try (0..<4).map { _ in try sink.deliver(request(total: .seconds(5))) }
        #expect(reports.map(\.isUnbegun) == [true, true, false, true])
        #expect(reports.allSatisfy { $0.result.failure == .agentDied && !$0.isSuspect })
    }

    @Test func `attempts begun together by a dead agent are suspects, and are not sent again`() throws {
        let receiver = try LoopbackReceiver(script: killing { $0.path == "/deadly" })
        let sink = AgentSink(after: self.noteStart, concurrency: 3)
        defer { sink.close() }
        var requests = ["/", "/", "/deadly"].map { OutgoingRequest.post(to: receiver, path: $0) }
        // The receiver answers nothing else before the agent is dead.
        let reports = try sink.deliver(requests)
        #expect(reports.allSatisfy { $0.result.failure == .agentDied && $0.isSuspect })
        #expect(Set(receiver.requests().map(\.path)).count <= 2 && receiver.receivedCount <= 3)
        requests = [.post(to: receiver, path: "/deadly")]
        let alone = try sink.deliver(requests)
        #expect(alone[0].result.failure == .agentDied)
        #expect(!alone[0].isSuspect)
    }

    @Test func `two destinations use two agents, and the death of an agent does not affect the second destination`()
        throws
    {
        let receiver = try LoopbackReceiver(script: killing { $0.path == "/deadly" })
        let other = try LoopbackReceiver(script: .always(Answer.status(200).delayed(.milliseconds(300))))
        let sink = AgentSink(after: self.noteStart, concurrency: 4)
        defer { sink.close() }
        let requests = [
            OutgoingRequest.post(to: other, destination: "good"), .post(to: other, destination: "good"),
            .post(to: receiver, path: "/deadly", destination: "bad"),
        ]
        let reports = try sink.deliver(requests)
        #expect(reports[..<2].map(\.result.answer?.status) == [200, 200])
        #expect(reports[2].result.failure == .agentDied && !reports[2].isSuspect)
        #expect(other.receivedCount == 2)
        #expect(sink.agents.count == 1)
    }

    @Test func `with too few agents a destination that killed an agent waits for an idle agent`() throws {
        let receiver = try LoopbackReceiver(script: killing { $0.path == "/deadly" })
        let other = try LoopbackReceiver(script: .always(Answer.status(200).delayed(.milliseconds(100))))
        let sink = AgentSink(after: self.noteStart, concurrency: 4, agents: 1)
        defer { sink.close() }
        let deadly = OutgoingRequest.post(to: receiver, path: "/deadly", destination: "bad")
        #expect(try sink.deliver(deadly).result.failure == .agentDied)
        let reports = try sink.deliver(
            [.post(to: other, destination: "a"), deadly, .post(to: other, destination: "b"), deadly])
        #expect([0, 2].map { reports[$0].result.answer?.status } == [200, 200])
        #expect([1, 3].allSatisfy { reports[$0].result.failure == .agentDied })
        #expect(other.receivedCount == 2)
    }

    @Test func `an idle agent serves the next destination`() throws {
        let receiver = try LoopbackReceiver()
        let sink = AgentSink()
        defer { sink.close() }
        for destination in ["a", "b", "c"] {
            _ = try sink.deliver(.post(to: receiver, destination: destination))
        }
        #expect(sink.agents.count == 1)
    }

    /// The file in which the agents of a test note their start.
    private let started = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    private var starts = 0
    /// A shell line with which the next agent notes its number and process id.
    private var noteStart: String {
        starts += 1
        return "echo \(starts) $$ >>'\(started.path)'"
    }

    /// Kills the last agent to start when a deadly request arrives. Answers no request.
    private func killing(_ isDeadly: @escaping @Sendable (ReceivedRequest) -> Bool) -> Script {
        let started = started.path
        return .deciding { request, _ in
            guard isDeadly(request) else { return .silence }
            let text = (try? String(contentsOfFile: started, encoding: .utf8)) ?? ""
            let agents = text.split(separator: "\n").map { $0.split(separator: " ").compactMap { pid_t($0) } }
            // Agents started at the same time write their lines in any order.
            if let last = agents.max(by: { $0[0] < $1[0] }) { kill(last[1], SIGKILL) }
            return .silence
        }
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
            until: start + .seconds(10), wakeups: [pipe.fileHandleForReading.fileDescriptor])
        #expect(reports.isEmpty)
        #expect(start.duration(to: .now) < .seconds(2))
    }

    @Test func `a wait without attempts ends at its deadline`() throws {
        let sink = AgentSink()
        let start = ContinuousClock.now
        #expect(try sink.reports(until: start + .milliseconds(50)).isEmpty)
        #expect(start.duration(to: .now) >= .milliseconds(50))
    }

    @Test func `a closed sink leaves no process, no zombie and no descriptor, and stays closed`() throws {
        let deadly = try LoopbackReceiver(script: killing { _ in true })
        let receiver = try LoopbackReceiver(script: .always(Answer.status(200).delayed(.milliseconds(50))))
        let sink = AgentSink(after: self.noteStart, concurrency: 4)
        var processes: Set<pid_t> = []
        var sockets: Set<ino_t> = []
        func note() {
            for agent in sink.agents where processes.insert(agent.process).inserted {
                var status = stat()
                #expect(fstat(agent.socket, &status) == 0)
                sockets.insert(status.st_ino)
            }
        }
        for ticket in 0..<3 { try sink.submit(.post(to: receiver, destination: "\(ticket)"), ticket: ticket) }
        try sink.submit(.post(to: deadly, destination: "deadly"), ticket: 3)
        var reported = 0
        let deadline = ContinuousClock.now + .seconds(60)
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
    func
        `an agent inherits its socket, a pipe, the null device and the environment of transports, and nothing else`()
        throws
    {
        let inherited = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        let lock = CSystem.open(inherited.path, O_CREAT | O_RDWR, 0o600)  // without O_CLOEXEC, as a careless caller
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
        #expect(open.filter { $0 == "/dev/null" }.count == 1)
        #expect(open.filter { $0.hasPrefix("pipe:") }.count == 1)
        let standard = try (0...2).map {
            try FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\($0)")
        }
        #expect(standard[0].hasPrefix("socket:") && standard[1].hasPrefix("pipe:") && standard[2] == "/dev/null")
        let environment = try String(contentsOfFile: "/proc/\(process)/environ", encoding: .utf8).split(separator: "\0")
        #expect(environment.contains("SWIFT_BACKTRACE=enable=no"))
        #expect(environment.contains { $0.hasPrefix("PATH=") })
        #expect(ProcessInfo.processInfo.environment["HOME"] != nil && !environment.contains { $0.hasPrefix("HOME=") })
    }

    @Test func `an agent exits after its run has died`() throws {
        let receiver = try LoopbackReceiver(script: .always(.silence))
        let sink = AgentSink()
        try sink.submit(.post(to: receiver), ticket: 0)
        _ = try sink.reports(until: .now + .milliseconds(100))
        let agent = try #require(sink.agents.first)
        // A killed run closes its end of the socket without a frame.
        agent.dismiss()
        let start = ContinuousClock.now
        #expect(try sink.reports(until: start + .seconds(5)).first?.report.result.detail == "exited with status 0")
        sink.close()
    }

    @Test(arguments: [("true", 1_073_741_824), ("ulimit -d 250000", 256_000_000)])
    func `an agent's memory has a bound, and a lower inherited limit takes precedence`(shell: String, bytes: Int) throws
    {
        let sink = AgentSink(after: shell)
        defer { sink.close() }
        // The agent answers once it has started.
        #expect(try sink.defect(of: .libcurl) == nil)
        let process = try #require(sink.agents.first?.process)
        let limits = try String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8)
        #expect(limits.contains(try Regex("Max data size +\(bytes) +\(bytes)")), "\(limits)")
    }
}
