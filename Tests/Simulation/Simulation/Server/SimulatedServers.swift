internal import Delivery
internal import Policy

/// The servers of a history: the requests they receive, the effects, and the times of the answers.
final class SimulatedServers {
    private let plan: Plan
    private var chance: Chance
    private unowned let world: Universe
    private var count = 0
    /// The key of each operation, and the time at which a server last took an operation of a key.
    private let keys: [Label: String]
    private var taken: [String: Duration] = [:]
    /// Whether every server is well from now on: the calm end.
    var isCalm = false
    /// The token that servers accept.
    private var token: String { "token\(plan.tokens.count { isCalm || $0.asked <= world.scheduler.time })" }
    /// The token that a run finds.
    var knownToken: String { "token\(plan.tokens.count { isCalm || $0.known <= world.scheduler.time })" }

    init(_ plan: Plan, _ chance: Chance, in world: Universe) {
        self.plan = plan
        self.chance = chance
        self.world = world
        let offers = plan.actors.flatMap(\.role.offers)
        keys = Dictionary(offers.compactMap { offer in offer.key.map { (offer.label, $0) } }) { first, _ in first }
    }

    /// A request whose sender may die meanwhile.
    struct Sent {
        var ticket: Int
        var request: OutgoingRequest
        var host: String { SimulatedServers.host(of: request.url) }
    }

    /// Takes a request from a sink, and later gives the report to the sink.
    func take(_ sent: Sent, from sink: SimulatedSink) {
        let host = sent.host
        let plan = plan.servers[host] ?? Plan.ServerPlan()
        let scheduler = world.scheduler
        let start = scheduler.time
        let latency = chance.duration(plan.latency / 4, plan.latency * 2)
        let timeOut = sent.request.timeouts.request
        func report(_ result: AttemptReport.Result, at time: Duration) {
            scheduler.plan(at: time) {
                sink.deliver(sent.ticket, AttemptReport(result: result, duration: time - start), since: start)
            }
        }
        if !world.hasNetwork { return report(.failure(.unreachable, detail: "no route"), at: start + latency / 10) }
        if case .down = mode(of: plan, at: start) {
            return report(.failure(.refused, detail: "connection refused"), at: start + latency / 10)
        }
        let isDead = !isCalm && chance.happens(plan.agentDies)
        let isStalled = !isCalm && chance.happens(plan.stalls)
        let hangs = !isCalm && plan.agentHangs > 0 && chance.happens(plan.agentHangs)
        let trickle: Duration =
            !isCalm && plan.trickles > 0 && chance.happens(plan.trickles)
            ? chance.duration(.zero, Setup.timeout * 3) : .zero
        let deadline = start + sent.request.timeouts.total
        let arrival = start + latency / 2
        scheduler.plan(at: arrival) { [self] in
            // Agents die with their run: the server gets no request that arrives later.
            guard sink.isSending(sent.ticket, since: start) else { return }
            count += 1
            let number = count
            sink.note(sent.ticket, arrivedAs: number)
            var request = received(sent.request, host, number)
            request.sender = sink.sender
            world.note(.world, .receives(request))
            if !isCalm, let culprit = plan.culprit, request.bodies.contains(where: { $0.contains(culprit) }) {
                return sink.killSender()
            }
            var reply = reply(to: request, sent.request, plan)
            if isDead { reply.kind = .agentDied } else if isStalled { reply.kind = .lost }
            let end = isStalled ? start + timeOut : arrival + latency / 2 + trickle
            if end > deadline { reply.kind = .lost }
            world.note(.world, .replies(request: number, reply))
            if hangs { sink.hang(host) }
            switch reply.kind {
            case _ where hangs:
                // The sink kills an agent that reports an attempt too late.
                scheduler.plan(at: deadline + .seconds(5)) { sink.endAgent(of: host, .deadline) }
            case .agentDied: scheduler.plan(at: end) { sink.endAgent(of: host, .agentDied) }
            case _ where isStalled: report(.failure(.timeout, detail: "no answer"), at: end)
            case _ where end > deadline: report(.failure(.deadline, detail: "no whole answer"), at: deadline)
            case .lost: report(.failure(.reset, detail: "connection reset"), at: end)
            case .status(let status):
                report(.answer(answer(status, reply, request, sent.request)), at: end)
            }
        }
    }

    // MARK: - What a server does

    private func mode(of plan: Plan.ServerPlan, at time: Duration) -> Plan.ServerPlan.Mode {
        isCalm ? .well : plan.modes.last { $0.from <= time }?.mode ?? .well
    }

