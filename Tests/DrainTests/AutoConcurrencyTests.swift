import Drain
import Spool
import Testing

@testable import Policy

struct `A run finds its concurrency` {
    @Test func `a run begins with five requests in flight, and raises the number while the server answers as fast`()
        throws
    {
        let bench = try Bench()
        try bench.add(400)
        var first = 0
        let summary = try bench.run(RunOptions(limit: 400)) { _ in
            if first == 0 { first = bench.sink!.mostInFlight }
            return .status(204)
        }
        #expect(first == 5)
        #expect(summary.delivered == 400 && summary.mostInFlight == 64)
        #expect(bench.sink?.mostInFlight == 64)
    }

    @Test(arguments: [Concurrency.auto, .atMost(16)])
    func `a shortage of this machine lowers the concurrency for the rest of the run`(concurrency: Concurrency) throws {
        let bench = try Bench()
        try bench.add(300)
        var refused = 0
        let summary = try bench.run(RunOptions(limit: 300, concurrency: concurrency)) { _ in
            // Room for seven: this request has left the sink, and six more are in flight.
            guard bench.sink!.inFlight > 6 else { return .status(204) }
            refused += 1
            return .failure(.shortage, detail: "cannot connect: Too many open files")
        }
        #expect(refused > 0 && refused < 20)
        #expect(summary.delivered == 300 - refused && summary.deferred == refused)
        for name in try bench.names(.deferred) { #expect(name.attempts == 0) }
        let ledger = try DestinationsFile(spool: bench.spool).read()["http://one"]
        #expect(ledger.failures == 0 && ledger.overload == nil)
    }

    @Test func `a shortage of this machine lowers the concurrency for no other pass`() throws {
        let bench = try Bench()
        try bench.add(30)
        var isShort = true
        var most = 0
        var world = bench.world { _ in
            if !isShort { most = max(most, bench.sink!.inFlight + 1) }
            // Room for three.
            return isShort && bench.sink!.inFlight > 2 ? .failure(.shortage, detail: "no descriptor") : .status(204)
        }
        world.renewal = {
            if isShort, bench.sink != nil { _ = try? bench.add(30) }
            isShort = bench.sink == nil
            return nil
        }
        let summary = try Run(
            spool: bench.spool, configuration: bench.configuration,
            options: RunOptions(concurrency: 8, stay: .during(.seconds(5))), world: world
        ) { _ in }()
        #expect(summary.deferred > 0 && most == 8)
    }

    @Test func `a given concurrency does not grow`() throws {
        let bench = try Bench()
        try bench.add(200)
        #expect(try bench.run(RunOptions(limit: 200, concurrency: 7)).mostInFlight == 7)
    }

    @Test func `the concurrency limit of a destination bounds the run`() throws {
        let bench = try Bench()
        bench.configuration.destinations["http://one"] = DestinationSettings(concurrency: 6)
        try bench.add(100)
        #expect(try bench.run().mostInFlight == 6)
    }

    @Test func `the next run stays below the concurrency that a server has refused`() throws {
        let bench = try Bench()
        try bench.add(200)
        // Room for three.
        let full = AttemptReport.Answer(
            status: 429, headers: [HeaderField(name: "Retry-After", value: "5")], body: [])
        let answer: (OutgoingRequest) -> AttemptReport.Result = { _ in
            bench.sink!.inFlight >= 3 ? .answer(full) : .status(204)
        }
        let first = try bench.run(RunOptions(limit: 200), answer: answer)
        #expect(first.delivered == 3 && first.mostInFlight == 5)
        let known = try DestinationsFile(spool: bench.spool).read()["http://one"].overload
        #expect(known?.inFlight == 3)
        for _ in 0..<5 {
            bench.pass(.seconds(10))
            let next = try bench.run(RunOptions(limit: 20), answer: answer)
            #expect(next.delivered == 20 && next.mostInFlight == 2)
        }
    }

    @Test func `large bodies in memory bound the concurrency`() throws {
        let bench = try Bench()
        bench.configuration.limits.operationBytes = 16 << 20
        // A compressed body is not left in its file.
        bench.configuration.defaultRoute.compress = .gzip
        let body = [UInt8](repeating: 0x61, count: 4 << 20)
        let operations = (0..<24).map { number in
            let header = OperationHeader(
                id: OperationID("large-\(number)")!, type: .default, createdAt: bench.now + .microseconds(number),
                contentType: "text/plain")
            return Operation(header: header, body: body)
        }
        try bench.spool.accept(operations)
        let summary = try bench.run()
        #expect(summary.delivered == 24 && summary.mostInFlight == 8)
    }

    @Test func `beside another run a run takes no more than its share`() throws {
        let bench = try Bench()
        try bench.add(400)
        let other = try bench.spool.beginRun(now: bench.now)
        let summary = try bench.run(RunOptions(limit: 400))
        #expect(summary.delivered == 400 && summary.mostInFlight == 32)
        try other.end()
    }

    @Test func `a slow destination does not bound the concurrency of another destination`() throws {
        let bench = try Bench()
        bench.configuration.routes[TypeName("slow")!] = Route(url: "http://two/")
        try bench.add(5, type: "slow")
        try bench.add(400)
        #expect(try bench.run(RunOptions(limit: 405)).mostInFlight == 64)
    }
}
