import Delivery
import Foundation
import LoopbackReceiver
import Policy
import Testing

/// Redirects within an origin, by both transports.
@Suite(.waiting) struct FollowingTests {
    /// Answers `/0` with a redirect to `/1`, and so on, and the path `end` with 200.
    private func chain(to end: Int, status: Int = 307) throws -> LoopbackReceiver {
        try LoopbackReceiver(
            script: .deciding { request, _ in
                let place = Int(request.path.dropFirst()) ?? 0
                return place == end
                    ? .status(200, body: "here") : .status(status, headers: [HeaderLine("Location", "/\(place + 1)")])
            })
    }

    private func deliver(
        to receiver: LoopbackReceiver, by transport: Transport, _ change: (inout OutgoingRequest) -> Void = { _ in }
    ) throws -> AttemptReport.Result {
        let sink = AgentSink()
        defer { sink.close() }
        var request = OutgoingRequest.post(to: receiver, by: transport, path: "/0")
        request.redirects = .sameOrigin
        request.headers.append(HeaderField(name: "Authorization", value: "Bearer x"))
        change(&request)
        return try sink.deliver(request).result
    }

    @Test(arguments: [301, 302, 307, 308], Transport.allCases)
    func `a redirect within the origin keeps method, headers and body`(status: Int, transport: Transport) throws {
        let receiver = try chain(to: 1, status: status)
        #expect(try deliver(to: receiver, by: transport).answer?.body == Array("here".utf8))
        let received = receiver.requests()
        #expect(received.map(\.target) == ["/0", "/1"])
        for request in received {
            #expect(request.method == "POST")
            #expect(request.text == #"{"n":1}"#)
            #expect(request.header("authorization") == "Bearer x")
        }
    }

    @Test(arguments: Transport.allCases)
    func `a 303 is an answer`(transport: Transport) throws {
        #expect(try deliver(to: try chain(to: 1, status: 303), by: transport).answer?.status == 303)
    }

    @Test(arguments: Transport.allCases)
    func `five redirects are followed, and the sixth is the answer`(transport: Transport) throws {
        #expect(try deliver(to: try chain(to: 5), by: transport).answer?.status == 200)
        let receiver = try chain(to: 6)
        let answer = try #require(try deliver(to: receiver, by: transport).answer)
        #expect(answer.status == 307)
        #expect(answer.header("location") == "/6")
        #expect(receiver.receivedCount == 6)
    }

    @Test(arguments: Transport.allCases)
    func `a redirect to another origin is not followed`(transport: Transport) throws {
        let other = try LoopbackReceiver()
        for place in [other.url, "//127.0.0.1:\(other.port)/", "https://127.0.0.1:\(other.port)/"] {
            let receiver = try LoopbackReceiver(
                script: .always(.status(307, headers: [HeaderLine("Location", place)])))
            #expect(try deliver(to: receiver, by: transport).answer?.status == 307)
            #expect(receiver.receivedCount == 1)
        }
        #expect(other.connectionCount == 0)
    }

    @Test(arguments: Transport.allCases)
    func `all hops share the deadline`(transport: Transport) throws {
        let receiver = try LoopbackReceiver(
            script: .always(Answer.status(307, headers: ["Location: /"]).delayed(.milliseconds(150))))
        let start = ContinuousClock.now
        let result = try deliver(to: receiver, by: transport) { $0.timeouts.total = .milliseconds(400) }
        #expect(result.failure == .deadline, "\(result)")
        #expect(start.duration(to: .now) < .seconds(2))
    }

    @Test func `an attempt cancelled between two hops ends, and its agent lives`() throws {
        let receiver = try LoopbackReceiver(script: .always(.status(307, headers: ["Location: /"])))
        let sink = AgentSink(concurrency: 20)
        defer { sink.close() }
        let requests = (0..<40).map { number in
            var request = OutgoingRequest.post(to: receiver, by: .libcurl)
            request.redirects = .sameOrigin
            request.timeouts.total = .microseconds(100 + number * 100)
            return request
        }
        for report in try sink.deliver(requests) {
            #expect(report.result.answer?.status == 307 || report.result.failure == .deadline, "\(report.result)")
        }
    }
}
