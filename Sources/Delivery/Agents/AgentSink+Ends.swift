import Policy

/// The ends that attempts and agents do not tell of: deadlines, hangs and deaths.
extension AgentSink {
    /// Gives attempts whose deadlines have passed while the caller did something else the grace to report, once.
    func waitForCaller() {
        let now = ContinuousClock.now
        guard let nextDeadline, nextDeadline <= now else { return }
        for attempt in attempts.values where !attempt.hasWaitedForCaller {
            guard let deadline = attempt.deadline, deadline <= now else { continue }
            (attempt.deadline, attempt.hasWaitedForCaller) = (now + grace, true)
        }
    }

    func move(deadlinesBy time: Duration) {
        if time == .zero { return }
        for attempt in attempts.values { attempt.deadline = attempt.deadline.map { $0 + time } }
    }

    /// Cancels the attempts whose time has passed. Kills an agent that did not report a cancelled attempt within the
    /// grace.
    func enforceDeadlines() throws(SinkError) {
        let now = ContinuousClock.now
        guard let nextDeadline, nextDeadline <= now else { return }
        defer { findNextDeadline() }
        for agent in agents {
            let late = agent.tickets.filter { attempts[$0]?.deadline.map { $0 <= now } ?? false }
            guard !late.isEmpty else { continue }
            if agent.continueIfStopped() {
                for ticket in agent.tickets { attempts[ticket]?.deadline = now + timeAgain(ticket, in: agent) }
            } else if !agent.isReady {
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
                    agent.send(.cancel(ticket: ticket))
                }
            }
        }
    }

    /// Returns the time of an attempt's next deadline, as if the last one had begun now.
    private func timeAgain(_ ticket: Int, in agent: Agent) -> Duration {
        guard agent.isReady, let attempt = attempts[ticket] else { return beginning }
        return attempt.isCancelled ? grace : max(.zero, attempt.request.timeouts.total)
    }

    /// Ends an agent that died or sent garbage. Throws after three agents in a row that died before they were ready.
    func handleDeath(_ agent: Agent, complaint: String) throws(SinkError) {
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
    func requeue(_ tickets: Set<Int>) {
        for ticket in tickets {
            attempts[ticket]?.deadline = nil
            attempts[ticket]?.isCancelled = false
        }
        waiting.insert(contentsOf: tickets.sorted(), at: 0)
    }
}
