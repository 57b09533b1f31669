import Policy

/// Hosts that drain one queue, in simulated time: each runs once a minute, one after the other, as `Run` does. What is
/// chosen, in which order it goes, how much at once, what an answer means and what becomes of the operation is all asked of
/// the policy; files, processes and servers are the simulation's.
///
/// An operation of the simulation is a batch of `batch` that were added together and go in one request: so a queue of this
/// size is to be configured, and the policy counts requests.
struct Fleet {
    static let names = ["http://a.test", "http://b.test", "http://c.test", "http://failing.test"]
    /// Which of them the operations go to, in turn: the last one has a tenth.
    static let shares = [0, 1, 0, 1, 0, 2, 0, 1, 2, 3]
    static let failing = 3
    static let batch = 100
    static let start = Timestamp(rfc3339: "2026-11-21T00:00:00Z")!
    static let length = Duration.seconds(86_400)

    let hosts: Int
    /// Of one run, in requests.
    let limit: Int
    let concurrency: Int
    let perDay: Int
    /// What the failing one does, how long it takes to do it, and when.
    let failure: AttemptReport.Result
    let failureTakes: Duration
    let outage: Range<Timestamp>

    /// A batch.
    struct Item {
        var operation: Operation
        var name: EntryName
        let destination: Int
        var deliveries = 0
        var deliveredAt: Timestamp?
    }

    /// A request to the one that fails.
    struct Attempt {
        var at: Timestamp
        /// Others that were in flight there when it began, of all hosts.
        var beside: Int
        /// Deliveries there since the outage when it began.
        var after: Int
    }

    /// One run of a host.
    struct Run {
        var passages: [Int: DestinationAccess] = [:]
        var order = DispatchOrder()
        /// By their position in the order.
        var candidates: [Int] = []
        var flying: [(item: Int, began: Timestamp, lands: Timestamp)] = []
        var inFlight: [Int: Int] = [:]
        var budget: Int
        var chosen = 0
        var begun = 0
        var leftDue = 0
    }

    private(set) var items: [Item] = []
    private(set) var attempts: [Attempt] = []
    /// Neither delivered nor waiting any more.
    private(set) var givenUp = 0
    /// Delivered or given up.
    private var done = 0
    /// Delivered by the one that failed, since it does not any more.
    private var deliveredSince = 0
    /// What waits, by destination: in `new/` or `deferred/`, claimed by nobody, oldest first.
    private var waiting: [[Int]] = Array(repeating: [], count: names.count)
    private var runs: [Run?]
    private var nextRun: [Timestamp]
    private var ledger = DestinationLedger()
    private var generator = SeededGenerator(seed: 6)
    private var now = start
    private let route: Route
    private let settings = DestinationSettings()

    init(
        hosts: Int, perDay: Int, limit: Int, concurrency: Int, failure: AttemptReport.Result, takes: Duration,
        from: Duration, to: Duration
    ) {
        self.hosts = hosts
        self.perDay = perDay
        self.limit = limit
        self.concurrency = concurrency
        self.failure = failure
        failureTakes = takes
        outage = Self.start + from..<Self.start + to
        route = Route(url: "http://a.test/", batch: Batch(max: Self.batch))
        runs = Array(repeating: nil, count: hosts)
        nextRun = (0..<hosts).map { Self.start + .seconds(60) * $0 / hosts }
    }

    /// What the hosts remember of one.
    func destination(_ index: Int) -> DestinationState { ledger[Self.names[index]] }

    // MARK: - Time

    /// The day; where the outage ends in it, also what of the next one it takes until nothing waits.
    mutating func simulate() {
        let end = Self.start + Self.length
        while now < end || outage.upperBound < end && now < end + Self.length && done < items.count {
            var host = 0
            var (next, flight) = (nextRun[0], Int?.none)
            for candidate in 0..<hosts {
                if nextRun[candidate] < next { (next, host, flight) = (nextRun[candidate], candidate, nil) }
                for (index, flying) in (runs[candidate]?.flying ?? []).enumerated() where flying.lands < next {
                    (next, host, flight) = (flying.lands, candidate, index)
                }
            }
            now = next
            if let flight {
                land(flight, host)
            } else {
                nextRun[host] = now + .seconds(60)
                // A timer does not start what is still running.
                if runs[host] == nil { begin(host) }
            }
        }
    }

    private mutating func arrive() {
        let due = min(now, Self.start + Self.length) - Self.start
        let count = Int(due.inSeconds * Double(perDay / Self.batch) / Self.length.inSeconds)
        while items.count < count {
            let index = items.count
            let createdAt = Self.start + Self.length * index / (perDay / Self.batch)
            let header = OperationHeader(id: OperationID("\(index)")!, createdAt: createdAt)
            let name = EntryName(createdAt: createdAt, id: header.id)
            let destination = Self.shares[index % Self.shares.count]
            items.append(
                Item(operation: Operation(header: header, body: []), name: name, destination: destination))
            waiting[destination].append(index)
        }
    }

    // MARK: - A run

    private mutating func begin(_ host: Int) {
        var run = Run(budget: limit)
        choose(&run)
        go(&run, host)
    }

