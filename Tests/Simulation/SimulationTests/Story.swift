import Policy
import Simulation

/// Builds a history by hand: each line is an event, a second after the preceding event.
struct Story {
    var history: History
    private var now = Duration.zero
    private var requests = 0

    init(_ kinds: Setup.Kind...) { history = History(setup: Setup(kinds: kinds)) }

    mutating func event(_ process: Int, _ what: Event.What, after wait: Duration = .seconds(1)) {
        now += wait
        history.events.append(Event(time: now, process: ProcessID(process), what: what))
    }

    /// Hands an operation in. The operation's name has the label as its time of creation and its id.
    mutating func accept(
        _ label: Label, key: String? = "k", way: Offer.Way = .add, member: String? = nil, durable: Bool = true,
        type: TypeName? = nil, notBefore: Duration? = nil
    ) {
        offer(label, key: key, way: way, member: member, durable: durable, type: type, notBefore: notBefore)
        event(100 + label, .answers(label, .accepted(name(label))))
    }

    /// Begins a run that chooses among all operations.
    mutating func beginRun(_ process: Int) {
        event(process, .begins("run"))
        event(process, .runs(RunChoice()))
    }

    mutating func offer(
        _ label: Label, key: String? = "k", way: Offer.Way = .add, member: String? = nil, durable: Bool = true,
        type: TypeName? = nil, notBefore: Duration? = nil
    ) {
        var offer = Offer(
            label: label, way: way, type: type ?? history.setup.kinds[0].type, payload: payload(label, member))
        offer.key = key
        offer.notBefore = notBefore.map { history.began + now + $0 }
        offer.isDurable = durable
        event(100 + label, .begins("add"))
        event(100 + label, .offers(offer))
    }

    /// Begins to import an operation in place of an older operation, under the same id.
    mutating func replace(_ old: Label, by new: Label) {
        var offer = Offer(label: new, way: .replacing, type: history.setup.kinds[0].type, payload: payload(new))
        offer.key = "k"
        offer.id = id(old)
        offer.createdAt = name(old).createdAt
        offer.isReplacing = true
        event(100 + new, .begins("import --replace"))
        event(100 + new, .offers(offer))
    }

    /// Lets time pass.
    mutating func wait(_ time: Duration) { event(0, .serverTurns(host: "one", "well"), after: time) }

    func payload(_ label: Label, _ member: String? = nil) -> String { "{\"\(member ?? "m\(label)")\":\(label)}" }

    func id(_ label: Label) -> OperationID { OperationID("id\(label)")! }

    func name(_ label: Label) -> EntryName {
        EntryName(
            createdAt: history.began + .seconds(label), id: id(label), type: history.setup.kinds[0].type)
    }

    /// Notes the arrival of a request; returns the request's number.
    mutating func receive(
        _ labels: [Label], by process: Int, text: String? = nil, attempt: Int? = nil, key: String? = nil,
        path: String = ""
    ) -> Int {
        requests += 1
        var request = Request(
            number: requests, host: "one", bodies: [labels], text: text ?? payload(labels[0]))
        request.idempotencyKey = key ?? labels.map { "id\($0)" }.joined(separator: "+")
        request.attempt = attempt
        request.path = path
        event(process, .receives(request))
        return requests
    }

    /// A whole exchange; `status` nil loses the answer.
    mutating func send(
        _ labels: [Label], by process: Int, status: Int? = 200, applies: Bool? = nil, text: String? = nil,
        attempt: Int? = nil, retryAfter: Int? = nil, key: String? = nil, path: String = ""
    ) {
        let number = receive(labels, by: process, text: text, attempt: attempt, key: key, path: path)
        reply(number, labels, status: status, applies: applies, retryAfter: retryAfter, to: process)
    }

    mutating func reply(
        _ number: Int, _ labels: [Label], status: Int? = 200, applies: Bool? = nil, retryAfter: Int? = nil,
        to process: Int
    ) {
        let applied = applies ?? (status == 200) ? labels : []
        var reply = Reply(kind: status.map { .status($0) } ?? .lost, applied: applied)
        reply.retryAfter = retryAfter
        event(0, .replies(request: number, reply))
        event(process, .learns(request: number))
    }

    mutating func command(_ verb: Command.Verb, _ labels: [Label], by process: Int = 90, insists: Bool = false) {
        var command = Command(verb)
        command.ids = labels.map(id)
        command.insists = insists
        event(process, .commands(command))
        for label in labels { event(process, .changed(id(label))) }
        event(process, .done)
    }

    mutating func report(_ report: Report, by process: Int) { event(process, .reports(report)) }

    /// Leaves the operation's file in a directory at the end.
    mutating func leave(_ label: Label, in directory: String, name: EntryName? = nil, member: String? = nil) {
        let body = payload(label, member)
        let header = "{\"drainq\":1,\"id\":\"id\(label)\",\"length\":\(body.utf8.count)}"
        history.left.append(
            LeftFile(
                path: "\(directory)/\(name ?? self.name(label)).json".replacing(".json.json", with: ".json"),
                bytes: Array("\(header)\n\(body)\n".utf8)))
    }

    /// The properties broken by the history.
    var broken: Set<Property> { Set(Contract.broken(by: history).map(\.rule)) }

    /// Returns the history with more events.
    func then(_ more: (inout Story) -> Void) -> Story {
        var story = self
        more(&story)
        return story
    }
}

extension Setup.Kind {
    static let plain = Setup.Kind(TypeName("plain")!, host: "one")

    static func ordered(_ order: Order) -> Setup.Kind {
        var kind = plain
        kind.order = order
        return kind
    }

    static func coalescing(_ coalescing: Coalescing) -> Setup.Kind {
        var kind = plain
        kind.coalescing = coalescing
        return kind
    }
}
