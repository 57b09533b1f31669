import CSystem
package import Policy

/// Makes attempts by delivery agents: child processes that talk to servers in place of this process.
///
/// Attempts for one destination go to one agent, and an agent has attempts for one destination at a time. If more
/// destinations are active than agents are allowed, destinations share an agent. A destination that has killed or hung
/// an agent never shares again.
///
/// An agent may die, hang, use too much memory or send garbage. Then only attempts whose requests may have left are in
/// doubt:
/// - A single attempt in doubt is reported as `agentDied`, or as `deadline` if the agent hung.
/// - If several attempts are in doubt, each is reported so as a suspect (`AttemptReport.isSuspect`), to be attempted
///   again alone.
/// - The agent's other attempts are reported as unbegun (`AttemptReport.isUnbegun`). Nothing of them was sent.
/// An attempt whose `timeouts.total` has passed is cancelled and reported as `deadline`. An agent that does not report
/// it within the grace has hung and is killed. Reports are read before deadlines are judged, and time in which this
/// machine stood still does not count (`Standstill`). An agent that a signal has stopped is continued at a deadline,
/// and its attempts get their time again.
///
/// One thread uses a sink and must live as long as the sink: Linux kills an agent with the thread that started it.
package final class AgentSink: Sink {
    final class Attempt {
        let request: OutgoingRequest
        /// The time of its cancellation, then of its agent's death; `nil` while waiting for an agent.
        var deadline: ContinuousClock.Instant?
        var isCancelled = false
        /// Whether the deadline passed while the caller did something else, and was moved once.
        var hasWaitedForCaller = false

        init(_ request: OutgoingRequest) { self.request = request }
    }

    private let program: (Transport) -> AgentProgram
    private let concurrency: Int
    private let agentLimit: Int
    let grace: Duration
    var agents: [Agent] = []
    var attempts: [Int: Attempt] = [:]
    /// Attempts without an agent, in the order in which they will be given to agents.
    var waiting: [Int] = []
    /// Destinations that have, or may have, killed or hung an agent.
    var riskyDestinations: Set<String> = []
    /// The number of agents in a row that ended before they began a destination's attempts, by destination.
    var unbegunEnds: [String: Int] = [:]
    private var done: [(ticket: Int, report: AttemptReport)] = []
    /// No attempt has an earlier deadline; `nil` if none has one.
    private(set) var nextDeadline: ContinuousClock.Instant?
    /// The number of agents in a row that died before they were ready.
    var failedStarts = 0
    /// The time of the last wait, or of the last write to an agent.
    private var lastCall = ContinuousClock.now
    /// The time after `lastCall` for gathering attempts, to reach their agents in one call. A later attempt is written
    /// at once.
    private static let gathering = Duration.microseconds(100)
    /// The first report of an agent on each transport: its defect, or `nil` if usable.
    private var defects: [Transport: String?] = [:]
    /// The time for an agent to run and to report on its transport.
    let beginning: Duration
    /// The number of agents in a row that may end before they begin a destination's attempts. The attempts of the last
    /// of them count as begun.
    static let mostUnbegunEnds = 3
    /// One agent for each processor and one more, up to eight.
    package static let usualAgents = min(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))), 7) + 1
    private var isClosed = false

    /// Makes a sink without agents. The first attempt starts the first agent.
    ///
    /// - Parameters:
    ///   - program: the agents' program, by transport.
    ///   - concurrency: upper bound on the caller's attempts in flight, over all agents.
    ///   - agents: upper bound on the agents. Each takes about 3 MB and is kept for the next destination. With one
    ///     agent more than processors, busy destinations do not wait for each other.
    ///   - grace: the time for an agent to report a cancelled attempt.
    ///   - beginning: the time that a new agent may take to run. The time of its attempts begins then.
    package init(
        program: @escaping (Transport) -> AgentProgram = AgentProgram.own, concurrency: Int,
        agents: Int = AgentSink.usualAgents,
        grace: Duration = .seconds(1), beginning: Duration = .seconds(20)
    ) {
        self.beginning = beginning
        self.program = program
        self.concurrency = max(1, concurrency)
        self.agentLimit = max(1, agents)
        self.grace = grace
    }

    deinit {
        close()
    }

    package func prepare(_ transport: Transport) {
        // try?: the next request starts an agent again, and throws its error.
        if !isClosed { _ = try? anyAgent(for: transport) }
    }

    package func defect(of transport: Transport) throws(SinkError) -> String? {
        if let known = defects[transport] { return known }
        let deadline = ContinuousClock.now + beginning
        while !isClosed {
            let agent = try anyAgent(for: transport)
            if let report = agent.transportReport {
                if let report, report.isPassing {
                    throw startFailure(of: transport, "cannot be used: \(report.reason)")
                }
                defects[transport] = .some(report?.reason)
                return report?.reason
            }
            guard ContinuousClock.now < deadline else { break }
            _ = try wait(ContinuousClock.now.duration(to: deadline).pollMilliseconds, wakeups: [])
        }
        throw startFailure(of: transport, "does not begin")
    }

    func startFailure(of transport: Transport, _ reason: String) -> SinkError {
        SinkError("cannot start a delivery agent: \(program(transport).executable) \(reason)")
    }

    package func submit(_ request: OutgoingRequest, ticket: Int) throws(SinkError) {
        guard !isClosed else { throw SinkError("cannot make an attempt: the sink is closed") }
        precondition(attempts[ticket] == nil, "a ticket stands for one attempt")
        attempts[ticket] = Attempt(request)
        waiting.append(ticket)
        do throws(SinkError) {
            try handOut()
        } catch {
            waiting.removeAll { $0 == ticket }
            attempts[ticket] = nil
            throw error
        }
    }

    package func reports(
        until deadline: ContinuousClock.Instant, wakeups: [Int32] = []
    ) throws(SinkError) -> [(ticket: Int, report: AttemptReport)] {
        guard !isClosed else { throw SinkError("cannot wait for reports: the sink is closed") }
        waitForCaller()
        while done.isEmpty {
            try handOut()
            if !done.isEmpty { break }
            let start = ContinuousClock.now
            let longest = start.duration(to: min(deadline, nextDeadline ?? deadline))
            let isAwake = try wait(longest.pollMilliseconds, wakeups: wakeups)
            move(deadlinesBy: Standstill.duration(of: start.duration(to: .now), planned: longest))
            try enforceDeadlines()
            if isAwake || done.isEmpty && ContinuousClock.now >= deadline { break }
        }
        defer { done.removeAll(keepingCapacity: true) }
        return done
    }

    func setDeadline(of attempt: Attempt, _ deadline: ContinuousClock.Instant) {
        attempt.deadline = deadline
        nextDeadline = min(deadline, nextDeadline ?? deadline)
    }

    /// Looks at all attempts for the next deadline.
    func findNextDeadline() { nextDeadline = attempts.values.compactMap(\.deadline).min() }

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        retire(agents)
        agents = []
        attempts = [:]
        waiting = []
    }

    // MARK: - Agents

    private func anyAgent(for transport: Transport) throws(SinkError) -> Agent {
        if let agent = agents.first(where: { $0.transport == transport }) { return agent }
        return try startAgent(for: transport)
    }

    /// Returns the agent for an attempt, perhaps a new one; `nil` if the attempt must wait until an agent is idle.
    private func agent(for transport: Transport, _ destination: String) throws(SinkError) -> Agent? {
        for agent in agents where agent.transport == transport && has(agent, destination) { return agent }
        let ours = agents.filter { $0.transport == transport }
        let idle = ours.filter(\.tickets.isEmpty)
        if let agent = idle.first(where: { $0.destination == destination }) ?? idle.first { return agent }
        if agents.count >= agentLimit, let other = agents.first(where: \.tickets.isEmpty) {
            agents.removeAll { $0 === other }
            retire([other])
        }
        if agents.count < agentLimit { return try startAgent(for: transport) }
        if riskyDestinations.contains(destination) { return nil }
        return ours.filter { riskyDestinations.isDisjoint(with: destinations(in: $0)) }
            .min { $0.tickets.count < $1.tickets.count }
    }

    private func has(_ agent: Agent, _ destination: String) -> Bool {
        agent.tickets.contains { attempts[$0]?.request.destination == destination }
    }

    func destinations(in agent: Agent) -> Set<String> {
        Set(agent.tickets.compactMap { attempts[$0]?.request.destination })
    }

    private func startAgent(for transport: Transport) throws(SinkError) -> Agent {
        let program = program(transport)
        do throws(Errno) {
            let agent = try Agent.start(program, for: transport)
            agents.append(agent)
            agent.send(.setup(concurrency: concurrency))
            return agent
        } catch {
            throw SinkError("cannot start a delivery agent: \(program.executable): \(error)")
        }
    }

    /// Gives each waiting attempt to an agent, if there is an agent for it.
    private func handOut() throws(SinkError) {
        var place = waiting.startIndex
        while place < waiting.endIndex {
            let ticket = waiting[place]
            if let attempt = attempts[ticket] {
                guard let agent = try agent(for: attempt.request.transport, attempt.request.destination) else {
                    place += 1
                    continue
                }
                hand(ticket, attempt, to: agent)
            }
            waiting.remove(at: place)
        }
    }

    private func hand(_ ticket: Int, _ attempt: Attempt, to agent: Agent) {
        let request = attempt.request
        guard agent.hand(ticket, request) else {
            finish(ticket, .failure(.badURL, detail: "the request is larger than a delivery agent takes"), .zero)
            return
        }
        let now = ContinuousClock.now
        setDeadline(
            of: attempt, agent.isReady ? now + max(.zero, request.timeouts.total) : agent.started + beginning)
        // At full concurrency the caller submits no more and waits for reports.
        if attempts.count >= concurrency || lastCall.duration(to: now) > Self.gathering { flush(at: now) }
    }

    package func flush() {
        if agents.contains(where: \.hasUnsent) { flush(at: .now) }
    }

    /// Writes the gathered attempts to their agents.
    private func flush(at now: ContinuousClock.Instant) {
        lastCall = now
        for agent in agents where agent.hasUnsent { agent.flush() }
    }

    private func retire(_ leaving: [Agent]) {
        for agent in leaving { agent.dismiss() }
        let deadline = ContinuousClock.now + grace
        for agent in leaving { agent.end(by: deadline) }
    }

    private func versionMismatch(_ agent: Agent) -> String {
        let path = program(agent.transport).executable
        return "cannot use '\(path)': its version differs from this drainq's; install both from one release"
    }

    // MARK: - Waiting

    /// Waits for agents and the wake-ups. Returns `true` if a wake-up came.
    private func wait(_ milliseconds: Int32, wakeups: [Int32]) throws(SinkError) -> Bool {
        for agent in agents where agent.hasUnsent { agent.flush() }
        defer { lastCall = .now }
        var descriptors = agents.map { agent in
            pollfd(fd: agent.socket, events: Int16(agent.hasUnsent ? POLLIN | POLLOUT : POLLIN), revents: 0)
        }
        let agentCount = descriptors.count
        descriptors += wakeups.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        if poll(&descriptors, nfds_t(descriptors.count), milliseconds) < 0 {
            guard errno == EINTR else { throw SinkError("cannot wait for delivery agents: \(Errno(errno))") }
            return false
        }
        for (agent, descriptor) in zip(agents, descriptors) where descriptor.revents != 0 {
            if agent.hasUnsent { agent.flush() }
            try listen(to: agent)
        }
        return descriptors[agentCount...].contains { $0.revents != 0 }
    }

    private func listen(to agent: Agent) throws(SinkError) {
        let (frames, end) = agent.receive()
        var complaint = end
        listening: for frame in frames {
            switch frame {
            case .ready(let version):
                guard version == Frame.version else { throw SinkError(versionMismatch(agent)) }
                agent.isReady = true
                for ticket in agent.tickets {
                    attempts[ticket].map { setDeadline(of: $0, .now + max(.zero, $0.request.timeouts.total)) }
                }
                failedStarts = 0
            case .report(let ticket, let report) where agent.tickets.contains(ticket):
                agent.tickets.remove(ticket)
                finish(ticket, report)
            case .opened(let defect): agent.transportReport = .some(defect)
            case .report, .setup, .attempt, .cancel:
                complaint = "the delivery agent sent a frame that is not its own to send"
                break listening
            }
        }
        if let complaint { try handleDeath(agent, complaint: complaint) }
    }

    func finish(
        _ ticket: Int, _ result: AttemptReport.Result, _ duration: Duration, isSuspect: Bool = false,
        isUnbegun: Bool = false
    ) {
        finish(
            ticket, AttemptReport(result: result, duration: duration, isSuspect: isSuspect, isUnbegun: isUnbegun))
    }

    private func finish(_ ticket: Int, _ report: AttemptReport) {
        guard let attempt = attempts.removeValue(forKey: ticket) else { return }
        if !report.isUnbegun, !unbegunEnds.isEmpty { unbegunEnds[attempt.request.destination] = nil }
        var report = report
        if attempt.isCancelled, report.error == .cancelled { report.result = Self.pastDeadline(attempt.request) }
        done.append((ticket, report))
    }

    static func pastDeadline(_ request: OutgoingRequest) -> AttemptReport.Result {
        .failure(.deadline, detail: "no whole answer within timeouts.total, \(request.timeouts.total.quantity)")
    }
}
