import Spool
import Testing

@testable import Drain
@testable import Policy

/// `debounce`: a value of a key waits for newer ones.
struct DebounceTests {
    private func bench(merges: Bool, _ ordering: Ordering = .any) throws -> Bench {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        bench.configuration.defaultRoute.mergesPayloads = merges
        bench.configuration.defaultRoute.ordering = ordering
        bench.configuration.defaultRoute.debounce = .seconds(1)
        return bench
    }

    private func waiting(_ bench: Bench) throws -> [String: WaitReason] {
        let known = try KnownDestinations(of: bench.spool, bench.configuration, at: bench.now)
        var view = try QueueView(bench.spool, bench.configuration, known, at: bench.now)
        var reasons: [String: WaitReason] = [:]
        for name in try bench.names(.new) {
            reasons["\(name.id)"] = view.waiting(of: Entry(state: .new, name: name))
        }
        return reasons
    }

    @Test(arguments: [false, true], [Ordering.any, .key, .strict])
    func `a value waits until none has come for the time, and takes the older ones with it`(
        merges: Bool, ordering: Ordering
    ) throws {
        let bench = try bench(merges: merges, ordering)
        for number in 1...5 {
            try bench.patch("k", [#"{"a\#(number)":1}"#])
            bench.pass(.milliseconds(999))
            let summary = try bench.run()
            #expect(summary.attempts == 0 && summary.superseded == 0)
        }
        #expect(try bench.names(.new).count == 5)
        bench.pass(.milliseconds(1))
        let summary = try bench.run()
        #expect(summary.attempts == 1 && bench.events.isEmpty == false)
        #expect(bench.bodies == [merges ? #"{"a1":1,"a2":1,"a3":1,"a4":1,"a5":1}"# : #"{"a5":1}"#])
        #expect(try bench.names(.new).isEmpty && bench.names(.deferred).isEmpty)
    }

    @Test(arguments: [false, true])
    func `a named value goes at once, and no older one after it`(merges: Bool) throws {
        let bench = try bench(merges: merges)
        try bench.patch("k", [#"{"a":1}"#, #"{"a":2}"#])
        let newest = try #require(try bench.names(.new).max { $0.createdAt < $1.createdAt })
        #expect(try bench.run(RunOptions(ids: [newest.id])).delivered == (merges ? 2 : 1))
        #expect(bench.bodies == [#"{"a":2}"#])
        bench.pass(.seconds(10))
        #expect(try bench.run().attempts == 0 && bench.names(.new).isEmpty)
    }

    @Test(arguments: [false, true])
    func `a value waits at most ten times as long, however many newer ones come`(merges: Bool) throws {
        let bench = try bench(merges: merges)
        var passes = 0
        while passes < 40 {
            try bench.patch("k", [#"{"a":\#(passes)}"#])
            bench.pass(.milliseconds(500))
            passes += 1
            if try bench.run().attempts > 0 { break }
        }
        #expect(passes == 20 && bench.bodies == [#"{"a":19}"#])
        // The next value begins anew.
        try bench.patch("k", [#"{"a":20}"#])
        #expect(try bench.run().attempts == 0)
    }

    @Test func `the commands show what a value waits for, and until when`() throws {
        let bench = try bench(merges: false)
        try bench.patch("k", ["1", "2"])
        let newest = try #require(try bench.names(.new).last)
        let end = newest.createdAt + .seconds(1)
        #expect(try waiting(bench) == ["k-0": .newer(newest.id), "k-1": .newest(until: end)])
        #expect(try waiting(bench)["k-1"]?.until(bench.now) == end)
        // A value of another key, and one without a key, do not matter.
        try bench.patch("m", ["3"])
        try bench.add(1)
        #expect(try waiting(bench)["default-0"] == .nothing)
        #expect(try bench.run().delivered == 1)
        bench.pass(.seconds(1))
        #expect(try waiting(bench) == ["k-0": .newer(newest.id), "k-1": .nothing, "m-2": .nothing])
        #expect(try bench.run().delivered == 2)
    }

    @Test func `--now and a clock that has jumped end the wait`() throws {
        let bench = try bench(merges: false)
        try bench.patch("k", ["1"])
        #expect(try bench.run(RunOptions(ignoresBackoff: true)).delivered == 1)
        try bench.patch("k", ["2"])
        bench.now = bench.now - .seconds(3600)
        #expect(try bench.run().delivered == 1)
    }

    @Test func `a value that waits keeps back what is behind it in its sequence`() throws {
        let bench = try bench(merges: false, .key)
        bench.configuration.routes[TypeName("other")!] = Route(url: "http://one/", ordering: .key)
        try bench.patch("k", ["1"])
        try bench.add(1, type: "other") { $0.key = "k" }
        #expect(try bench.run().attempts == 0)
        bench.pass(.seconds(1))
        #expect(try bench.run().delivered == 2)
    }
}
