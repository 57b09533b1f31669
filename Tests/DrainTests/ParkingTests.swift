import Delivery
import Spool
import Testing

@testable import Drain
@testable import Policy

struct `Refused operations` {
    /// Returns an answer that refuses the bodies with these numbers, and accepts the rest.
    private static func refusing(_ numbers: Int..., with status: Int = 403) -> (OutgoingRequest) -> AttemptReport.Result
    {
        { request in
            numbers.contains(Int(String(decoding: request.body ?? [], as: UTF8.self)) ?? -1)
                ? .status(status) : .status(204)
        }
    }

    private func parked(_ bench: Bench) throws -> [String] {
        try bench.state(of: "http://one").parking.entries.map(\.id.description)
    }

    private func tellings(_ bench: Bench) -> [Int] {
        bench.events.compactMap { if case .parked(_, _, _, let times) = $0 { times } else { nil } }
    }

    private func names(_ bench: Bench, _ state: QueueState) throws -> [String] {
        try bench.names(state).map(\.id.description)
    }

    @Test(arguments: [401, 403, 407])
    func `an operation refused alone is parked, uncharged, and the next operation is its witness`(status: Int) throws {
        let bench = try Bench()
        try bench.add(1)
        let first = try bench.run(answer: Self.refusing(0, with: status))
        #expect(first.attempts == 1 && first.deferred == 1 && first.held == 0 && first.failed == 0)
        #expect(try bench.names(.new).map(\.attempts) == [0])
        #expect(try bench.state(of: "http://one").hold == nil && parked(bench) == ["default-0"])
        // Alone, the operation is not attempted again.
        #expect(try bench.run(answer: Self.refusing(0, with: status)).attempts == 0)
        try bench.add(1)
        let last = try bench.run(answer: Self.refusing(0, with: status))
        #expect(bench.bodies == ["1", "0"])
        #expect(last.delivered == 1 && last.failed == 1)
        #expect(try names(bench, .failed) == ["default-0"] && parked(bench).isEmpty)
        #expect(bench.holds == 0)
    }

