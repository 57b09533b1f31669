import Delivery
import Spool
import Testing

@testable import Drain
@testable import Policy

struct NetworkTests {
    private static let away = NetworkState(hasInterface: false, hasRoute: false, hasDefaultRoute: false)

    private func sayings(_ bench: Bench) -> [Bool] {
        bench.events.compactMap { if case .networkAbsent(_, let isNew) = $0 { isNew } else { nil } }
    }

    @Test
    func `runs without a network spend no attempts, report the absence once, and deliver when the network is back`()
        throws
    {
        let bench = try Bench()
        bench.networkState = Self.away
        try bench.add(3)
        try bench.add(2, type: "other")
        let first = try bench.run(RunOptions(concurrency: 1)) { _ in .failure(.dns, detail: "") }
        #expect(first.attempts == 1 && first.waiting == 5 && first.failed + first.deferred + first.held == 0)
        #expect(first.conditions == "this machine has no network: no interface but loopback is up")
        for _ in 0..<5 {
            let later = try bench.run { _ in .failure(.dns, detail: "") }
            #expect(later.attempts == 0 && later.waiting == 5)
            #expect(later.conditions == first.conditions)
        }
        #expect(sayings(bench) == [true])
        #expect(try bench.names(.new).map(\.attempts) == [0, 0, 0, 0, 0])
        #expect(try bench.state(of: "http://one").isBlank)
        bench.networkState = NetworkState()
        #expect(try bench.run().delivered == 5)
        bench.networkState = Self.away
        try bench.add(1)
        _ = try bench.run { _ in .failure(.refused, detail: "") }
        #expect(sayings(bench) == [true, true])
    }

    @Test func `without a network each destination gets a request at most, whatever the concurrency`() throws {
        let bench = try Bench()
        bench.networkState = Self.away
        try bench.add(20)
        try bench.add(20, type: "other")
        let summary = try bench.run(RunOptions(concurrency: 5)) { _ in .failure(.unreachable, detail: "") }
        #expect(summary.attempts <= 2 && summary.waiting == 40)
        #expect(try bench.names(.new).count == 40)
    }

    @Test func `a network that looks absent and works is used to the full after the first attempt`() throws {
        let bench = try Bench()
        bench.networkState = NetworkState(hasDefaultRoute: false)
        try bench.add(20)
        #expect(try bench.run(RunOptions(concurrency: 5)).delivered == 20)
        #expect(bench.sink?.mostInFlight == 5)
    }

    @Test func `requests in flight when the network goes are not charged either`() throws {
        let bench = try Bench()
        try bench.add(20)
        let summary = try bench.run(RunOptions(concurrency: 5)) { _ in
            bench.networkState = Self.away
            return .failure(.unreachable, detail: "")
        }
        #expect(summary.attempts <= 5 && summary.waiting == 20)
        #expect(try bench.names(.new).count == 20)
    }

    @Test func `a request that may have left is recorded, and its attempt is not counted`() throws {
        let bench = try Bench()
        bench.networkState = Self.away
        try bench.add(1)
        let summary = try bench.run { _ in .failure(.timeout, detail: "") }
        #expect(summary.failed == 0)
        let name = try #require(try bench.names(.deferred).first)
        #expect(name.attempts == 0)
        guard case .operation(let stored)? = try bench.spool.read(Entry(state: .deferred, name: name)) else {
            Issue.record("it cannot be read")
            return
        }
        #expect(stored.operation.attempts.map(\.accused) == [.network])
        #expect(stored.operation.attempts.map(\.counted) == [false])
        bench.networkState = NetworkState()
        bench.now = bench.now + .seconds(1)
        #expect(try bench.run().delivered == 1)
    }

    @Test func `destinations on loopback go on without a network, and their errors count`() throws {
        let bench = try Bench()
        bench.networkState = Self.away
        bench.configuration.routes[TypeName("other")!] = Route(url: "http://127.0.0.1/")
        try bench.add(2)
        try bench.add(2, type: "other")
        let summary = try bench.run(RunOptions(concurrency: 1)) {
            $0.url.hasPrefix("http://one") ? .failure(.dns, detail: "") : .status(204)
        }
        #expect(summary.delivered == 2 && summary.waiting == 2)
        try bench.add(1, type: "other")
        let refused = try bench.run(RunOptions(types: [TypeName("other")!])) { _ in .failure(.refused, detail: "") }
        #expect(refused.deferred == 1)
        #expect(try bench.names(.deferred).map(\.attempts) == [1])
    }

    @Test func `a sample without a network fails no operation`() throws {
        let bench = try Bench()
        bench.networkState = Self.away
        try bench.add(30)
        let summary = try bench.run(RunOptions(limit: 10, concurrency: 1)) {
            Int(String(decoding: $0.body ?? [], as: UTF8.self))! < 5 ? .status(404) : .failure(.dns, detail: "")
        }
        #expect(summary.failed == 0)
        #expect(try bench.names(.new).count == 30)
    }

    @Test func `conditions are checked again during a run`() throws {
        let bench = try Bench()
        bench.configuration.conditions = Conditions(network: .unmetered)
        try bench.add(60)
        let summary = try bench.run(RunOptions(concurrency: 1)) { _ in
            if bench.sink?.requests.count == 2 {
                bench.surroundings = Surroundings(isMetered: true)
                bench.pass(.seconds(2))
            }
            return .status(204)
        }
        #expect(summary.delivered == 2 && summary.waiting == 58)
        #expect(summary.conditions == "the network is metered, and conditions.network is 'unmetered'")
    }

    @Test func `send without a network queues the operation uncharged`() throws {
        let bench = try Bench()
        bench.networkState = Self.away
        let result = try bench.send("a") { _ in .failure(.dns, detail: "") }
        #expect(result.word == "deferred" && result.reason.contains("this machine has no network"))
        #expect(try bench.names(.new).map(\.attempts) == [0])
    }
}
