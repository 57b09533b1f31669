package import Policy

extension AgentSink {
    /// Makes one request by an agent of its own and waits for the report, at most `timeouts.total` and the grace.
    package static func report(of request: OutgoingRequest) -> AttemptReport {
        let sink = AgentSink(concurrency: 1, agents: 1)
        defer { sink.close() }
        let start = ContinuousClock.now
        do throws(SinkError) {
            try sink.submit(request, ticket: 1)
            let end = start + request.timeouts.total + .seconds(2)
            while ContinuousClock.now < end {
                guard let (ticket, report) = try sink.reports(until: end).first else { continue }
                if !report.isUnbegun { return report }
                try sink.submit(request, ticket: ticket + 1)
            }
            return AttemptReport(result: .failure(.deadline, detail: ""), duration: start.duration(to: .now))
        } catch {
            return AttemptReport(result: .failure(.other, detail: error.description), duration: .zero)
        }
    }
}
