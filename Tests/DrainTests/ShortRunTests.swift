import CSystem
import Delivery
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// Runs that end by their time or by a signal before their servers have answered enough: what they have learned counts
/// for the next run.
struct ShortRunTests {
    /// Makes short runs as cron does, one a minute, against a server that takes a second for each answer.
    private func runs(
        _ count: Int, _ bench: Bench, endedBySignal: Bool = false,
        answer: @escaping (OutgoingRequest) -> AttemptReport.Result
    ) throws -> [RunSummary] {
        try (0..<count).map { _ in
            var requests = 0
            let time = endedBySignal ? nil : Duration.seconds(2)
            let summary = try bench.run(RunOptions(concurrency: 1, maxTime: time)) { request in
                bench.pass(.seconds(1))
                requests += 1
                if endedBySignal, requests == 2 { bench.signals = [15] }
                return answer(request)
            }
            bench.signals = []
            bench.pass(.seconds(60))
            return summary
        }
    }

    @Test(arguments: [Ordering.any, .key], [false, true])
    func `a storm costs at most five operations and then holds, however short the runs are`(
        ordering: Ordering, endedBySignal: Bool
    ) throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = ordering
        for number in 0..<20 { try bench.add(1) { $0.key = "\(number)" } }
        let summaries = try runs(6, bench, endedBySignal: endedBySignal) { _ in .status(404) }
        // The third run has one refusal and then one sample with the same end.
        #expect(summaries.map(\.failed) == [2, 2, 0, 0, 0, 0])
        #expect(summaries.map(\.attempts) == [2, 2, 2, 0, 0, 0])
        #expect(bench.holds == 1 && summaries[2].held == 16)
        #expect(try bench.names(.failed).count == 4 && bench.names(.new).map(\.attempts).allSatisfy { $0 == 0 })
    }

    @Test func `a run of two requests holds no destination for two permanent answers, whatever its limit`() throws {
        let bench = try Bench()
        try bench.add(9)
        let summary = try bench.run(RunOptions(limit: 1, concurrency: 1, maxTime: .seconds(2))) { _ in
            bench.pass(.seconds(1))
            return .status(404)
        }
        #expect(summary.attempts == 2 && summary.failed == 2 && bench.holds == 0)
    }

    @Test func `an incident costs as many operations while no run can write the ledger`() throws {
        var isFull = true
        var system = SystemCalls.real
        system.open = { (directory, path, flags, mode) throws(Errno) in
            if isFull, String(cString: path) == "state/.destinations.json" { throw Errno(ENOSPC) }
            return try SystemCalls.real.open(directory, path, flags, mode)
        }
        let bench = try Bench(system: system)
        for number in 0..<9 {
            isFull = number < 7
            try bench.add(1)
            _ = try bench.run(RunOptions(concurrency: 1)) { _ in .status(404) }
        }
        #expect(try bench.names(.failed).count == 5 && bench.names(.new).count == 4)
        #expect(try bench.state(of: "http://one").storm?.count == 5 && bench.state(of: "http://one").hold != nil)
    }

    @Test func `the failures of a dead run count once, whether or not it has written the ledger`() throws {
        for hasWritten in [true, false] {
            let bench = try Bench()
            try bench.add(2)
            var world = bench.world { _ in .status(404) }
            world.reportsDue = { _ in false }
            for _ in 0..<2 {
                _ = try Run(
                    spool: bench.spool, configuration: bench.configuration, options: RunOptions(), world: world,
                    report: { _ in })()
                #expect(try bench.state(of: "http://one").storm?.count == 2)
                if !hasWritten {
                    try FileManager.default.removeItem(at: bench.directory.appending(path: "state/destinations.json"))
                }
            }
            _ = try bench.run()
            #expect(try bench.state(of: "http://one").storm?.count == 2)
        }
    }

    @Test func `a refusal of credentials parks its operation although the run ends before a witness`() throws {
        let bench = try Bench()
        try bench.add(3)
        let summary = try bench.run(RunOptions(concurrency: 1, maxTime: .seconds(1))) { _ in
            bench.pass(.seconds(1))
            return .status(403)
        }
        #expect(summary.attempts == 1 && summary.failed == 0 && bench.holds == 0)
        #expect(try bench.state(of: "http://one").parking.entries.map(\.id.description) == ["default-0"])
        let next = try bench.run(RunOptions(concurrency: 1)) { _ in .status(403) }
        #expect(next.attempts == 2 && next.failed == 0 && bench.holds == 1)
    }

    @Test func `no refused operation comes back whose successor is cut off`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .key
        try bench.add(2) { $0.key = "a" }
        let failures = Array(repeating: ("http://one", DestinationEvent.failed(status: 404)), count: 5)
        _ = try DestinationsFile(spool: bench.spool).record(
            failures, settings: { _ in DestinationSettings() }, at: bench.now, durable: false)
        // The agents break once the successor is in flight as a sample.
        bench.configuration.defaultRoute.headersCommand = ["sign"]
        bench.credentials.signed = { _, request in
            if request.body == Array("1".utf8) { bench.sink?.failure = SinkError("gone") }
            return []
        }
        let summary = try bench.run(RunOptions(concurrency: 1)) { _ in .status(404) }
        #expect(bench.bodies == ["0", "1"] && summary.cutOff == 1)
        #expect(try bench.names(.failed).map(\.id.description) == ["default-0"])
    }

    @Test func `no refused operation comes back whose successor may have arrived`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .key
        try bench.add(2) { $0.key = "a" }
        for number in 0..<12 { try bench.add(1) { $0.key = "\(number)" } }
        let summary = try bench.run(RunOptions(concurrency: 1)) { request in
            request.body == Array("1".utf8) ? .failure(.timeout, detail: "") : .status(422)
        }
        #expect(bench.bodies.prefix(3).contains("1") && bench.holds == 1 && summary.failed == 1)
        #expect(try bench.names(.failed).map(\.id.description) == ["default-0"])
        #expect(try bench.names(.deferred).map(\.id.description) == ["default-1"])
    }

    @Test func `a refused operation that cannot be taken back stays failed, and is told`() throws {
        var system = SystemCalls.real
        system.renameNoReplace = { (directory, from, to) throws(Errno) in
            if String(cString: from).hasPrefix("failed/") { throw Errno(ENOSPC) }
            try SystemCalls.real.renameNoReplace(directory, from, to)
        }
        let bench = try Bench(system: system)
        bench.configuration.defaultRoute.ordering = .key
        for number in 0..<12 { try bench.add(1) { $0.key = "\(number)" } }
        let summary = try bench.run(RunOptions(concurrency: 1)) { _ in .status(422) }
        #expect(bench.holds == 1 && summary.failed == 8)
        #expect(try bench.names(.failed).count == 8 && bench.names(.new).count == 4)
    }

    @Test func `send fails an operation whose refusal comes with a signal`() throws {
        let bench = try Bench()
        let result = try bench.send("a") { _ in
            bench.signals = [15]
            return .status(404)
        }
        #expect(result.word == "failed")
    }

    @Test func `a batch that was refused is not sent again by the next run`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.batch = Batch(max: 8)
        try bench.add(8)
        var sent: [[String]] = []
        for _ in 0..<8 {
            _ = try runs(1, bench) { request in
                let body = String(decoding: request.body ?? [], as: UTF8.self)
                return body.contains("3") ? .status(422) : .status(204)
            }
            sent.append(bench.bodies)
            if sent.count == 1 { #expect(try bench.state(of: "http://one").incident != nil) }
        }
        #expect(sent[0] == ["[0,1,2,3,4,5,6,7]", "[0,1,2,3]"])
        #expect(sent.joined().count { $0 == "[0,1,2,3,4,5,6,7]" } == 1)
        #expect(try bench.names(.failed).map(\.id.description) == ["default-3"])
        #expect(try bench.names(.new).isEmpty && bench.names(.deferred).isEmpty)
    }

    /// Returns the bodies that runs of one request each send.
    private func sent(_ runs: Int, _ bench: Bench, answer: @escaping (String) -> Int) throws -> [String] {
        try (0..<runs).flatMap { _ in
            _ = try bench.run(RunOptions(concurrency: 1, maxTime: .seconds(1))) { request in
                bench.pass(.seconds(1))
                return .status(answer(String(decoding: request.body ?? [], as: UTF8.self)))
            }
            return bench.bodies
        }
    }

    private func merging() throws -> Bench {
        let bench = try Bench()
        (bench.configuration.defaultRoute.coalesce, bench.configuration.defaultRoute.mergesPayloads) = (true, true)
        return bench
    }

    @Test func `a merged document that was refused is not sent again by the next run`() throws {
        let bench = try merging()
        try bench.patch("k", [#"{"a":1}"#, #"{"b":2}"#, #"{"c":3}"#])
        let sent = try sent(4, bench) { $0.contains("b") ? 422 : 204 }
        #expect(sent == [#"{"a":1,"b":2,"c":3}"#, #"{"a":1}"#, #"{"b":2}"#, #"{"c":3}"#])
        #expect(try bench.names(.failed).map(\.id.description) == ["k-1"])
        #expect(try bench.names(.new).isEmpty && bench.names(.deferred).isEmpty)
    }

    @Test func `a merged document refused although a witness was delivered is not sent again by the next run`() throws {
        let bench = try merging()
        try bench.patch("k", [#"{"a":1}"#, #"{"b":2}"#])
        try bench.patch("m", [#"{"c":3}"#])
        let sent = try sent(4, bench) { $0.contains("b") ? 403 : 204 }
        #expect(sent == [#"{"a":1,"b":2}"#, #"{"c":3}"#, #"{"a":1,"b":2}"#, #"{"a":1}"#])
    }
}
