@testable import Policy

/// Simulates hosts that drain a shared queue. Each host runs once a minute, at staggered times, as `Run` does. The
/// policy decides the precedence among runs, the choice of operations, the dispatch order, the concurrency and the rate
/// over all runs, the meaning of an answer, the storm guard's steps and the disposition of an operation. The simulation
/// provides the time, files, processes and servers.
///
/// An operation of the simulation stands for a batch of `batch` operations, added together and sent in a single
/// request. A queue of this size has to be configured like this, and the policy counts requests.
struct Fleet {
    static let names = ["http://a.test", "http://b.test", "http://c.test", "http://failing.test"]
    /// The destinations of successive operations, by index in `names`. The last destination has a tenth of the
    /// operations.
    static let shares = [0, 1, 0, 1, 0, 2, 0, 1, 2, 3]
    static let failing = 3
    static let start = Timestamp(rfc3339: "2026-11-21T00:00:00Z")!

    /// The period in which operations are added.
    let length: Duration
    let hosts: Int
    /// The limit of a run, in requests.
    let limit: Int
    let concurrency: Int
    let perDay: Int
    let batch: Int
    /// The answer or error of the failing destination during the outage, its duration, and the period of the outage.
    let failure: AttemptReport.Result
    let failureTakes: Duration
    let outage: Range<Timestamp>
    /// The duration of a request outside the outage.
    let latency: Duration
    /// The settings of destinations, by index in `names`.
    let settings: [Int: DestinationSettings]

    /// A batch.
    struct Item {
        var operation: Operation
        var name: EntryName
        let destination: Int
        var deliveries = 0
        var deliveredAt: Timestamp?

        /// Corresponds to `ListedName.mark`.
        var mark: UInt64 { UInt64(name.createdAt.microseconds) << 8 | UInt64(name.attempts) }
    }

    /// A request in flight, or an answered request withheld by the storm guard.
    struct Flight {
        var item: Int
        var began: Timestamp
        var lands: Timestamp
        var isSample = false
        var isProbe = false
    }

    /// A request to the failing destination.
    struct Attempt {
        var at: Timestamp
        /// The number of further requests in flight at its beginning, of all hosts.
        var beside: Int
        /// The number of deliveries since the outage at its beginning.
        var after: Int
    }

    /// A run of a host.
    struct Run {
        /// The name of the run's directory under `claimed/`.
        let name: String
        var passages: [Int: DestinationAccess] = [:]
        var order = DispatchOrder()
        /// The chosen operations, by position in `order`.
        var candidates: [Int] = []
        var flying: [Flight] = []
        var inFlight: [Int: Int] = [:]
        var guards: [Int: StormGuard<Flight>] = [:]
        /// The samples for the storm guard, sent before other operations of their destination.
        var samples: [Int: [Int]] = [:]
        var sampled: Set<Int> = []
        /// The destinations with a slow failure while their circuit breaker is open. The run sends them nothing more.
        var left: Set<Int> = []
        /// The end of this run's exclusive span at a destination with a rate, and the time of its next attempt or
        /// request.
        var spanEnd: [Int: Timestamp] = [:]
        var askAgain: [Int: Timestamp] = [:]
        var budget: Int
        var chosen = 0
        var begun = 0
        /// Claims won by another run.
        var lost = 0
        var leftDue = 0

        init(name: String, budget: Int) {
            self.name = name
            self.budget = budget
        }

        /// Corresponds to `SendQueue.isOutdated`.
        var isOutdated: Bool { lost > begun / 100 && guards.values.allSatisfy { $0.withheld.isEmpty } }

        /// Returns the next time at which a request ends or a limit lets a request begin; `nil` if the pass is over.
        func wakes(_ now: Timestamp) -> Timestamp? {
            let limits = askAgain.filter { destination, time in
                time > now && !isOutdated && !order.isEmpty(destination) && !left.contains(destination)
                    && !(passages[destination]?.block?.stops(attempts: 1) ?? false)
                    && guards[destination]?.phase != .sampling
            }
            return (flying.map(\.lands) + limits.values).min()
        }
    }

