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

    /// A sink with a request at the server, whose agent then stands still.
    private final class Still {
        let sink = AgentSink(program: program(for:), concurrency: 1, grace: .seconds(10))
        let server: PlayedServer
        let connection: PlayedServer.Connection
        let agent: Agent

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

        func answer() { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }

        deinit { sink.close() }
    }

    @Test(arguments: Transport.allCases)
    func `an agent that was stopped until the deadline reports the answer that has come`(transport: Transport) throws {
        let still = try Still(transport, Timeouts(connect: .seconds(9), request: .seconds(9), total: .seconds(2)))
        still.answer()
        let report = try #require(try still.sink.reports(until: .now + .seconds(10)).first).report
        #expect(report.result.answer?.status == 200, "\(report)")
    }

    @Test(arguments: Transport.allCases)
    func `time in which an agent stood still does not count as silence of a server`(transport: Transport) throws {
        let still = try Still(transport, Timeouts(connect: .seconds(4), request: .seconds(4), total: .seconds(60)))
        #expect(try still.sink.reports(until: .now + .seconds(5)).isEmpty)
        still.agent.wake()
        // Here an agent that counts the time reports a time-out.
        #expect(try still.sink.reports(until: .now + .seconds(1)).isEmpty)
        still.answer()
        let report = try #require(try still.sink.reports(until: .now + .seconds(10)).first).report
        #expect(report.result.answer?.status == 200, "\(report)")
    }
}
