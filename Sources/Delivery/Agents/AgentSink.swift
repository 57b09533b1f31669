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
/// it within the grace has hung and is killed.
///
/// One thread uses a sink and must live as long as the sink: Linux kills an agent with the thread that started it.
package final class AgentSink: Sink {
    private final class Attempt {
        let request: OutgoingRequest
        /// The time of its cancellation, then of its agent's death; `nil` while waiting for an agent.
        var deadline: ContinuousClock.Instant?
        var isCancelled = false

        init(_ request: OutgoingRequest) { self.request = request }
    }

    private let program: (Transport) -> AgentProgram
    private let concurrency: Int
    private let agentLimit: Int
    private let grace: Duration
    private(set) var agents: [Agent] = []
    private var attempts: [Int: Attempt] = [:]
    /// Attempts without an agent, in the order in which they will be given to agents.
    private var waiting: [Int] = []
    /// Destinations that have, or may have, killed or hung an agent.
    private var riskyDestinations: Set<String> = []
    /// The number of agents in a row that ended before they began a destination's attempts, by destination.
    private var unbegunEnds: [String: Int] = [:]
    private var done: [(ticket: Int, report: AttemptReport)] = []
    /// The number of agents in a row that died before they were ready.
    private var failedStarts = 0
    /// The time of the last wait, or of the last write to an agent.
    private var lastCall = ContinuousClock.now
    /// The time after `lastCall` for gathering attempts, to reach their agents in one call. A later attempt is written
    /// at once.
    private static let gathering = Duration.microseconds(100)
    /// The first report of an agent on each transport: its defect, or `nil` if usable.
    private var defects: [Transport: String?] = [:]
    /// The time for an agent to run and to report on its transport.
    private let beginning: Duration
    /// The number of agents in a row that may end before they begin a destination's attempts. The attempts of the last
    /// of them count as begun.
    private static let mostUnbegunEnds = 3
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
            _ = try wait(ContinuousClock.now.duration(to: deadline).pollMilliseconds, wakeup: -1)
        }
        throw startFailure(of: transport, "does not begin")
    }

    private func startFailure(of transport: Transport, _ reason: String) -> SinkError {
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
        until deadline: ContinuousClock.Instant, wakeup: Int32 = -1
    ) throws(SinkError) -> [(ticket: Int, report: AttemptReport)] {
        guard !isClosed else { throw SinkError("cannot wait for reports: the sink is closed") }
        while done.isEmpty {
            try enforceDeadlines()
            try handOut()
            if !done.isEmpty { break }
            let now = ContinuousClock.now
            let next = attempts.values.reduce(deadline) { min($0, $1.deadline ?? $0) }
            let isAwake = try wait(now.duration(to: next).pollMilliseconds, wakeup: wakeup)
            if isAwake || done.isEmpty && ContinuousClock.now >= deadline { break }
        }
        defer { done.removeAll(keepingCapacity: true) }
        return done
    }

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
    private func agent(for request: OutgoingRequest) throws(SinkError) -> Agent? {
        for agent in agents where agent.transport == request.transport && has(agent, request.destination) {
            return agent
        }
        let ours = agents.filter { $0.transport == request.transport }
        let idle = ours.filter(\.tickets.isEmpty)
        if let agent = idle.first(where: { $0.destination == request.destination }) ?? idle.first { return agent }
        if agents.count >= agentLimit, let other = agents.first(where: \.tickets.isEmpty) {
            agents.removeAll { $0 === other }
            retire([other])
        }
        if agents.count < agentLimit { return try startAgent(for: request.transport) }
        if riskyDestinations.contains(request.destination) { return nil }
        return ours.filter { riskyDestinations.isDisjoint(with: destinations(in: $0)) }
            .min { $0.tickets.count < $1.tickets.count }
    }

    private func has(_ agent: Agent, _ destination: String) -> Bool {
        agent.tickets.contains { attempts[$0]?.request.destination == destination }
    }

    private func destinations(in agent: Agent) -> Set<String> {
        Set(agent.tickets.compactMap { attempts[$0]?.request.destination })
    }

    private func startAgent(for transport: Transport) throws(SinkError) -> Agent {
        let program = program(transport)
        do throws(Errno) {
            let agent = try Agent.start(program, for: transport)
            agents.append(agent)
            agent.send(Frame.setup(concurrency: concurrency).bytes ?? [])
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
                guard let agent = try agent(for: attempt.request) else {
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
        guard let bytes = Frame.attempt(ticket: ticket, request).bytes else {
            finish(ticket, .failure(.badURL, detail: "the request is larger than a delivery agent takes"), .zero)
            return
        }
        let now = ContinuousClock.now
        attempt.deadline = agent.isReady ? now + max(.zero, request.timeouts.total) : agent.started + beginning
        agent.hand(ticket, request, bytes)
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

    /// Waits for agents and the wake-up. Returns `true` if the wake-up came.
    private func wait(_ milliseconds: Int32, wakeup: Int32) throws(SinkError) -> Bool {
        for agent in agents where agent.hasUnsent { agent.flush() }
        defer { lastCall = .now }
        var descriptors = agents.map { agent in
            pollfd(fd: agent.socket, events: Int16(agent.hasUnsent ? POLLIN | POLLOUT : POLLIN), revents: 0)
        }
        descriptors.append(pollfd(fd: wakeup, events: Int16(POLLIN), revents: 0))
        if poll(&descriptors, nfds_t(descriptors.count), milliseconds) < 0 {
            guard errno == EINTR else { throw SinkError("cannot wait for delivery agents: \(Errno(errno))") }
            return false
        }
        for (agent, descriptor) in zip(agents, descriptors) where descriptor.revents != 0 {
            if agent.hasUnsent { agent.flush() }
            try listen(to: agent)
        }
        return descriptors.last?.revents != 0
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
                    attempts[ticket].map { $0.deadline = .now + max(.zero, $0.request.timeouts.total) }
                }
                failedStarts = 0
            case .report(let ticket, let report) where agent.tickets.contains(ticket):
                agent.tickets.remove(ticket)
                finish(ticket, report.result, report.duration)
            case .opened(let defect): agent.transportReport = .some(defect)
            case .report, .setup, .attempt, .cancel:
                complaint = "the delivery agent sent a frame that is not its own to send"
                break listening
            }
        }
        if let complaint { try handleDeath(agent, complaint: complaint) }
    }

    private func finish(
        _ ticket: Int, _ result: AttemptReport.Result, _ duration: Duration, isSuspect: Bool = false,
        isUnbegun: Bool = false
    ) {
        guard let attempt = attempts.removeValue(forKey: ticket) else { return }
        if !isUnbegun, !unbegunEnds.isEmpty { unbegunEnds[attempt.request.destination] = nil }
        var result = result
        if attempt.isCancelled, case .failure(.cancelled, _) = result { result = Self.pastDeadline(attempt.request) }
        let report = AttemptReport(result: result, duration: duration, isSuspect: isSuspect, isUnbegun: isUnbegun)
        done.append((ticket, report))
    }

    private static func pastDeadline(_ request: OutgoingRequest) -> AttemptReport.Result {
        .failure(.deadline, detail: "no whole answer within timeouts.total, \(request.timeouts.total.quantity)")
    }

    // MARK: - Death

    /// Cancels the attempts whose time has passed. Kills an agent that did not report a cancelled attempt within the
    /// grace.
    private func enforceDeadlines() throws(SinkError) {
        let now = ContinuousClock.now
        guard attempts.values.contains(where: { $0.deadline.map { $0 <= now } ?? false }) else { return }
        for agent in agents {
            let late = agent.tickets.filter { attempts[$0]?.deadline.map { $0 <= now } ?? false }
            guard !late.isEmpty else { continue }
            if !agent.isReady {
                // The attempts have no part in it.
                agents.removeAll { $0 === agent }
                agent.end()
                requeue(agent.tickets)
                throw startFailure(of: agent.transport, "does not begin")
            } else if late.contains(where: { attempts[$0]?.isCancelled ?? false }) {
                agents.removeAll { $0 === agent }
                agent.end()
                report(onAttemptsOf: agent) { ticket, request in
                    late.contains(ticket)
                        ? Self.pastDeadline(request)
                        : .failure(.agentDied, detail: "killed, because it did not report another attempt in time")
                }
            } else {
                for ticket in late {
                    attempts[ticket]?.isCancelled = true
                    attempts[ticket]?.deadline = now + grace
                    agent.send(Frame.cancel(ticket: ticket).bytes ?? [])
                }
            }
        }
    }

    /// Ends an agent that died or sent garbage. Throws after three agents in a row that died before they were ready.
    private func handleDeath(_ agent: Agent, complaint: String) throws(SinkError) {
        agents.removeAll { $0 === agent }
        let end = agent.end()
        let reason = complaint.isEmpty ? end : complaint
        if !agent.isReady {
            failedStarts += 1
            requeue(agent.tickets)
            guard failedStarts < 3 else {
                failedStarts = 0
                throw startFailure(of: agent.transport, reason)
            }
        } else {
            report(onAttemptsOf: agent) { _, _ in .failure(.agentDied, detail: reason) }
        }
    }

    /// Reports the attempts of an ended agent: begun attempts as in doubt, the others as unbegun.
    private func report(onAttemptsOf agent: Agent, _ result: (Int, OutgoingRequest) -> AttemptReport.Result) {
        for destination in destinations(in: agent) { unbegunEnds[destination, default: 0] += 1 }
        let lost = agent.tickets.filter { ticket in
            attempts[ticket].map { (unbegunEnds[$0.request.destination] ?? 0) >= Self.mostUnbegunEnds } ?? false
        }
        let doubtful = agent.begun.union(lost)
        for ticket in agent.tickets.sorted() {
            guard let attempt = attempts[ticket] else { continue }
            guard doubtful.contains(ticket) else {
                finish(ticket, result(ticket, attempt.request), .zero, isUnbegun: true)
                continue
            }
            riskyDestinations.insert(attempt.request.destination)
            let began = attempt.deadline.map {
                $0 - attempt.request.timeouts.total - (attempt.isCancelled ? grace : .zero)
            }
            let passed = began.map { $0.duration(to: .now) } ?? .zero
            finish(ticket, result(ticket, attempt.request), max(.zero, passed), isSuspect: doubtful.count > 1)
        }
    }

    /// Puts attempts back at the head of `waiting`, in the order of their tickets.
    private func requeue(_ tickets: Set<Int>) {
        for ticket in tickets {
            attempts[ticket]?.deadline = nil
            attempts[ticket]?.isCancelled = false
        }
        waiting.insert(contentsOf: tickets.sorted(), at: 0)
    }
}