    private(set) var items: [Item] = []
    private(set) var attempts: [Attempt] = []
    /// The number of operations that ended undelivered.
    private(set) var givenUp = 0
    private(set) var lostClaims = 0
    /// The beginning of each attempt at a destination with its own limits, and the number in flight then, of all runs.
    private(set) var limited: [Int: [(at: Timestamp, inFlight: Int)]] = [:]
    private var rates = RateLedger()
    private var runsBegun = 0
    /// Delivered or given up.
    private var done = 0
    /// Deliveries of the failing destination since the outage.
    private var deliveredSince = 0
    /// The unclaimed operations in `new/` or `deferred/`, by destination, oldest first.
    private var waiting: [[Int]] = Array(repeating: [], count: names.count)
    private var runs: [Run?]
    private var nextRun: [Timestamp]
    private var ledger = DestinationLedger()
    private var generator = SeededGenerator(seed: 6)
    private var now = start
    private let route: Route

    init(
        hosts: Int, perDay: Int, batch: Int = 100, limit: Int, concurrency: Int,
        failure: AttemptReport.Result = .answer(AttemptReport.Answer(status: 503)),
        takes: Duration = .milliseconds(200), from: Duration = .zero, to: Duration = .zero,
        length: Duration = .seconds(86_400), latency: Duration = .milliseconds(200),
        settings: [Int: DestinationSettings] = [:]
    ) {
        self.length = length
        self.latency = latency
        self.settings = settings
        self.hosts = hosts
        self.perDay = perDay
        self.batch = batch
        self.limit = limit
        self.concurrency = concurrency
        self.failure = failure
        failureTakes = takes
        outage = Self.start + from..<Self.start + to
        route = Route(url: "http://a.test/", batch: Batch(max: batch))
        runs = Array(repeating: nil, count: hosts)
        nextRun = (0..<hosts).map { Self.start + .seconds(60) * $0 / hosts }
    }

    /// Returns the ledger's state of a destination.
    func destination(_ index: Int) -> DestinationState { ledger[Self.names[index]] }

    // MARK: - Time

    /// Simulates the day. If the outage ends within the day, continues on the next day until no operation waits.
    mutating func simulate() {
        let end = Self.start + length
        while now < end || outage.upperBound < end && now < end + length && done < items.count {
            var host = 0
            var (next, isRunning) = (nextRun[0], false)
            for candidate in 0..<hosts {
                if nextRun[candidate] < next { (next, host, isRunning) = (nextRun[candidate], candidate, false) }
                if let wakes = runs[candidate]?.wakes(now), wakes < next {
                    (next, host, isRunning) = (wakes, candidate, true)
                }
            }
            now = max(now, next)
            if isRunning, let flight = runs[host]!.flying.firstIndex(where: { $0.lands <= now }) {
                land(flight, host)
            } else if isRunning, var run = runs[host] {
                runs[host] = nil
                go(&run, host)
            } else {
                nextRun[host] = now + .seconds(60)
                // A timer does not start a second run beside a running run.
                if runs[host] == nil { begin(host) }
            }
        }
    }

