import Delivery

/// `drainq agent`: the delivery agent, which makes requests over libcurl. Only a run starts it.
struct AgentCommand: Command {
    static let name = "agent"
    static let isHidden = true

    static let description = CommandDescription(
        Self.self, "make attempts for a run",
        "Makes requests. Only a run starts it.",
        operands: .anything)

    func perform(environment: [String: String]) -> ExitStatus {
        DeliveryAgent.main { concurrency, report throws(UnavailableTransport) in
            try CurlTransport(concurrency: concurrency, report: report)
        }
    }
}
