internal import Delivery
internal import Policy

/// The sink of a simulated run: the world plays the agents, one for each host.
final class SimulatedSink: Sink {
    /// An agent's request, with a number once the server has the whole request.
    private struct InFlight {
        var sent: SimulatedServers.Sent
        var start: Duration
        var number: Int?
        var host: String { sent.host }
    }

    private let process: SimulatedProcess
    private unowned let world: Universe
    private var inFlight: [Int: InFlight] = [:]
    private var reports: [(ticket: Int, report: AttemptReport)] = []
    /// The numbers of the requests whose answers the process has not taken in yet.
    private var learned: [Int] = []
    /// The hosts whose agent hangs, with the tickets of the requests since then.
    private var hung: [String: [Int]] = [:]
    private var isClosed = false

    init(of process: SimulatedProcess, in world: Universe) {
        self.process = process
        self.world = world
    }

    var sender: ProcessID { process.id }

    /// Whether the process's agents still write and read.
    private var isAlive: Bool { process.isAlive && !isClosed }

    /// Whether the agent that got the request at `start` still has the request: the agent neither died nor hangs.
    func isSending(_ ticket: Int, since start: Duration) -> Bool {
        guard isAlive, let attempt = inFlight[ticket], attempt.start == start else { return false }
        return hung[attempt.host] == nil
    }

    func note(_ ticket: Int, arrivedAs number: Int) { inFlight[ticket]?.number = number }

    func prepare(_ transport: Transport) {}

    func defect(of transport: Transport) throws(SinkError) -> String? { nil }

    func submit(_ request: OutgoingRequest, ticket: Int) throws(SinkError) {
        if isClosed { throw SinkError("the sink is closed") }
        world.note(
            process.id, .submits(SimulatedServers.labels(in: String(decoding: request.body ?? [], as: UTF8.self))))
        send(SimulatedServers.Sent(ticket: ticket, request: request))
    }

    private func send(_ sent: SimulatedServers.Sent) {
        if hung[sent.host] != nil {
            hung[sent.host]?.append(sent.ticket)
        } else {
            inFlight[sent.ticket] = InFlight(sent: sent, start: world.scheduler.time)
            world.servers.take(sent, from: self)
        }
    }

    /// A report arrives, on whatever thread.
    func deliver(_ ticket: Int, _ report: AttemptReport, since start: Duration) {
        guard isSending(ticket, since: start), let attempt = inFlight.removeValue(forKey: ticket) else { return }
        if let number = attempt.number {
            world.note(process.id, .learns(request: number))
            learned.append(number)
        }
        give(report, of: ticket)
    }

    private func give(_ report: AttemptReport, of ticket: Int) {
        reports.append((ticket, report))
        world.scheduler.wake(process)
    }

    func reports(
        until deadline: ContinuousClock.Instant, wakeups: [Int32]
    ) throws(SinkError) -> [(ticket: Int, report: AttemptReport)] {
        if isClosed { throw SinkError("the sink is closed") }
        let end = deadline - world.beginning
        while reports.isEmpty, world.scheduler.time < end, wakeups.allSatisfy({ $0 < 0 }) || process.signals.isEmpty {
            process.sleep(until: end, isWakeable: true)
        }
        for number in learned { world.note(process.id, .takesIn(request: number)) }
        defer { (reports, learned) = ([], []) }
        return reports
    }

    func close() {
        isClosed = true
        inFlight = [:]
    }

    /// Kills the sending process.
    func killSender() {
        world.note(process.id, .killed)
        world.scheduler.kill(process, isCurrent: false)
    }

    // MARK: - Agents

    /// Lets the agent of a host hang: the agent sends and reports nothing more.
    func hang(_ host: String) { hung[host] = hung[host] ?? [] }

    /// Ends the agent of a host. Reports each request that the server has received, as a suspect if there are several;
    /// reports the remaining requests as unbegun.
    func endAgent(of host: String, _ error: NetworkError) {
        guard isAlive else { return }
        var unbegun = hung.removeValue(forKey: host) ?? []
        let begun = inFlight.filter { $0.value.host == host && $0.value.number != nil }.keys.sorted()
        for ticket in inFlight.filter({ $0.value.host == host && $0.value.number == nil }).keys.sorted() {
            if inFlight.removeValue(forKey: ticket) != nil { unbegun.append(ticket) }
        }
        for ticket in begun {
            guard let attempt = inFlight.removeValue(forKey: ticket) else { continue }
            if let number = attempt.number { world.note(process.id, .loses(request: number)) }
            give(
                AttemptReport(
                    result: .failure(error, detail: "the agent ended"),
                    duration: world.scheduler.time - attempt.start, isSuspect: begun.count > 1), of: ticket)
        }
        for ticket in unbegun.sorted() {
            give(
                AttemptReport(
                    result: .failure(error, detail: "the agent ended"), duration: .zero, isUnbegun: true), of: ticket)
        }
    }
}
