import Delivery
import Foundation
import LoopbackReceiver
import Policy
import Testing

/// The parent's side: deadlines, broken agents, and nothing left behind.
@Suite(.serialized) struct AgentSinkTests {
    /// An agent that is this shell script instead, with the socket as its standard input.
    private func sink(playing script: String, grace: Duration = .milliseconds(300)) throws -> AgentSink {
        let file = FileManager.default.temporaryDirectory.appending(path: "agent-\(UUID().uuidString)")
        try "#!/bin/bash\n\(script)\n".write(to: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: file.path)
        return AgentSink(executable: file.path, concurrency: 5, grace: grace)
    }

    private func request(total: Duration = .milliseconds(300)) -> OutgoingRequest {
        OutgoingRequest(
            method: "POST", url: "http://127.0.0.1:1/", body: [1],
            timeouts: Timeouts(connect: .seconds(1), request: .seconds(1), total: total))
    }

    private static let ready = #"printf '\x00\x00\x00\x01\x04' >&0"#

    @Test func `an agent that reports nothing is killed after the grace`() throws {
        let sink = try sink(playing: "\(Self.ready); while read -r -N 1; do :; done; sleep 60")
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
        let sink = try sink(playing: "\(Self.ready); read -r -t 5 -N 20; \(madness)")
        defer { sink.close() }
        let result = try sink.deliver(request(total: .seconds(5))).result
        #expect(result.failure == .agentDied)
        #expect(result.detail?.contains(words) == true, "\(result)")
    }

    @Test func `an agent that dies before it runs is an error of the sink, soon`() throws {
        let sink = try sink(playing: "exit 3")
        defer { sink.close() }
        let error = #expect(throws: SinkError.self) { try sink.deliver(request(total: .seconds(5))) }
        #expect(error?.description.contains("exited with status 3") == true)
    }

    @Test func `an executable that is not there is an error of the sink at once`() {
        let sink = AgentSink(executable: "/nowhere/drainq", concurrency: 1)
        let error = #expect(throws: SinkError.self) { try sink.submit(request(), ticket: 0) }
        #expect(error?.description == "cannot start a delivery agent: No such file or directory")
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

    @Test func `a closed sink has no agents, no zombies and no descriptors, and stays closed`() throws {
        let receiver = try LoopbackReceiver(
            script: .deciding { request, _ in request.path == "/deadly" ? deadlyAnswer : .status(200) })
        func descriptors() throws -> Int {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter {
                (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)"))?.hasPrefix("socket:") ?? false
            }.count
        }
        receiver.stop()
        let before = try descriptors()
        for _ in 0..<3 {
            let living = try LoopbackReceiver(
                script: .deciding { request, _ in request.path == "/deadly" ? deadlyAnswer : .status(200) })
            let sink = AgentSink(concurrency: 3, agents: 2)
            _ = try sink.deliver([.post(to: living), .post(to: living, path: "/deadly"), .post(to: living)])
            sink.close()
            sink.close()
            #expect(throws: SinkError.self) { try sink.submit(.post(to: living), ticket: 9) }
            living.stop()
        }
        // Other suites run beside this one; a leak of three sinks would show all the same.
        #expect(try descriptors() <= before + 2)
        #expect(try children().isEmpty)
    }

    private func children() throws -> [String] {
        let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
        return tasks.flatMap { task in
            ((try? String(contentsOfFile: "/proc/self/task/\(task)/children", encoding: .utf8)) ?? "")
                .split(separator: " ").map(String.init)
        }
    }
}
