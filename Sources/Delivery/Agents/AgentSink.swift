package import Policy

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Attempts made by delivery agents: children of this process that talk to strangers in its place (FACTS §2).
///
/// An agent may die, hang, swell or go mad; the attempt that made it do so is reported, the others are made again:
/// - It died with one attempt in flight: that one is `agentDied`.
/// - It died with several: none is to blame yet. Each is made again alone, in an agent for suspects, until it is known
///   which one kills.
/// - An attempt's `timeouts.total` passed: the agent is told to cancel it, and the attempt is `deadline`. If that brings no
///   report within the grace, the agent hangs and is killed. With one attempt in flight that one is `deadline`; with
///   several, those whose time has passed are suspects, since one of them may have kept the others waiting, and the rest is
///   made again.
/// An attempt that is made again has its whole time again, and its server may see it twice, with the same idempotency
/// key, as after any unknown outcome.
///
/// Used by one thread, which lives as long as the sink does: Linux ends an agent with the thread that started it.
package final class AgentSink: Sink {
    private struct Attempt {
        let request: OutgoingRequest
        /// When it is cancelled, then when its agent is killed; `nil` while it waits for an agent.
        var alarm: ContinuousClock.Instant?
        var isCancelled = false
    }

    private let program: (Transport) -> AgentProgram
    private let concurrency: Int
    private let agentLimit: Int
    private let grace: Duration
    private(set) var agents: [Agent] = []
    private var attempts: [Int: Attempt] = [:]
    /// How many attempts have been handed to URLSession, of which one agent makes no more than one core can.
    private var handedToURLSession = 0
    /// Attempts whose agent went through no fault of theirs.
    private var blameless: [Int] = []
    /// Attempts one of which has killed its agent.
    private var suspects: [Int] = []
    private var done: [(ticket: Int, report: AttemptReport)] = []
    /// Agents that died, one after the other, before they ran.
    private var stillborn = 0
    /// So many attempts over URLSession pay for the start of another agent. libcurl's never do.
    static let attemptsForAnother = 200
    /// What its first agent has said of it.
    private var libcurl: String??
    /// So long an agent may take to begin.
    private static let beginning = Duration.seconds(20)
    private var isClosed = false

    /// Starts nothing yet: the first agent comes with the first attempt.
    ///
    /// - Parameters:
    ///   - program: what is started for a transport.
    ///   - concurrency: how many attempts the caller keeps in flight at most, over all agents.
    ///   - agents: how many agents of URLSession share them, once it is seen that there is enough to do
    ///     (`attemptsForAnother`); more only when there are suspects. libcurl has one.
    ///   - grace: how long an agent has to report an attempt that is cancelled.
    package init(
        program: @escaping (Transport) -> AgentProgram = AgentProgram.own, concurrency: Int, agents: Int = 1,
        grace: Duration = .seconds(1)
    ) {
        self.program = program
        self.concurrency = max(1, concurrency)
        self.agentLimit = max(1, agents)
        self.grace = grace
    }

    deinit {
        close()
    }

    package func prepare(_ transport: Transport) {
        if !isClosed { _ = try? regularAgent(for: transport) }
    }

    package func defect(of transport: Transport) throws(SinkError) -> String? {
        // URLSession is part of its program.
        guard transport == .libcurl else { return nil }
        if let libcurl { return libcurl }
        let deadline = ContinuousClock.now + Self.beginning
        while !isClosed {
            let agent = try regularAgent(for: transport)
            if let opening = agent.opening {
                libcurl = opening
                return opening
            }
            guard ContinuousClock.now < deadline else { break }
            _ = try wait(ContinuousClock.now.duration(to: deadline).pollMilliseconds, wakeup: -1)
        }
        throw SinkError("cannot start a delivery agent: \(program(transport).executable) does not begin")
    }

    package func submit(_ request: OutgoingRequest, ticket: Int) throws(SinkError) {
        guard !isClosed else { throw SinkError("cannot make an attempt: the sink is closed") }
        precondition(attempts[ticket] == nil, "a ticket stands for one attempt")
        attempts[ticket] = Attempt(request: request)
        do throws(SinkError) {
            if request.transport == .urlsession { handedToURLSession += 1 }
            try hand(ticket, to: regularAgent(for: request.transport))
        } catch {
            attempts[ticket] = nil
            throw error
        }
    }

    package func reports(
        until deadline: ContinuousClock.Instant, wakeup: Int32 = -1
    ) throws(SinkError) -> [(ticket: Int, report: AttemptReport)] {
        guard !isClosed else { throw SinkError("cannot wait for reports: the sink is closed") }
        while done.isEmpty {
            ringAlarms()
            try handOutAgain()
            if !done.isEmpty { break }
            let now = ContinuousClock.now
            let next = attempts.values.reduce(deadline) { min($0, $1.alarm ?? $0) }
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
    }

    // MARK: - Agents

    /// The agent with the least to do; a new one where all are busy and there may be more.
    private func regularAgent(for transport: Transport) throws(SinkError) -> Agent {
        let regulars = regularAgents(for: transport)
        let idlest = regulars.min { $0.tickets.count < $1.tickets.count }
        let wanted =
            switch transport {
            case .libcurl: 1
            case .urlsession: min(agentLimit, 1 + handedToURLSession / Self.attemptsForAnother)
            }
        if let idlest, idlest.tickets.isEmpty || regulars.count >= wanted { return idlest }
        return try startAgent(for: transport)
    }

    private func regularAgents(for transport: Transport) -> [Agent] {
        agents.filter { $0.transport == transport && !$0.isIsolated }
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

    private func hand(_ ticket: Int, to agent: Agent) {
        guard let request = attempts[ticket]?.request else { return }
        guard let bytes = Frame.attempt(ticket: ticket, request).bytes else {
            finish(ticket, .failure(.other, detail: "the request is larger than a delivery agent takes"), .zero)
            return
        }
        attempts[ticket] = Attempt(request: request, alarm: ContinuousClock.now + max(.zero, request.timeouts.total))
        agent.tickets.insert(ticket)
        agent.send(bytes)
    }

    /// Hands out what lost its agent: the blameless at once, suspects one after the other to an agent of their own.
    private func handOutAgain() throws(SinkError) {
        while let ticket = blameless.last {
            hand(ticket, to: try regularAgent(for: transport(of: ticket)))
            blameless.removeLast()
        }
        if let isolated = agents.first(where: \.isIsolated) {
            guard isolated.tickets.isEmpty else { return }
            if let suspect = suspects.last, transport(of: suspect) == isolated.transport {
                suspects.removeLast()
                return hand(suspect, to: isolated)
            }
            if regularAgents(for: isolated.transport).isEmpty {
                isolated.isIsolated = false
            } else {
                agents.removeAll { $0 === isolated }
                retire([isolated])
            }
        }
        if let suspect = suspects.last {
            let isolated = try startAgent(for: transport(of: suspect))
            isolated.isIsolated = true
            suspects.removeLast()
            hand(suspect, to: isolated)
        }
    }

    private func transport(of ticket: Int) -> Transport {
        attempts[ticket]?.request.transport ?? .libcurl
    }

    private func retire(_ leaving: [Agent]) {
        for agent in leaving { agent.dismiss() }
        let deadline = ContinuousClock.now + grace
        for agent in leaving { agent.end(by: deadline) }
    }

    private func strange(_ agent: Agent) -> String {
        let path = program(agent.transport).executable
        return "cannot use '\(path)': it is of another release than this drainq; install both from one"
    }

    // MARK: - Waiting

    /// Waits for agents and the wake-up; `true` if the latter came.
    private func wait(_ milliseconds: Int32, wakeup: Int32) throws(SinkError) -> Bool {
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
                guard version == Frame.version else { throw SinkError(strange(agent)) }
                agent.isReady = true
                stillborn = 0
            case .report(let ticket, let report) where agent.tickets.contains(ticket):
                agent.tickets.remove(ticket)
                finish(ticket, report.result, report.duration)
            case .opened(let defect): agent.opening = .some(defect)
            case .report, .setup, .attempt, .cancel:
                complaint = "the delivery agent sent a frame that is not its own to send"
                break listening
            }
        }
        if let complaint { try bury(agent, complaint: complaint) }
    }

    private func finish(_ ticket: Int, _ result: AttemptReport.Result, _ duration: Duration) {
        guard let attempt = attempts.removeValue(forKey: ticket) else { return }
        var result = result
        if attempt.isCancelled, case .failure(.cancelled, _) = result { result = Self.pastDeadline(attempt.request) }
        done.append((ticket, AttemptReport(result: result, duration: duration)))
    }

    private static func pastDeadline(_ request: OutgoingRequest) -> AttemptReport.Result {
        .failure(.deadline, detail: "no whole answer within \(request.timeouts.total.inSeconds) s")
    }

    // MARK: - Death

    /// Cancels what is past its time, and kills the agents that did not report it within the grace.
    private func ringAlarms() {
        let now = ContinuousClock.now
        for agent in agents {
            let late = agent.tickets.filter { attempts[$0]?.alarm.map { $0 <= now } ?? false }
            guard !late.isEmpty else { continue }
            if late.contains(where: { attempts[$0]?.isCancelled ?? false }) {
                agents.removeAll { $0 === agent }
                agent.end()
                if agent.tickets.count == 1, let culprit = late.first, let request = attempts[culprit]?.request {
                    finish(culprit, Self.pastDeadline(request), request.timeouts.total + grace)
                } else {
                    putBack(late, in: \.suspects)
                    putBack(agent.tickets.subtracting(late), in: \.blameless)
                }
            } else {
                for ticket in late {
                    attempts[ticket]?.isCancelled = true
                    attempts[ticket]?.alarm = now + grace
                    agent.send(Frame.cancel(ticket: ticket).bytes ?? [])
                }
            }
        }
    }

    /// An agent has gone, or has to: finds out whose fault that is.
    private func bury(_ agent: Agent, complaint: String) throws(SinkError) {
        agents.removeAll { $0 === agent }
        let end = agent.end()
        let reason = complaint.isEmpty ? end : complaint
        if !agent.isReady {
            stillborn += 1
            putBack(agent.tickets, in: agent.isIsolated ? \.suspects : \.blameless)
            guard stillborn < 3 else {
                stillborn = 0
                throw SinkError("cannot start a delivery agent: \(program(agent.transport).executable) \(reason)")
            }
        } else if agent.tickets.count == 1, let culprit = agent.tickets.first, let attempt = attempts[culprit] {
            let passed = attempt.alarm.map { ContinuousClock.now - $0 + attempt.request.timeouts.total } ?? .zero
            finish(culprit, .failure(.agentDied, detail: reason), max(.zero, passed))
        } else {
            putBack(agent.tickets, in: \.suspects)
        }
    }

    /// Lets the attempts wait for another agent, the first submitted first.
    private func putBack(_ tickets: Set<Int>, in queue: ReferenceWritableKeyPath<AgentSink, [Int]>) {
        for ticket in tickets {
            attempts[ticket]?.alarm = nil
            attempts[ticket]?.isCancelled = false
        }
        self[keyPath: queue] = (self[keyPath: queue] + tickets).sorted(by: >)
    }
}

extension ContinuousClock.Instant {
    fileprivate static func - (later: Self, earlier: Self) -> Duration { earlier.duration(to: later) }
}
