internal import Policy

/// What the outside world has seen of the operations so far, for operators who choose among them. Reads each event once.
struct Heard {
    private(set) var offers: [Label: Offer] = [:]
    private(set) var names: [Label: EntryName] = [:]
    /// The operations of each request whose answer no process has learned.
    private(set) var inFlight: [Int: [Label]] = [:]
    /// The number of requests whose end no process knows.
    private(set) var requests = 0
    /// The operations that a server has taken.
    private(set) var gone: Set<Label> = []
    private(set) var failed: [OperationID] = []
    private var count = 0

    /// Reads the events since the last time.
    mutating func read(_ events: [Event]) {
        for event in events[count...] { read(event) }
        count = events.count
    }

    private mutating func read(_ event: Event) {
        switch event.what {
        case .offers(let offer): offers[offer.label] = offer
        case .answers(let label, .accepted(let name)): names[label] = name
        case .names(let label, let name): names[label] = name
        case .receives(let request):
            inFlight[request.number] = request.bodies.flatMap { $0 }
            requests += 1
        case .replies(_, let reply): gone.formUnion(reply.applied)
        case .learns(let number):
            inFlight[number] = nil
            requests -= 1
        case .loses: requests -= 1
        case .reports(.failed(let id, _)): failed.append(id)
        default: break
        }
    }
}
