import Testing

@testable import Policy

struct `Concurrency finds itself` {
    /// Compares the default limit of five with an adaptive limit.
    @Test func `an adaptive limit drains a server of 50 ms and room for 64 ten times as fast as a limit of five`() {
        var fixed = CrowdedServer()
        fixed.add(fixed: 5)
        fixed.go(until: .seconds(10))
        var adaptive = CrowdedServer()
        adaptive.add()
        adaptive.go(until: .seconds(10))
        #expect(adaptive.delivered() >= 10 * fixed.delivered())
        #expect(adaptive.clients[0].access.concurrency?.limit == 64)
    }

    @Test(arguments: [1, 3, 7, 20, 40])
    func `a server with room for few requests refuses at most two a minute`(room: Int) {
        var server = CrowdedServer(room: room)
        server.takes = { _ in .milliseconds(500) }
        server.add()
        server.go(until: .seconds(900))
        // The limit is searched in the first minute.
        for minute in 1..<15 {
            let refused = server.refusals.count { $0 >= .seconds(60 * minute) && $0 < .seconds(60 * (minute + 1)) }
            #expect(refused <= 2, "minute \(minute)")
        }
        if room == 3 { #expect(server.refusals.count { $0 < .seconds(60) } <= 2) }
        #expect(server.refusals.count { $0 < .seconds(60) } <= max(5, room / 2))
        // The run uses at least four fifths of the server's room.
        #expect(server.delivered(from: .seconds(300), to: .seconds(900)) * 5 >= 600 * 2 * room * 4)
    }

    @Test func `if requests queue at the server, the limit stays near the number of its workers`() {
        var server = CrowdedServer(workers: 8)
        server.takes = { .milliseconds(40 + $0 * 7 % 20) }
        server.add()
        server.go(until: .seconds(60))
        #expect((8...20).contains(server.clients[0].access.concurrency!.limit))
        #expect(server.delivered(from: .seconds(1), to: .seconds(60)) * 10 >= 59 * 160 * 9)
    }

    @Test func `a server saturated by five requests at once gets at most ten`() {
        var server = CrowdedServer(workers: 2)
        server.add()
        server.go(until: .seconds(60))
        #expect(server.clients[0].access.concurrency!.limit <= 10)
    }

    @Test func `slow requests among fast requests do not lower the limit`() {
        var server = CrowdedServer()
        server.takes = { $0 % 10 == 0 ? .seconds(1) : .milliseconds(20 + $0 % 7) }
        server.add()
        server.go(until: .seconds(20))
        #expect(server.clients[0].access.concurrency?.limit == 64)
    }

    @Test func `slow requests on new connections do not lower the limit`() {
        var server = CrowdedServer()
        // Each growth of the limit opens as many connections.
        server.takes = { $0 < 200 && $0 % 2 == 0 ? .milliseconds(150) : .milliseconds(50) }
        server.add()
        server.go(until: .seconds(5))
        #expect(server.clients[0].access.concurrency?.limit == 64)
    }

    @Test(arguments: [3, 16, 40, 64])
    func `two runs share the server's room about equally`(room: Int) {
        var server = CrowdedServer(room: room)
        server.takes = { _ in .milliseconds(200) }
        server.add()
        server.add(at: .seconds(30))
        server.go(until: .seconds(330))
        let (first, second) = (server.delivered(0, from: .seconds(60)), server.delivered(1, from: .seconds(60)))
        #expect(min(first, second) * 3 >= max(first, second) * 2, "\(first) and \(second)")
        #expect((first + second) * 10 >= 270 * 5 * room * 6, "\(first + second)")
    }

    @Test func `a second run that starts at a full server records no overload, and both use the room`() {
        var concurrency = AdaptiveConcurrency(runs: 2, at: CrowdedServer.start)
        let starts = (1...5).map { concurrency.begin(inFlight: $0) }
        for start in starts { #expect(concurrency.noteRefusal(of: start) == nil) }
        #expect(concurrency.limit == 2)
        var server = CrowdedServer(room: 24)
        server.add()
        server.add(at: .seconds(2))
        server.go(until: .seconds(22))
        #expect(server.delivered(from: .seconds(4)) * 10 >= 18 * 20 * 24 * 6, "\(server.delivered(from: .seconds(4)))")
    }

    @Test func `runs without knowledge of each other share a server about equally`() {
        // Two queues: each run believes that it is alone.
        var limits = [AdaptiveConcurrency(at: CrowdedServer.start), AdaptiveConcurrency(at: CrowdedServer.start)]
        var sums = [0, 0]
        var generator = SeededGenerator(seed: 7)
        for round in 0..<4000 {
            let total = limits[0].limit + limits[1].limit
            for run in 0..<2 {
                let starts = (1...limits[run].limit).map { limits[run].begin(inFlight: $0) }
                let isRefused = total > 40 && Int.random(in: 0..<total, using: &generator) < limits[run].limit
                if isRefused {
                    _ = limits[run].noteRefusal(of: starts.last!)
                } else {
                    for start in starts {
                        _ = limits[run].delivered(
                            start, after: .milliseconds(50), overload: nil, at: CrowdedServer.start)
                    }
                }
                if round >= 500 { sums[run] += limits[run].limit }
            }
        }
        #expect(sums.min()! * 3 >= sums.max()! * 2, "\(sums)")
    }

    @Test func `the next run begins below the recorded overload`() {
        var first = CrowdedServer(room: 3)
        first.add()
        first.go(until: .seconds(5))
        #expect(first.clients[0].access.state.overload?.inFlight == 4)
        let known = DestinationState(overload: Overload(inFlight: 4, at: CrowdedServer.start))
        var second = CrowdedServer(room: 3, knowing: known)
        second.add()
        second.go(until: .seconds(40))
        #expect(second.refusals.isEmpty)
        #expect(second.delivered() >= 40 * 60 * 8 / 10)
    }

    @Test func `the limit grows after the server gets more room`() {
        var server = CrowdedServer(room: 3)
        server.add()
        server.go(until: .seconds(30))
        server.room = .max
        server.go(until: .seconds(200))
        #expect(server.clients[0].access.concurrency?.limit == 64)
        #expect(server.clients[0].access.state.overload == nil)
    }

    @Test func `refusals of attempts begun together halve the limit once`() {
        var concurrency = AdaptiveConcurrency(at: CrowdedServer.start)
        let starts = (1...5).map { concurrency.begin(inFlight: $0) }
        #expect(concurrency.noteRefusal(of: starts[4]) == 5)
        #expect(concurrency.limit == 2)
        // The lowest refused number counts, in any order of refusals.
        #expect(concurrency.noteRefusal(of: starts[3]) == 4)
        #expect(concurrency.limit == 2)
        #expect(concurrency.noteRefusal(of: concurrency.begin(inFlight: 2)) == 2)
        #expect(concurrency.limit == 1)
    }

    @Test func `the operations of a batch count as a single attempt`() {
        var concurrency = AdaptiveConcurrency(at: CrowdedServer.start)
        let starts = (1...5).map { concurrency.begin(inFlight: $0) }
        for _ in 0..<100 {
            _ = concurrency.delivered(starts[0], after: .milliseconds(50), overload: nil, at: CrowdedServer.start)
        }
        #expect(concurrency.limit == 5)
    }

    @Test func `a limit does not grow while fewer attempts are in flight`() {
        var concurrency = AdaptiveConcurrency(at: CrowdedServer.start)
        for _ in 0..<100 {
            let start = concurrency.begin(inFlight: 4)
            _ = concurrency.delivered(start, after: .milliseconds(50), overload: nil, at: CrowdedServer.start)
        }
        #expect(concurrency.limit == 5)
    }
}

struct OverloadTests {
    private let now = CrowdedServer.start

    @Test func `the refused number is tried again after a minute, then after twice the wait each time`() {
        var overload = Overload(inFlight: 4, at: now)
        for (times, minutes) in [1, 2, 4, 8, 16, 16].enumerated() {
            #expect(overload.times == min(times + 1, 6))
            let wait = Duration.seconds(60 * minutes)
            #expect(overload.sustainable(at: overload.at + wait - .milliseconds(1)) == 3)
            #expect(overload.sustainable(at: overload.at + wait) == 4)
            overload = overload.joined(by: 4, at: overload.at + wait)
        }
    }

    @Test func `a lower overload counts at once, a higher does not, and one request is always sustainable`() {
        let overload = Overload(inFlight: 4, at: now)
        #expect(overload.joined(by: 9, at: now + .seconds(1)) == overload)
        #expect(overload.joined(by: 2, at: now + .seconds(1)) == Overload(inFlight: 3, at: now + .seconds(1)))
        #expect(Overload(inFlight: 1, at: now).sustainable(at: now) == 1)
    }

    @Test func `a clock set back does not delay the next increase`() {
        #expect(Overload(inFlight: 4, at: now).sustainable(at: now - .seconds(3600)) == 4)
    }
}