    private mutating func arrive() {
        let day = Duration.seconds(86_400)
        let due = min(now, Self.start + length) - Self.start
        let count = Int(due.inSeconds * Double(perDay / batch) / day.inSeconds)
        while items.count < count {
            let index = items.count
            let createdAt = Self.start + day * index / (perDay / batch)
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
        runsBegun += 1
        var run = Run(name: "20261121T000000.\(String(format6: runsBegun))Z-9f86d081884c7d65", budget: limit)
        choose(&run)
        go(&run, host)
    }

    private func settings(of destination: Int) -> DestinationSettings {
        settings[destination] ?? DestinationSettings()
    }

    /// Corresponds to `Listing.choose`. Offers only the oldest `limit` operations of a destination and rank, because no
    /// further operations can be chosen.
    private mutating func choose(_ run: inout Run) {
        arrive()
        for destination in run.passages.keys {
            run.passages[destination]!.state = ledger[Self.names[destination]]
            run.passages[destination]!.update(at: now, ignoringCircuitBreaker: false)
        }
        let peers = Peers(of: run.name, others: runs.compactMap { $0?.name })
        var selection = SharedSelection<Int, Int>(limit: run.budget, ranks: peers.count)
        var offered = 0
        for destination in waiting.indices where !waiting[destination].isEmpty {
            if run.passages[destination] == nil {
                run.passages[destination] = DestinationAccess(
                    settings: settings(of: destination), state: ledger[Self.names[destination]])
                run.passages[destination]!.update(at: now, ignoringCircuitBreaker: false)
            }
            let block = run.passages[destination]!.block
            if run.left.contains(destination) || block?.stops(attempts: 1) ?? false { continue }
            var left = Array(repeating: run.budget, count: peers.count)
            for item in waiting[destination] {
                let eligibility = eligibility(
                    of: items[item].name, at: now, longestDelay: route.longestDelay(asked: .zero),
                    ignoringBackoff: false)
                guard eligibility == .due, !(block?.stops(attempts: items[item].name.attempts) ?? false) else {
                    continue
                }
                offered += 1
                let rank = peers.count == 1 ? 0 : peers.rank(of: items[item].mark)
                selection.count(rank: rank)
                if left[rank] > 0 {
                    _ = selection.offer(items[item].name, rank: rank, destination: destination, element: item)
                }
                left[rank] -= 1
            }
        }
        var chosen = selection.chosen()
        for (destination, passage) in run.passages where passage.isProbing && passage.state.hold == nil {
            // Corresponds to `Dispatch.inOrder`.
            let own = chosen.indices.filter { chosen[$0].destination == destination }
            let first = own.min { items[chosen[$0].element].name.attempts < items[chosen[$1].element].name.attempts }
            if let first { chosen.insert(chosen.remove(at: first), at: 0) }
        }
        run.order = DispatchOrder()
        run.candidates = chosen.map(\.element)
        for candidate in chosen { run.order.append(to: candidate.destination) }
        (run.chosen, run.begun, run.lost, run.leftDue) = (chosen.count, 0, 0, offered - chosen.count)
        for destination in Set(chosen.map(\.destination)) {
            let threshold = settings(of: destination).stormGuard
            run.guards[destination] = StormGuard(
                threshold: min(threshold, chosen.count { $0.destination == destination }), limit: threshold,
                before: run.passages[destination]!.state.storm)
        }
    }

    /// Corresponds to `Dispatch.begin`, and to `Passes.attempt` after the last chosen operation.
    private mutating func go(_ run: inout Run, _ host: Int) {
        while true {
            while run.flying.count < concurrency, beginNext(&run) {}
            if run.wakes(now) != nil {
                runs[host] = run
                return
            }
            if concludeQuiet(&run) { continue }
            tell(&run)
            run.budget -= run.begun
            let isOver = run.leftDue == 0 || run.begun == 0
            guard run.isOutdated || !isOver, run.budget > 0 else { break }
            choose(&run)
        }
        runs[host] = nil
    }

    /// Begins an attempt. Returns false if no attempt may begin now.
    private mutating func beginNext(_ run: inout Run) -> Bool {
        for (destination, samples) in run.samples
        where !samples.isEmpty && run.inFlight[destination, default: 0] == 0
            && run.passages[destination]!.block == nil
        {
            run.sampled.insert(samples[0])
            run.samples[destination]!.removeFirst()
            claim(samples[0], &run, isSample: true)
            return true
        }
        if run.isOutdated { return false }
        let (inFlight, passages, guards, askAgain, now) = (run.inFlight, run.passages, run.guards, run.askAgain, now)
        let left = run.left
        let next = run.order.next(
            free: concurrency - run.flying.count, inFlight: { inFlight[$0, default: 0] },
            turn: {
                guards[$0]?.phase == .sampling || left.contains($0) || askAgain[$0].map { $0 > now } ?? false
                    ? .never : .ready(upTo: passages[$0]!.concurrencyLimit)
            })
        guard let next else { return false }
        let destination = run.order.line(of: next)
        if run.sampled.contains(run.candidates[next]) { return true }
        if passages[destination]!.block?.stops(attempts: items[run.candidates[next]].name.attempts) ?? false {
            return true
        }
        guard takesLimits(of: destination, &run) else {
            run.order.putBack(next)
            return true
        }
        run.begun += 1
        claim(run.candidates[next], &run)
        return true
    }

    /// Corresponds to `DestinationLimits.acquire`: `concurrency` and `rate` apply to all runs together.
    private mutating func takesLimits(of destination: Int, _ run: inout Run) -> Bool {
        guard let settings = settings[destination] else { return true }
        let flying = inFlight(of: destination, run)
        if let limit = settings.concurrency, flying >= limit {
            run.askAgain[destination] = now + .milliseconds(50)
            return false
        }
        if let interval = settings.rate?.interval {
            if run.spanEnd[destination].map({ $0 <= now }) ?? true {
                switch rates.acquire(Self.names[destination], every: interval, at: now) {
                case .own(let span): run.spanEnd[destination] = now + span
                case .others(let wait):
                    run.askAgain[destination] = now + max(wait, .milliseconds(1))
                    return false
                }
            }
        }
        return true
    }

    /// Returns the number of requests in flight at a destination, of all hosts.
    private func inFlight(of destination: Int, _ run: Run) -> Int {
        runs.reduce(run.inFlight[destination, default: 0]) { $0 + ($1?.inFlight[destination] ?? 0) }
    }

    private mutating func claim(_ item: Int, _ run: inout Run, isSample: Bool = false) {
        let destination = items[item].destination
        // A run of another host was faster.
        guard let index = waiting[destination].firstIndex(of: item) else {
            if !isSample { run.lost += 1 }
            lostClaims += 1
            return
        }
        waiting[destination].remove(at: index)
        let isProbe = run.passages[destination]!.isProbing && run.passages[destination]!.state.hold != nil
        if isProbe {
            run.passages[destination]!.apply(.probed, at: now, ignoringCircuitBreaker: false)
            tell(&run)
        }
        let isFailing = destination == Self.failing
        let takes = isFailing && outage.contains(now) ? failureTakes : latency
        run.flying.append(Flight(item: item, began: now, lands: now + takes, isSample: isSample, isProbe: isProbe))
        run.inFlight[destination, default: 0] += 1
        if let settings = settings[destination] {
            limited[destination, default: []].append((now, inFlight(of: destination, run)))
            if let interval = settings.rate?.interval { run.askAgain[destination] = now + interval }
        }
        guard isFailing else { return }
        attempts.append(Attempt(at: now, beside: inFlight(of: destination, run) - 1, after: deliveredSince))
    }

    /// Corresponds to `Dispatch.take`: applies the end of a request to its destination and to withheld answers.
    private mutating func land(_ index: Int, _ host: Int) {
        guard var run = runs[host] else { return }
        runs[host] = nil
        let flight = run.flying.remove(at: index)
        let destination = items[flight.item].destination
        run.inFlight[destination]! -= 1
        let (report, verdict) = end(of: flight)
        for event in DestinationEvent.events(
            of: report, verdict, route: route, blamed: nil, began: flight.began, now: now)
        {
            run.passages[destination]!.apply(event, at: now, ignoringCircuitBreaker: false)
        }
        if flight.isProbe, let hold = run.passages[destination]!.state.hold, verdict.status == hold.status {
            run.passages[destination]!.block = Availability.Block(.held)
            putBack(flight.item)
        } else if let answer = StormGuard<Flight>.Answer(verdict) {
            follow(run.guards[destination]!.take(flight, answer, isSample: flight.isSample), destination, &run)
        } else {
            settle(flight, &run)
        }
        if flight.lands - flight.began > .seconds(1), run.passages[destination]!.block?.reason == .circuitBreaker {
            run.left.insert(destination)
        }
        // Other runs have to know at once about a block.
        if run.passages[destination]!.block != nil { tell(&run) }
        go(&run, host)
    }

    private func end(of flight: Flight) -> (SealedReport, Verdict) {
        let isAway = items[flight.item].destination == Self.failing && outage.contains(flight.began)
        let report = SealedReport(
            result: isAway ? failure : .answer(AttemptReport.Answer(status: 200)), duration: flight.lands - flight.began
        )
        return (report, Classification.verdict(on: report, route: route, now: now))
    }

    /// Corresponds to `DestinationControl.follow`.
    private mutating func follow(_ step: StormGuard<Flight>.Step, _ destination: Int, _ run: inout Run) {
        switch step {
        case .wait: break
        case .apply(let flights): for flight in flights { settle(flight, &run) }
        case .sample:
            let chosen = Set(run.candidates)
            let others = waiting[destination].reversed().filter { !chosen.contains($0) }
            run.samples[destination] = Array(others.prefix(StormGuard<Flight>.samples))
        case .hold(let flights, let status):
            for flight in flights { putBack(flight.item) }
            run.samples[destination] = nil
            run.passages[destination]!.apply(
                .held(reason: "status \(status)", status: status, blamed: nil), at: now, ignoringCircuitBreaker: false)
        }
    }

    /// Corresponds to `Dispatch.concludeQuiet` if no request is in flight.
    private mutating func concludeQuiet(_ run: inout Run) -> Bool {
        let quiet = run.guards.filter { !$0.value.withheld.isEmpty }.keys.sorted()
        for destination in quiet { follow(run.guards[destination]!.concludeAlone(), destination, &run) }
        return !quiet.isEmpty
    }

    /// Corresponds to `Settling.settle`: applies the disposition of the operation.
    private mutating func settle(_ flight: Flight, _ run: inout Run) {
        let (item, destination) = (flight.item, items[flight.item].destination)
        let (report, verdict) = end(of: flight)
        let settlement = Settlement.decide(
            on: report, verdict: verdict, of: items[item].operation, name: items[item].name, route: route,
            inBatch: false, keepsDelivered: false, start: flight.began, now: now, using: &generator)
        items[item].operation.attempts.append(settlement.record)
        switch settlement.disposition {
        case .delivered:
            items[item].deliveries += 1
            items[item].deliveredAt = now
            done += 1
            if destination == Self.failing, flight.began >= outage.upperBound { deliveredSince += 1 }
        case .deferred(let due, let counts):
            items[item].name.gate = .retryAt(due)
            if counts { items[item].name.attempts += 1 }
            putBack(item)
        case .putBack: putBack(item)
        case .failed, .held, .superseded, .quarantined:
            if let status = verdict.status {
                run.passages[destination]!.apply(.failed(status: status), at: now, ignoringCircuitBreaker: false)
            }
            givenUp += 1
            done += 1
        }
    }

    private mutating func putBack(_ item: Int) {
        let destination = items[item].destination
        let index = waiting[destination].firstIndex { $0 > item } ?? waiting[destination].endIndex
        waiting[destination].insert(item, at: index)
    }

    /// Corresponds to `DestinationBook.tell`.
    private mutating func tell(_ run: inout Run) {
        for destination in run.passages.keys.sorted() {
            for event in run.passages[destination]!.events {
                ledger.apply(event, to: Self.names[destination], settings(of: destination), at: now)
            }
            run.passages[destination]!.events = []
        }
    }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension String {
    /// Six digits.
    fileprivate init(format6 number: Int) {
        self = String(String(number + 1_000_000).dropFirst())
    }
}
