internal import Delivery
internal import Policy

/// The sink of a simulated run: its agents are the world's.
final class SimulatedSink: Sink {
    private let process: SimulatedProcess
    private unowned let world: Universe
    private var inFlight: Set<Int> = []
    private var reports: [(ticket: Int, report: AttemptReport)] = []
    private var isClosed = false

    init(of process: SimulatedProcess, in world: Universe) {
        self.process = process
        self.world = world
    }

    var sender: ProcessID { process.id }

    /// Whether its agents still write and read.
    var isAlive: Bool { process.isAlive && !isClosed }

    func prepare(_ transport: Transport) {}

    func defect(of transport: Transport) throws(SinkError) -> String? { nil }

    func submit(_ request: OutgoingRequest, ticket: Int) throws(SinkError) {
        if isClosed { throw SinkError("the sink is closed") }
        world.servers.take(
            SimulatedServers.Sent(ticket: ticket, request: request, others: inFlight.count), from: self)
        inFlight.insert(ticket)
    }

    /// A report arrives, on whatever thread.
    func deliver(_ ticket: Int, _ report: AttemptReport, _ number: Int?) {
        guard isAlive, inFlight.remove(ticket) != nil else { return }
        if let number { world.note(process.id, .learns(request: number)) }
        reports.append((ticket, report))
        world.scheduler.wake(process)
    }

    func reports(
        until deadline: ContinuousClock.Instant, wakeup: Int32
    ) throws(SinkError) -> [(ticket: Int, report: AttemptReport)] {
        if isClosed { throw SinkError("the sink is closed") }
        let end = deadline - world.beginning
        while reports.isEmpty, world.scheduler.time < end, wakeup < 0 || process.signals.isEmpty {
            process.sleep(until: end, isWakeable: true)
        }
        defer { reports = [] }
        return reports
    }

    func close() {
        isClosed = true
        inFlight = []
    }
}
