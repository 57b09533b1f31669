import Delivery
import Testing

@testable import Policy

/// The conformance of the fake sink to `Sink`. ConformanceTests tests the real sink.
struct FakeSinkTests {
    private let request = OutgoingRequest(method: "POST", url: "http://one/")

    @Test func `every ticket is reported once, and a closed sink has no reports`() throws {
        let sink = FakeSink(concurrency: 3) { _ in .answer(.init(status: 200)) }
        for ticket in [7, 3, 9] { try sink.submit(request, ticket: ticket) }
        var reported: [Int] = []
        while reported.count < 3 { reported += try sink.reports(until: .now, wakeups: []).map(\.ticket) }
        #expect(reported.sorted() == [3, 7, 9])
        #expect(try sink.reports(until: .now, wakeups: []).isEmpty)
        try sink.submit(request, ticket: 1)
        sink.close()
        sink.close()
        #expect(throws: SinkError.self) { try sink.reports(until: .now, wakeups: []) }
    }

    @Test func `a status is the answer, whatever it is`() throws {
        var status = 200
        let sink = FakeSink(concurrency: 1) { _ in .answer(.init(status: status)) }
        for expected in [200, 302, 404, 503] {
            status = expected
            try sink.submit(request, ticket: expected)
            let report = try #require(try sink.reports(until: .now, wakeups: []).first)
            #expect(report.ticket == expected)
            guard case .answer(let answer) = report.report.result else { throw SinkError("no answer") }
            #expect(answer.status == expected)
        }
    }
}
