extension Record {
    /// A process that died while it may have had an operation in a request.
    struct Death {
        var at: Int
        var process: ProcessID
        var isPowerCut: Bool
        /// The requests with the operation that the process had begun, and not reported on.
        var requests: Int
    }

    /// Returns the deaths of processes that had begun a request with the operation and had not reported its end. Other
    /// deaths tell nothing of the operation.
    func deaths(with life: Life) -> [Death] {
        courses.compactMap { process, course -> Death? in
            guard let killed = course.killed else { return nil }
            let requests = untold(life, by: process, before: killed)
            if requests == 0 { return nil }
            return Death(at: killed, process: process, isPowerCut: powerCuts.contains(killed), requests: requests)
        }.sorted { ($0.at, $0.process) < ($1.at, $1.process) }
    }

    /// Whether another process had died with the operation before this death, without a report or a power cut since.
    func hasDiedBefore(with life: Life, at killed: Int) -> Bool {
        deaths(with: life).contains { death in
            death.at < killed && !powerCuts.contains { $0 >= death.at && $0 < killed }
                && !life.reports.contains { $0.at > death.at && $0.at < killed }
        }
    }

    /// Returns the ends of processes that had met an error, and had not reported the end of a request with the operation.
    func brokenEnds(with life: Life) -> [(at: Int, requests: Int)] {
        courses.compactMap { process, course in
            guard let ended = course.ended, course.killed == nil, !course.refusals.isEmpty else { return nil }
            let requests = untold(life, by: process, before: ended)
            return requests > 0 ? (ended, requests) : nil
        }.sorted { $0.at < $1.at }
    }

    /// Returns the number of requests with the operation that a process had begun before an event, and not reported on.
    private func untold(_ life: Life, by process: ProcessID, before index: Int) -> Int {
        let told = life.reports.last { events[$0.at].process == process && $0.at < index }?.at ?? -1
        let begun = course(of: process).submissions.count {
            $0.at > told && $0.at < index && $0.labels.contains(life.label)
        }
        let received = life.exchanges.count {
            exchanges[$0].process == process && exchanges[$0].received > told && exchanges[$0].received < index
        }
        return max(begun, received)
    }

    /// The most interruptions of an operation before an event: the deaths of processes that had begun a request with it,
    /// or of processes that held it as claimed, as later runs have reported. A process may die between the beginning of
    /// a request and the moment at which the outside world sees it.
    func interruptions(of life: Life, before index: Int) -> Int {
        let deaths = deaths(with: life).count { $0.at < index && !$0.isPowerCut }
        let returns = events[..<index].count { event in
            if case .reports(.recovered(let ids)) = event.what { life.id.map(ids.contains) ?? false } else { false }
        }
        return max(deaths, returns == 0 ? 0 : returns + 1)
    }

    /// Whether a process that died after an event may have decided the end of the operation.
    func mayHaveEnded(_ life: Life, after index: Int) -> Bool { deaths(with: life).contains { $0.at > index } }

    /// Whether a change that a process told of may be undone before `next`: by a power cut, or by the death of the
    /// process.
    func mayBeUndone(_ told: Int, before next: Int) -> Bool {
        powerCuts.contains { $0 > told && $0 < next }
            || course(of: events[told].process).killed.map { $0 > told && $0 < next } ?? false
    }
}
