import Foundation
import HostileReceiver
import LoopbackReceiver
import Testing

@testable import Delivery
@testable import Policy

/// The built `drainq`, beside the tests.
let drainq = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(
    path: "drainq"
).path

/// Returns the built agent for the transport, beside the tests.
func program(for transport: Transport) -> AgentProgram {
    switch transport {
    case .libcurl: AgentProgram(executable: drainq, arguments: ["drainq", "agent"])
    case .urlsession: AgentProgram(executable: "\(drainq)-urlsession", arguments: ["drainq-urlsession"])
    }
}

extension AgentProgram {
    /// A shell that executes the lines. With a socket as its standard input bash takes itself for a remote shell, and
    /// would read ~/.bashrc first.
    static func shell(_ lines: String) -> AgentProgram {
        AgentProgram(executable: "/bin/bash", arguments: ["bash", "--norc", "-c", lines])
    }
}

extension AgentSink {
    /// A sink with agents of the real binary.
    convenience init(concurrency: Int = 5, agents: Int = 8) {
        self.init(program: program(for:), concurrency: concurrency, agents: agents)
    }

    /// A sink with the real agents. A shell executes these lines, made anew for each agent, and then becomes the agent.
    convenience init(
        after lines: @autoclosure @escaping () -> String, concurrency: Int = 1, agents: Int = 8,
        grace: Duration = .seconds(1)
    ) {
        self.init(
            program: { transport in
                let real = program(for: transport)
                let words = ([real.executable] + real.arguments.dropFirst()).map { "'\($0)'" }.joined(separator: " ")
                return .shell("\(lines())\nexec \(words)")
            }, concurrency: concurrency, agents: agents, grace: grace)
    }

    /// Makes the attempts, all at once, and returns their reports in the same order.
    func deliver(_ requests: [OutgoingRequest], within limit: Duration = .seconds(20)) throws -> [AttemptReport] {
        for (ticket, request) in requests.enumerated() { try submit(request, ticket: ticket) }
        let deadline = ContinuousClock.now + limit
        var reports: [Int: AttemptReport] = [:]
        while reports.count < requests.count, ContinuousClock.now < deadline {
            for (ticket, report) in try self.reports(until: deadline) {
                #expect(reports.updateValue(report, forKey: ticket) == nil, "ticket \(ticket) was reported twice")
            }
        }
        return try requests.indices.map { try #require(reports[$0], "no report of ticket \($0)") }
    }

    func deliver(_ request: OutgoingRequest) throws -> AttemptReport {
        try deliver([request])[0]
    }
}

/// An executable file with these lines for bash, among the things built.
func script(_ lines: String) throws -> String {
    try executable("#!/bin/bash\n\(lines)\n")
}

/// Writes an executable file with the text beside the built programs, and returns its path.
///
/// Another program writes the file. A child that a concurrent test starts has this process's descriptors until it
/// executes its program. While a process has a file open for writing, execve(2) of the file fails with ETXTBSY.
func executable(_ text: String) throws -> String {
    let directory = URL(filePath: drainq).deletingLastPathComponent().appending(path: "test-agents")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let file = directory.appending(path: UUID().uuidString)
    let draft = file.appendingPathExtension("draft")
    try text.write(to: draft, atomically: false, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: draft) }
    let copying = ExternalCommand(
        ["install", "-m", "700", draft.path, file.path], directory: "/", environment: ProgramEnvironment())
    try #require(copying.run(within: .seconds(120)).failure == nil)
    return file.path
}

/// Returns the result of an attempt against a receiver that plays `script`.
func attempt(
    _ script: Script, by transport: Transport, _ change: (inout OutgoingRequest) -> Void = { _ in }
) throws -> AttemptReport.Result {
    let receiver = try LoopbackReceiver(script: script)
    var request = OutgoingRequest.post(to: receiver, by: transport)
    change(&request)
    let sink = AgentSink()
    defer { sink.close() }
    return try sink.deliver(request).result
}

extension OutgoingRequest {
    /// A small POST whose time-outs end a test soon.
    static func post(
        to receiver: LoopbackReceiver, by transport: Transport = .urlsession, path: String = "/",
        body: String = #"{"n":1}"#, destination: String = ""
    ) -> OutgoingRequest {
        OutgoingRequest(
            method: "POST", url: receiver.url + path,
            headers: [HeaderField(name: "Content-Type", value: "application/json")],
            body: Array(body.utf8),
            timeouts: Timeouts(connect: .seconds(5), request: .seconds(5), total: .seconds(10)),
            transport: transport, destination: destination)
    }
}

extension AttemptReport.Result {
    var answer: AttemptReport.Answer? {
        if case .answer(let answer) = self { answer } else { nil }
    }

    var failure: NetworkError? {
        if case .failure(let error, _) = self { error } else { nil }
    }

    var detail: String? {
        if case .failure(_, let detail) = self { detail } else { nil }
    }
}

/// A chunked answer with a trailer. Foundation's own parser of answers traps on a trailer, even a correct one.
let deadlyAnswer = Answer.status(200, body: "ok").chunked(trailers: ["X-Sum: 1"])