    private func received(_ request: OutgoingRequest, _ host: String, _ number: Int) -> Request {
        let text = String(decoding: request.body ?? [], as: UTF8.self)
        let isBatch = text.utf8.first == UInt8(ascii: "[")
        let bodies = isBatch ? Self.elements(of: text) : [text]
        var result = Request(number: number, host: host, bodies: bodies.map { Self.labels(in: $0) }, text: text)
        result.idempotencyKey = request.headers.first { $0.isNamed("Idempotency-Key") }?.value
        result.attempt = request.headers.first { $0.isNamed("Drainq-Attempt") }.flatMap { Int($0.value) }
        result.secret = request.headers.first { $0.isNamed("Authorization") }?.value
        result.path = String(request.url.dropFirst("http://\(host)".count))
        return result
    }

    private func reply(to request: Request, _ outgoing: OutgoingRequest, _ plan: Plan.ServerPlan) -> Reply {
        let all = request.bodies.flatMap { $0 }
        if !isCalm, chance.happens(plan.losesBefore) { return Reply(kind: .lost, applied: []) }
        var status = 200
        var retryAfter: Int?
        switch mode(of: plan, at: world.scheduler.time) {
        case .well, .down: break
        case .flaky(let other, let share): if chance.happens(share) { status = other }
        case .unauthorized: status = 401
        case .limited(let after): (status, retryAfter) = (429, after)
        case .storm(let other): status = other
        }
        if let secret = request.secret, secret != "Bearer \(token)" { status = 401 }
        if status == 200, !isCalm, isLimited(all, plan) { (status, retryAfter) = (429, 1) }
        var reply = Reply(kind: .status(status), applied: status == 200 ? all : [])
        reply.retryAfter = retryAfter
        let isBad = request.bodies.map { !plan.bad.isDisjoint(with: $0) }
        let kind = self.plan.setup.kinds.first { request.path.dropFirst().starts(with: $0.type.description) }
        // A batch of one is a batch too.
        if status == 200, kind?.hasResults ?? false, request.text.utf8.first == UInt8(ascii: "[") {
            reply.results = isBad.map { $0 ? 422 : 200 }
            reply.applied = zip(request.bodies, isBad).filter { !$0.1 }.flatMap(\.0)
        } else if status == 200, isBad.contains(true) {
            reply = Reply(kind: .status(422), applied: [])
        }
        if !isCalm, chance.happens(plan.losesAfter) { reply.kind = .lost }
        return reply
    }

    /// Whether the server has just taken another operation of a key. Notes that it takes these otherwise.
    private func isLimited(_ labels: [Label], _ plan: Plan.ServerPlan) -> Bool {
        guard let pause = plan.keyPause else { return false }
        let now = world.scheduler.time
        let these = labels.compactMap { keys[$0] }
        if these.contains(where: { key in taken[key].map { now - $0 < pause } ?? false }) { return true }
        for key in these { taken[key] = now }
        return false
    }

    private func answer(
        _ status: Int, _ reply: Reply, _ request: Request, _ outgoing: OutgoingRequest
    ) -> AttemptReport.Answer {
        var headers: [HeaderField] = []
        if let after = reply.retryAfter { headers.append(HeaderField(name: "Retry-After", value: "\(after)")) }
        var body = #"{"id":"k\#(request.bodies.first?.last ?? 0)"}"#
        if let results = reply.results {
            body = #"{"results":[\#(results.map { #"{"status":\#($0)}"# }.joined(separator: ","))]}"#
        }
        headers.append(HeaderField(name: "Content-Type", value: "application/json"))
        return AttemptReport.Answer(status: status, headers: headers, body: Array(body.utf8))
    }

    // MARK: - Texts

    private static func host(of url: String) -> String {
        String(url.dropFirst("http://".count).prefix { $0 != "/" })
    }

    /// Returns the labels in a payload: the payload's numbers.
    static func labels(in text: String) -> [Label] { labels(in: text.utf8) }

    static func labels(in text: some Collection<UInt8>) -> [Label] {
        var labels: [Label] = []
        var number: Int?
        var isAfterColon = false
        for byte in text {
            if (0x30...0x39).contains(byte), isAfterColon {
                number = (number ?? 0) * 10 + Int(byte - 0x30)
                continue
            }
            if let found = number { labels.append(found) }
            number = nil
            isAfterColon = byte == UInt8(ascii: ":")
        }
        return labels
    }

    /// The elements of an array of flat objects.
    private static func elements(of text: String) -> [String] {
        var elements: [String] = []
        var element = ""
        var depth = 0
        for character in text.unicodeScalars {
            if character == "{" { depth += 1 }
            if depth > 0 { element.unicodeScalars.append(character) }
            if character == "}" {
                depth -= 1
                if depth == 0 {
                    elements.append(element)
                    element = ""
                }
            }
        }
        return elements
    }
}
