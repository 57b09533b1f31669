import CSystem
import Testing

@testable import Delivery
@testable import Policy

@Suite(.waiting) struct StandstillTests {
    @Test(arguments: [
        (Duration.seconds(4), Duration.seconds(4), Duration.zero), (.seconds(4), .milliseconds(4_400), .zero),
        (.seconds(4), .seconds(10), .seconds(10)), (.zero, .milliseconds(20), .zero),
        (.seconds(-3), .seconds(2), .seconds(2)),
    ])
    func `deadlines move by a wait that ended much later than planned`(
        planned: Duration, actual: Duration, moved: Duration
    ) {
        #expect(Standstill.duration(of: actual, planned: planned) == moved)
    }

    /// A sink whose agent has sent a request, and then stands still.
    private final class Still {
        let sink = AgentSink(program: program(for:), concurrency: 1, grace: .seconds(60))
        let server: PlayedServer
        let connection: PlayedServer.Connection
        private let agent: Agent

        init(_ transport: Transport, _ timeouts: Timeouts) throws {
            server = try PlayedServer()
            try sink.submit(
                OutgoingRequest(
                    method: "POST", url: server.url, body: [1], timeouts: timeouts, transport: transport), ticket: 1)
            connection = try server.accept()
            _ = try connection.readRequest()
            agent = try #require(sink.agents.first)
            kill(agent.process, SIGSTOP)
        }

        deinit { sink.close() }

        func answer() { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }

        func goOn() { kill(agent.process, SIGCONT) }

        func expectAnswer() throws {
            let report = try #require(try sink.reports(until: .now + .seconds(60)).first).report
            #expect(report.result.answer?.status == 200, "\(report)")
        }
    }

    @Test(arguments: Transport.allCases)
    func `an agent that somebody has stopped is continued at the deadline, and reports the answer that has come`(
        transport: Transport
    ) throws {
        let still = try Still(transport, Timeouts(connect: .seconds(60), request: .seconds(60), total: .seconds(4)))
        still.answer()
        try still.expectAnswer()
    }

    @Test(arguments: Transport.allCases)
    func `time in which an agent stood still does not count as silence of a server`(transport: Transport) throws {
        let still = try Still(transport, Timeouts(connect: .seconds(4), request: .seconds(4), total: .seconds(120)))
        #expect(try still.sink.reports(until: .now + .seconds(10)).isEmpty)
        still.goOn()
        // Here an agent that counts the time reports a time-out.
        #expect(try still.sink.reports(until: .now + .seconds(1)).isEmpty)
        still.answer()
        try still.expectAnswer()
    }

    @Test(arguments: Transport.allCases)
    func `time in which an agent stood still does not count as time to connect`(transport: Transport) throws {
        let server = try FullSocket()
        let sink = AgentSink(program: program(for:), concurrency: 1)
        defer { sink.close() }
        #expect(try sink.defect(of: transport) == nil)
        try sink.submit(
            OutgoingRequest(
                method: "POST", url: "http://127.0.0.1:\(server.port)/", body: [1],
                timeouts: Timeouts(connect: .seconds(4), request: .seconds(4), total: .seconds(120)),
                transport: transport), ticket: 1)
        #expect(try sink.reports(until: .now + .seconds(1)).isEmpty)
        let agent = try #require(sink.agents.first)
        kill(agent.process, SIGSTOP)
        #expect(try sink.reports(until: .now + .seconds(10)).isEmpty)
        kill(agent.process, SIGCONT)
        let goesOn = ContinuousClock.now
        let report = try #require(try sink.reports(until: .now + .seconds(60)).first).report
        #expect(report.result.failure == .connectTimeout, "\(report)")
        // An agent that counts the time reports at once.
        #expect(goesOn.duration(to: .now) > .seconds(2))
    }
}