    @Test func `a run that ends before a witnessed operation leaves it due`() throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run(answer: Self.refusing(0))
        try bench.add(1)
        let summary = try bench.run(RunOptions(maxTime: .seconds(1))) { _ in
            bench.pass(.seconds(1))
            return .status(204)
        }
        #expect(bench.bodies == ["1"] && summary.leftDue == 1 && summary.outcomes == [.deferred])
    }

    @Test func `a retry ends the parking of its operation, and the next run sends it`() throws {
        let bench = try Bench()
        try bench.add(1)
        #expect(try bench.run(answer: Self.refusing(0)).deferred == 1)
        #expect(try parked(bench) == ["default-0"])
        var change = OperationChange(.retry(), in: bench.spool, bench.configuration, clock: bench.clock) { _ in }
        try change.perform(on: .targets([.id(OperationID("default-0")!)]))
        #expect(try parked(bench).isEmpty)
        #expect(try bench.run { _ in .status(204) }.delivered == 1)
    }

    @Test func `an operation with the id of a parked one that was dropped is sent`() throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run(answer: Self.refusing(0))
        let entry = Entry(state: .new, name: try #require(try bench.names(.new).first))
        #expect(try bench.spool.drop(entry))
        try bench.add(1) { $0.id = entry.name.id }
        #expect(try bench.run(answer: Self.refusing(0)).delivered == 1)
        #expect(bench.bodies == ["1"])
    }

    @Test func `a delivery by a request from before the refusal is no witness`() throws {
        let bench = try Bench()
        try bench.add(3)
        let parts = try Parts(bench)
        let attempts = try parts.attempts()
        bench.now = bench.now + .milliseconds(5)
        // The password changes while the three are in flight.
        parts.take(401, of: attempts[1])
        parts.take(204, of: attempts[0])
        parts.take(204, of: attempts[2])
        _ = parts.concludeQuiet()
        let summary = parts.tally.summary
        #expect(summary.delivered == 2 && summary.failed == 0)
        let state = attempts[0].destination.state
        #expect(state.parking.entries.map(\.isWitnessed) == [false])
    }

    @Test func `delivered members of a batch are witnesses of its refused members`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.batch = Batch(max: 10)
        try bench.add(4)
        let parts = try Parts(bench)
        let attempts = try parts.attempts()
        bench.now = bench.now + .milliseconds(5)
        for (index, member) in attempts[0].members.enumerated() {
            let alone = Attempt(attempts[0], of: [member])
            alone.isShared = true
            parts.take(index < 2 ? 403 : 204, of: alone)
        }
        #expect(parts.tally.summary.delivered == 2 && attempts[0].destination.state.hold == nil)
        // The refused members are attempted alone, because members with the same credentials were delivered.
        #expect(attempts[0].destination.urgent.count == 2)
    }

    @Test func `a witness recorded together with its refusal counts`() throws {
        let bench = try Bench()
        try bench.add(1)
        var state = DestinationState()
        let operation = Age(createdAt: bench.now, id: OperationID("a")!)
        let refusal = Parking.Refusal(operation: operation, status: 403, credentials: "token", blamed: "x")
        let (parked, began) = (bench.now, bench.now + .milliseconds(50))
        for event in [
            DestinationEvent.parked(refusal, at: parked), .witnessed(credentials: "token", began: began),
        ] {
            // The ledger applies both events at its next write.
            state.apply(event, DestinationSettings(), at: bench.now + .seconds(1))
        }
        #expect(state.parking.entries.map(\.isWitnessed) == [true])
    }

    @Test func `an operation a minute with bad credentials holds the destination`() throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run { _ in .status(401) }
        bench.now = bench.now + .seconds(60)
        try bench.add(1)
        let summary = try bench.run { _ in .status(401) }
        #expect(summary.held == 1 && bench.holds == 1)
        #expect(try bench.names(.new).map(\.attempts) == [0, 0] && parked(bench).isEmpty)
        bench.now = bench.now + .seconds(60)
        try bench.add(1)
        #expect(try bench.run { _ in .status(401) }.attempts == 0)
        #expect(tellings(bench) == [1])
    }

    @Test func `two refused operations do not hold a destination that accepts the newest operation`() throws {
        let bench = try Bench()
        try bench.add(10)
        let summary = try bench.run(RunOptions(limit: 6, concurrency: 1), answer: Self.refusing(0, 1))
        #expect(summary.failed == 2 && summary.held == 0 && bench.holds == 0)
    }

    @Test func `after an inconclusive witness the refused operation is parked, and all other operations go on`() throws
    {
        let bench = try Bench()
        bench.configuration.defaultRoute.retry.attempts = 9
        try bench.add(10)
        let summary = try bench.run(RunOptions(concurrency: 1)) { request in
            switch String(decoding: request.body ?? [], as: UTF8.self) {
            case "0": .status(403)
            case "9": .status(500)
            default: .status(204)
            }
        }
        #expect(summary.delivered == 8 && summary.deferred == 2 && summary.held == 0)
        #expect(try names(bench, .new) == ["default-0"])
        // The operation was parked before the other deliveries.
        #expect(try bench.run(answer: Self.refusing(0)).failed == 1)
    }

    @Test
    func `an operation that stays alone is attempted again after five minutes, then hourly, and reported each time`()
        throws
    {
        let bench = try Bench()
        try bench.add(1)
        for (seconds, attempts) in [(0, 1), (299, 0), (2, 1), (3599, 0), (2, 1)] {
            bench.now = bench.now + .seconds(seconds)
            #expect(try bench.run { _ in .status(403) }.attempts == attempts, "\(seconds)")
        }
        #expect(tellings(bench) == [1, 2, 3] && bench.holds == 0)
        bench.now = bench.now + .seconds(3601)
        #expect(try bench.run().delivered == 1)
        #expect(try parked(bench).isEmpty)
    }

    @Test func `a parked operation is attempted again as soon as the credentials change, and not before`() throws {
        let bench = try Bench()
        var secret = "old"
        bench.credentials.values = { _, _ in SecretValues(values: ["token": secret]) }
        bench.configuration.secrets = ["token": .environment("TOKEN")]
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "Bearer ${secret:token}")]
        try bench.add(1)
        _ = try bench.run { _ in .status(401) }
        #expect(try bench.run().attempts == 0)
        #expect(try bench.run(RunOptions(ignoresBackoff: true)).attempts == 0)
        secret = "new"
        #expect(try bench.run().delivered == 1)
    }

    @Test func `a refusal with a renewed secret's old value fails nothing`() throws {
        let bench = try Bench()
        var secret = "old"
        bench.credentials.values = { _, _ in SecretValues(values: ["token": secret]) }
        bench.configuration.secrets = ["token": .environment("TOKEN")]
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        try bench.add(3)
        let first = try bench.run(RunOptions(concurrency: 1)) { request in
            defer { secret = "new" }
            return request.headers.contains { $0.value == "old" } ? .status(401) : .status(204)
        }
        #expect(first.failed == 0 && first.delivered == 2)
        #expect(try bench.run().delivered == 1)
    }

    @Test func `a contradicted operation is sent once more with today's secrets, and fails by them only`() throws {
        let bench = try Bench()
        var (secret, served) = ("one", 0)
        bench.credentials.values = { _, _ in SecretValues(values: ["token": secret]) }
        bench.configuration.secrets = ["token": .environment("TOKEN")]
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        try bench.add(2)
        let summary = try bench.run(RunOptions(concurrency: 1)) { request in
            served += 1
            // The first operation is refused with the first value and delivered with the second.
            if served == 2 { secret = "two" }
            return request.body == Array("0".utf8) && request.headers.contains { $0.value == "one" }
                ? .status(403) : .status(204)
        }
        #expect(summary.delivered == 2 && summary.failed == 0 && served == 3)
    }

    @Test func `a hold for a secret that was renewed before the hold ends at once`() throws {
        let bench = try Bench()
        var (secret, served) = ("old", 0)
        bench.credentials.values = { _, _ in SecretValues(values: ["token": secret]) }
        bench.configuration.secrets = ["token": .environment("TOKEN")]
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        try bench.add(3)
        _ = try bench.run(RunOptions(concurrency: 1)) { _ in
            served += 1
            if served == 2 { secret = "new" }
            return .status(401)
        }
        #expect(try bench.run().delivered == 3)
    }

    @Test(arguments: [true, false])
    func `a hold has the present reason for which the file of its secret is refused, and tells it once`(
        wasAnswer: Bool
    ) throws {
        let bench = try Bench()
        var secrets = SecretValues(values: ["token": "old"])
        if !wasAnswer { secrets = SecretValues(failures: ["token": "is not there"]) }
        bench.credentials.values = { _, _ in secrets }
        bench.configuration.secrets = ["token": .file("token")]
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        try bench.add(2)
        _ = try bench.run(RunOptions(concurrency: 1)) { _ in .status(401) }
        #expect(bench.holds == 1)
        for (number, reason) in ["has mode 0644", "belongs to another user"].enumerated() {
            secrets = SecretValues(failures: ["token": reason])
            for _ in 0..<2 {
                bench.now = bench.now + .seconds(1)
                #expect(try bench.run().attempts == 0)
            }
            let hold = try bench.state(of: "http://one").hold
            #expect(hold?.cause?.words == "the secret 'token' \(reason)" && hold?.status == nil)
            #expect(bench.holds == number + 2)
        }
        secrets = SecretValues(values: ["token": "new"])
        #expect(try bench.run().delivered == 2)
    }

    @Test func `a hold for an answer stays in a run whose environment lacks the secret`() throws {
        let bench = try Bench()
        var secrets = SecretValues(values: ["token": "old"])
        bench.credentials.values = { _, _ in secrets }
        bench.configuration.secrets = ["token": .environment("TOKEN")]
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        try bench.add(2)
        _ = try bench.run(RunOptions(concurrency: 1)) { _ in .status(401) }
        secrets = SecretValues(failures: ["token": "is not set"])
        #expect(try bench.run().attempts == 0)
        #expect(try bench.state(of: "http://one").hold?.status == 401 && bench.holds == 1)
    }

    @Test func `operations with refused credentials of their own wait, and hold nothing`() throws {
        let bench = try Bench()
        try bench.add(5) { $0.headers = [HeaderField(name: "Authorization", value: "expired")] }
        let refused = { (request: OutgoingRequest) -> AttemptReport.Result in
            request.headers.contains { $0.value == "expired" } ? .status(401) : .status(204)
        }
        let first = try bench.run(RunOptions(concurrency: 1), answer: refused)
        #expect(first.attempts == 2 && first.deferred == 5 && first.held == 0 && bench.holds == 0)
        try bench.add(3)
        let second = try bench.run(RunOptions(limit: 2, concurrency: 1), answer: refused)
        #expect(second.delivered == 2 && second.attempts == 2)
        bench.now = bench.now + .seconds(301)
        let third = try bench.run(RunOptions(concurrency: 1), answer: refused)
        #expect(third.attempts == 2 && third.delivered == 1)
        #expect(try bench.names(.new).map(\.attempts) == [0, 0, 0, 0, 0])
    }

    @Test func `a delivery with another credential is no witness`() throws {
        let bench = try Bench()
        bench.credentials.values = { names, _ in
            SecretValues(values: Dictionary(uniqueKeysWithValues: names.map { ($0, "x") }))
        }
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:mine}")]
        bench.configuration.routes[TypeName("open")!] = Route(url: "http://one/open")
        try bench.add(1)
        try bench.add(1, type: "open")
        let summary = try bench.run(RunOptions(concurrency: 1)) {
            $0.url.hasSuffix("open") ? .status(204) : .status(403)
        }
        #expect(summary.delivered == 1 && summary.failed == 0 && summary.deferred == 1)
        #expect(try bench.run { _ in .status(403) }.attempts == 0)
        #expect(try parked(bench) == ["default-0"])
    }

    @Test func `a refused batch is sampled with a single member, and each member is attempted alone before a failure`()
        throws
    {
        let bench = try Bench()
        bench.configuration.defaultRoute.batch = Batch(max: 10)
        try bench.add(4)
        let summary = try bench.run(RunOptions(concurrency: 1)) { request in
            let body = String(decoding: request.body ?? [], as: UTF8.self)
            return body.contains("1") ? .status(403) : .status(204)
        }
        #expect(summary.delivered == 3 && summary.failed == 1 && summary.held == 0)
        #expect(bench.bodies.prefix(2) == ["[0,1,2,3]", "[3]"])
        #expect(try names(bench, .failed) == ["default-1"])
    }

    @Test func `a batch whose sample is refused, too, holds the destination after two requests`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.batch = Batch(max: 10)
        try bench.add(4)
        let summary = try bench.run { _ in .status(401) }
        #expect(summary.attempts == 2 && summary.held == 4 && bench.holds == 1)
    }

    // MARK: - Order

    @Test func `operations behind a parked operation of their key wait, and no operation of another key`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .key
        try bench.add(3) { $0.key = "a" }
        let first = try bench.run { _ in .status(403) }
        #expect(first.attempts == 1 && first.held == 0)
        #expect(try bench.run().attempts == 0)
        try bench.add(2) { $0.key = "b" }
        let last = try bench.run(answer: Self.refusing(0))
        #expect(last.failed == 1 && last.delivered == 4)
        #expect(bench.bodies == ["3", "4", "0", "1", "2"])
    }

    @Test func `a refusal in strict order holds the destination: no operation behind may be its witness`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .strict
        try bench.add(3)
        #expect(try bench.run { _ in .status(401) }.held == 3)
        #expect(bench.bodies == ["0"] && bench.holds == 1)
    }

    @Test func `a newer value supersedes a parked value`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "a" }
        _ = try bench.run { _ in .status(403) }
        try bench.add(1) { $0.key = "a" }
        let summary = try bench.run()
        #expect(summary.superseded == 1 && summary.delivered == 1 && bench.bodies == ["1"])
        #expect(try bench.names(.new).isEmpty)
    }

    @Test func `a newer value is a sample only once its older values are gone`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        for number in 0..<4 { try bench.add(1) { $0.key = "\(number)" } }
        // A key with more older values than the limit, and with the newest value of the queue.
        try bench.add(6) { $0.key = "k" }
        _ = try bench.run(RunOptions(limit: 2, concurrency: 1), answer: Self.refusing(0))
        #expect(bench.bodies == ["0", "9", "0", "1"])
        var sent: [String] = []
        while try !bench.names(.new).isEmpty {
            _ = try bench.run(RunOptions(limit: 2), answer: Self.refusing(0))
            if bench.bodies.isEmpty { break }
            sent += bench.bodies
        }
        #expect(sent == ["2", "3"])
    }

    @Test func `a parked operation whose destination is then held is counted once`() throws {
        let bench = try Bench()
        try bench.add(2)
        let summary = try bench.run(RunOptions(concurrency: 1)) { _ in .status(401) }
        #expect(summary.attempts == 2 && summary.held == 2 && summary.deferred == 0)
    }

    @Test func `a run until the queue is empty does not wait for a witness`() throws {
        let bench = try Bench()
        try bench.add(1)
        #expect(try bench.run(RunOptions(stay: .untilEmpty)) { _ in .status(403) }.attempts == 1)
    }

    // MARK: - Sent at once

    private func send(_ bench: Bench, _ id: String, answer: Int) throws -> String {
        let result = try bench.send(id) { _ in .status(answer) }
        if case .failed(let event) = result { return "failed: \(event.record.rule)" }
        return result.word
    }

    @Test func `a single refusal is an error of send, and only a held destination queues operations`() throws {
        let bench = try Bench()
        let alone = "failed: status 403: default 403 holds, but no other operation was refused: fails"
        #expect(try send(bench, "a", answer: 403) == alone)
        #expect(try send(bench, "a", answer: 403) == alone)
        #expect(try send(bench, "b", answer: 204) == "delivered")
        #expect(try send(bench, "c", answer: 403) == alone)
        #expect(try send(bench, "d", answer: 403) == "held")
        #expect(try bench.state(of: "http://one").hold?.reason == "status 403: default 403 holds")
        #expect(try send(bench, "e", answer: 204) == "held")
    }

    @Test func `a delivery by send is a witness of a parked operation`() throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run { _ in .status(403) }
        #expect(try send(bench, "a", answer: 204) == "delivered")
        #expect(try bench.run { _ in .status(403) }.failed == 1)
    }
}
