@testable import Policy

/// Simulates runs of a queue that never empties, and the server of its only destination. The policy decides how many
/// attempts a run has in flight. The simulation provides the time, the server and the server's queue.
struct CrowdedServer {
    static let start = Timestamp(rfc3339: "2026-11-23T00:00:00Z")!

    /// The number of requests the server works on at once. Further requests queue.
    var workers = 64
    /// The number of requests the server accepts before a refusal. A refusal takes a millisecond.
    var room = Int.max
    var retryAfter = Duration.seconds(1)
    /// The duration of a request, by its number.
    var takes: (Int) -> Duration = { _ in .milliseconds(50) }

    private(set) var clients: [Client] = []
    private(set) var deliveries: [(client: Int, at: Duration)] = []
    private(set) var refusals: [Duration] = []
    private var now = Duration.zero
    private var inside: [Flight] = []
    /// The time at which each worker is free again.
    private var free: [Duration] = []
    private var requests = 0
    private var ledger = DestinationState()
    private var nextLook = Duration.seconds(1)

    struct Client {
        var access: DestinationAccess
        var inFlight = 0
        var joins: Duration
        /// The fixed concurrency limit of the run; `nil` if the limit is adaptive.
        var fixed: Int?
    }

    private struct Flight {
        let client: Int
        let start: AdaptiveConcurrency.Start?
        let began: Duration
        let ends: Duration
        let isRefused: Bool
    }

    init(workers: Int = 64, room: Int = .max, knowing ledger: DestinationState = DestinationState()) {
        self.workers = workers
        self.room = room
        self.ledger = ledger
    }

    /// Adds a run that begins at `joins`.
    mutating func add(at joins: Duration = .zero, fixed: Int? = nil) {
        let adaptive = fixed == nil ? AdaptiveConcurrency(overload: ledger.overload, at: Self.start) : nil
        let access = DestinationAccess(settings: DestinationSettings(), state: ledger, concurrency: adaptive)
        clients.append(Client(access: access, joins: joins, fixed: fixed))
    }

    var time: Timestamp { Self.start + now }

    /// Simulates until `end`.
    mutating func go(until end: Duration) {
        free = Array(repeating: .zero, count: workers)
        while now < end {
            for client in clients.indices { send(client) }
            let next = [inside.map(\.ends).min(), nextLook, end, wake].compactMap { $0 }.min()!
            now = max(now, next)
            if now >= nextLook { look() }
            let landed = inside.filter { $0.ends <= now }.sorted { $0.ends < $1.ends }
            inside.removeAll { $0.ends <= now }
            for flight in landed { land(flight) }
        }
    }

    /// Returns the number of a client's deliveries in a period; of all clients if `client` is `nil`.
    func delivered(_ client: Int? = nil, from: Duration = .zero, to: Duration = .seconds(1_000_000)) -> Int {
        deliveries.count { (client ?? $0.client) == $0.client && $0.at >= from && $0.at < to }
    }

    /// The next time at which a blocked client may go on or a client joins; `nil` if no client waits.
    private var wake: Duration? {
        clients.compactMap { client in
            if client.joins > now { return client.joins }
            return client.access.block?.until.map { $0 - Self.start }.flatMap { $0 > now ? $0 : nil }
        }.min()
    }

    private mutating func send(_ index: Int) {
        guard clients[index].joins <= now else { return }
        if clients[index].access.block != nil { clients[index].access.update(at: time, ignoringCircuitBreaker: false) }
        while clients[index].inFlight < min(clients[index].fixed ?? .max, clients[index].access.concurrencyLimit) {
            clients[index].inFlight += 1
            let start = clients[index].access.begin(inFlight: clients[index].inFlight)
            let isRefused = inside.count >= room
            var ends = now + .milliseconds(1)
            if !isRefused {
                let worker = free.indices.min { free[$0] < free[$1] }!
                requests += 1
                ends = max(now, free[worker]) + takes(requests)
                free[worker] = ends
            }
            inside.append(Flight(client: index, start: start, began: now, ends: ends, isRefused: isRefused))
        }
    }

    private mutating func land(_ flight: Flight) {
        clients[flight.client].inFlight -= 1
        var events: [DestinationEvent] = [.delivered(began: time)]
        if flight.isRefused {
            events = [.answered, .retryAfter(until: time + retryAfter)]
            refusals.append(now)
        } else {
            deliveries.append((flight.client, now))
        }
        for event in events { clients[flight.client].access.apply(event, at: time, ignoringCircuitBreaker: false) }
        if let start = flight.start {
            clients[flight.client].access.adapt(to: events, of: start, after: now - flight.began, at: time)
        }
    }

    /// Exchanges the ledger between the runs, as runs do each second.
    private mutating func look() {
        let here = clients.indices.filter { clients[$0].joins <= now }
        for index in here {
            for event in clients[index].access.events { ledger.apply(event, DestinationSettings(), at: time) }
            clients[index].access.events = []
        }
        for index in here {
            clients[index].access.share(with: here.count, at: time)
            clients[index].access.adoptOtherRuns(ledger, at: time)
        }
        nextLook = now + .seconds(1)
    }
}