    /// As `Run.choose`. Of one destination only the oldest `limit` can be chosen, so that no more of it is offered.
    private mutating func choose(_ run: inout Run) {
        arrive()
        for destination in run.passages.keys {
            run.passages[destination]!.state = ledger[Self.names[destination]]
            run.passages[destination]!.open(at: now, ignoringCoolDown: false)
        }
        var selection = Selection<Int, Int>(limit: run.budget)
        var offered = 0
        for destination in waiting.indices where !waiting[destination].isEmpty {
            if run.passages[destination] == nil {
                run.passages[destination] = DestinationAccess(settings, ledger[Self.names[destination]])
                run.passages[destination]!.open(at: now, ignoringCoolDown: false)
            }
            if run.passages[destination]!.block != nil { continue }
            var left = run.budget
            for item in waiting[destination] {
                let eligibility = eligibility(
                    of: items[item].name, at: now, longestDelay: route.longestDelay, ignoringBackoff: false)
                guard eligibility == .due else { continue }
                offered += 1
                if left > 0 { selection.offer(items[item].name, destination: destination, element: item) }
                left -= 1
            }
        }
        let chosen = selection.chosen()
        run.order = DispatchOrder()
        run.candidates = chosen.map(\.element)
        for candidate in chosen { run.order.append(to: candidate.destination) }
        (run.chosen, run.begun, run.leftDue) = (chosen.count, 0, offered - chosen.count)
    }

    /// As `Run.begin`, and as `Run.makePass` where all that was chosen is through.
    private mutating func go(_ run: inout Run, _ host: Int) {
        while true {
            while run.flying.count < concurrency,
                let next = nextInOrder(&run)
            {
                run.begun += 1
                claim(run.candidates[next], &run)
            }
            if !run.flying.isEmpty {
                runs[host] = run
                return
            }
            tell(&run)
            run.budget -= run.begun
            guard run.leftDue > 0, run.begun < run.chosen, run.begun > 0, run.budget > 0 else { break }
            choose(&run)
        }
        runs[host] = nil
    }

    private func nextInOrder(_ run: inout Run) -> Int? {
        let (inFlight, passages) = (run.inFlight, run.passages)
        return run.order.next(
            free: concurrency - run.flying.count, inFlight: { inFlight[$0, default: 0] },
            allowance: { passages[$0]!.allowance })
    }

    private mutating func claim(_ item: Int, _ run: inout Run) {
        let destination = items[item].destination
        // A run of another host was faster.
        guard let index = waiting[destination].firstIndex(of: item) else { return }
        waiting[destination].remove(at: index)
        let isFailing = destination == Self.failing
        let takes = isFailing && outage.contains(now) ? failureTakes : .milliseconds(200)
        run.flying.append((item, now, now + takes))
        run.inFlight[destination, default: 0] += 1
        guard isFailing else { return }
        let flying = runs.reduce(run.inFlight[destination]!) { $0 + ($1?.inFlight[destination] ?? 0) }
        attempts.append(Attempt(at: now, beside: flying - 1, after: deliveredSince))
    }

    /// As `Run.take` and `Run.settle`: what the end of a request says of its destination, and what becomes of the operation.
    private mutating func land(_ flight: Int, _ host: Int) {
        guard var run = runs[host] else { return }
        runs[host] = nil
        let (item, began, _) = run.flying.remove(at: flight)
        let destination = items[item].destination
        run.inFlight[destination]! -= 1
        let isAway = destination == Self.failing && outage.contains(began)
        let report = SealedReport(
            result: isAway ? failure : .answer(AttemptReport.Answer(status: 200)), duration: now - began)
        let verdict = Classification.verdict(on: report, route: route, now: now)
        for event in DestinationEvent.events(
            of: report, verdict, route: route, settings: settings, blamed: nil, now: now)
        {
            run.passages[destination]!.note(event, at: now, ignoringCoolDown: false)
        }
        let settlement = Settlement.decide(
            on: report, verdict: verdict, of: items[item].operation, name: items[item].name, route: route,
            inBatch: false, keepsDelivered: false, start: began, now: now, using: &generator)
        items[item].operation.attempts.append(settlement.record)
        switch settlement.disposition {
        case .delivered:
            items[item].deliveries += 1
            items[item].deliveredAt = now
            done += 1
            if destination == Self.failing, began >= outage.upperBound { deliveredSince += 1 }
        case .deferred(let due, let counts):
            items[item].name.gate = .due(due)
            if counts { items[item].name.attempts += 1 }
            putBack(item)
        case .putBack: putBack(item)
        case .failed, .held, .superseded, .quarantined:
            givenUp += 1
            done += 1
        }
        // Others are to know at once what keeps everybody away.
        if run.passages[destination]!.block != nil { tell(&run) }
        go(&run, host)
    }

    private mutating func putBack(_ item: Int) {
        let destination = items[item].destination
        let index = waiting[destination].firstIndex { $0 > item } ?? waiting[destination].endIndex
        waiting[destination].insert(item, at: index)
    }

    /// As `Run.tellLedger`.
    private mutating func tell(_ run: inout Run) {
        for destination in run.passages.keys.sorted() {
            for event in run.passages[destination]!.events {
                ledger.apply(event, to: Self.names[destination], settings, at: now)
            }
            run.passages[destination]!.events = []
        }
    }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
