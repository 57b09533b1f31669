import Spool
import Testing

@testable import Drain
@testable import Policy

/// The wait reasons in commands, compared with the operations that a run sends.
struct QueueViewTests {
    private static func view(
        _ bench: Bench, _ change: (inout KnownDestinations) -> Void = { _ in }
    ) throws -> QueueView {
        var known = try KnownDestinations(of: bench.spool, bench.configuration, at: bench.now)
        change(&known)
        return try QueueView(bench.spool, bench.configuration, known, at: bench.now)
    }

    private static func waiting(_ view: QueueView, _ bench: Bench) throws -> [String: WaitReason] {
        var (view, reasons) = (view, [String: WaitReason]())
        for state in [QueueState.new, .deferred] {
            for name in try bench.names(state) {
                reasons[name.id.description] = view.waiting(of: Entry(state: state, name: name))
            }
        }
        return reasons
    }

    /// Realistic queues: waiting, held, failed and deferred operations, and a destination with an open circuit breaker.
    @Test func `a run would send exactly the operations shown as due now`() throws {
        var due = 0
        var reasons: Set<String> = []
        for seed in UInt64(0)..<40 {
            let bench = try Self.queue(SeededNumbers(seed))
            let run = Run(
                spool: bench.spool, configuration: bench.configuration, options: RunOptions(limit: 1000),
                world: bench.world { _ in .status(204) }
            ) { _ in }
            let planned = try run.plan().map(\.entry.name.id.description).sorted()
            let waiting = try Self.waiting(Self.view(bench), bench)
            #expect(planned == waiting.filter { $0.value == .nothing }.keys.sorted(), "seed \(seed)")
            due += planned.count
            reasons.formUnion(waiting.values.map { String("\($0)".prefix { $0 != "(" }) })
        }
        // The queues have something of each kind.
        #expect(due > 100)
        #expect(reasons.count >= 7, "\(reasons.sorted())")
    }

    private static func queue(_ numbers: SeededNumbers) throws -> Bench {
        var generator = numbers
        let bench = try Bench()
        var route = bench.configuration.defaultRoute
        route.ordering = [Ordering.any, .key, .strict, .newest].randomElement(using: &generator)!
        route.coalesce = Bool.random(using: &generator)
        route.mergesPayloads = route.coalesce && Bool.random(using: &generator)
        route.debounce = [nil, nil, .seconds(1), .microseconds(3)].randomElement(using: &generator)!
        route.onFailure = [OnFailure.proceed, .hold].randomElement(using: &generator)!
        bench.configuration.defaultRoute = route
        bench.configuration.destinations["http://two"] = DestinationSettings(circuitBreaker: 1)
        for _ in 0..<4 {
            for type in ["default", "default", "other"] {
                try bench.add(1, type: type, body: #"{"a":1}"#) { header in
                    header.key = ["a", "b", nil].randomElement(using: &generator)!
                    if Int.random(in: 0..<4, using: &generator) == 0 {
                        header.notBefore = header.createdAt + .seconds([-1, 30].randomElement(using: &generator)!)
                    }
                }
            }
            for name in try bench.names(.new) where Int.random(in: 0..<6, using: &generator) == 0 {
                _ = try bench.spool.hold(Entry(state: .new, name: name))
            }
            let status = [204, 404, 503].randomElement(using: &generator)!
            _ = try bench.run(RunOptions(limit: 2)) { _ in .status(status) }
            bench.now = bench.now + .seconds([1, 61].randomElement(using: &generator)!)
        }
        for type in ["default", "default", "default", "default", "other", "other"] {
            try bench.add(1, type: type, body: #"{"a":1}"#) {
                $0.key = ["a", "c", "d", "e"].randomElement(using: &generator)!
            }
        }
        return bench
    }

    @Test func `operations stopped by the conditions are not shown as due`() throws {
        let bench = try Bench()
        bench.configuration.routes[TypeName("here")!] = Route(url: "http://localhost/")
        try bench.add(1)
        try bench.add(1, type: "here")
        let refusals = Conditions(network: .online, power: .mains).refusals(in: Surroundings(isOnline: false))
        var reasons = try Self.waiting(Self.view(bench) { $0.refusals = refusals }, bench)
        #expect(
            reasons == [
                "default-0": .conditions("there is no network, and conditions.network is 'online'"),
                "here-0": .nothing,
            ])
        let onBattery = Conditions(network: .online, power: .mains).refusals(in: Surroundings(isOnBattery: true))
        reasons = try Self.waiting(Self.view(bench) { $0.refusals = onBattery }, bench)
        #expect(reasons.values.allSatisfy { $0 == .conditions(onBattery.here!) })
    }

    @Test func `an older value is retried while a newer value is not due yet`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "k" }
        #expect(try bench.run { _ in .status(404) }.failed == 1)
        try bench.add(1) { ($0.key, $0.notBefore) = ("k", $0.createdAt + .seconds(3600)) }
        var change = OperationChange(.retry(), in: bench.spool, bench.configuration, clock: bench.clock) { _ in }
        try change.perform(on: .targets([.id(try bench.names(.failed)[0].id)]))
        #expect(try bench.names(.failed).isEmpty)
        // A name has the due time in milliseconds.
        bench.now = bench.now + .milliseconds(1)
        let summary = try bench.run()
        #expect(summary.delivered == 1)
        #expect(bench.bodies == ["0"])
    }
}
