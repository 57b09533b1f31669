import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// Operations that runs do not send, and what the verdict says of them.
struct UnsentTests {
    private func health(_ bench: Bench) throws -> QueueHealth {
        let known = try KnownDestinations(showing: bench.spool, bench.configuration, at: bench.now)
        let count = try QueueCount(of: bench.spool, bench.configuration, known, at: bench.now)
        return try QueueHealth(of: bench.spool, count, known, at: bench.now)
    }

    private static func isExpired(_ request: OutgoingRequest) -> Bool {
        request.headers.contains { $0.value == "expired" }
    }

    @Test func `an operation that a run puts back is told with the reason, until a run sends it`() throws {
        let bench = try Bench()
        try bench.add(2) { $0.headers = [HeaderField(name: "Authorization", value: "expired")] }
        for _ in 0..<2 {
            try bench.add(1)
            _ = try bench.run { Self.isExpired($0) ? .status(401) : .status(204) }
            bench.pass(.seconds(60))
        }
        let told = try health(bench)
        #expect(told.findings == [.unsent] && told.unsent?.count == 2)
        #expect(told.unsent?.reason == "the server refuses its credentials with 401")
        #expect(told.unsent?.first.description == "default-0" && told.unsent!.since < bench.now)
        bench.pass(.seconds(600))
        _ = try bench.run()
        #expect(try health(bench).findings == [.well])
    }

    @Test func `an operation whose order no run can read is told with the reason, until a run sends it`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .key
        try bench.add(1) { $0.key = "a" }
        var system = SystemCalls.real
        system.sleep = { _ in }
        let spool = try SpoolDirectory(opening: bench.directory.path, system: system)
        let holder = try SpoolDirectory(opening: bench.directory.path)
        let summary = try holder.withNamesLock { () throws(SpoolError) in
            try Run(
                spool: spool, configuration: bench.configuration, options: RunOptions(),
                world: bench.world { _ in .status(204) }, report: { _ in })()
        }
        #expect(summary.leftDue == 1)
        let told = try health(bench)
        #expect(told.findings == [.unsent] && told.unsent?.count == 1)
        #expect(told.unsent?.reason == "cannot lock 'state/names.lock': Resource temporarily unavailable")
        #expect(try bench.run().delivered == 1)
        #expect(try health(bench).findings == [.well])
    }

    @Test func `an operation of a paused queue or destination is not passed over`() throws {
        let bench = try Bench()
        try bench.add(1) { $0.headers = [HeaderField(name: "Authorization", value: "expired")] }
        for _ in 0..<2 {
            try bench.add(1)
            _ = try bench.run { Self.isExpired($0) ? .status(401) : .status(204) }
            bench.pass(.seconds(301))
        }
        #expect(try health(bench).findings == [.unsent])
        try bench.spool.setPaused(true, by: "ada", at: bench.now)
        #expect(try health(bench).findings == [.paused])
        try bench.spool.setPaused(false)
        try DestinationChange(in: bench.spool, bench.configuration, clock: .ofProcess(now: { bench.now })).record(
            .paused, of: ["http://one"])
        #expect(try !health(bench).findings.contains(.unsent))
    }

    @Test func `an operation that a stopped run has in flight for an hour is told, while other runs come`() throws {
        let bench = try Bench()
        bench.now = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
        try bench.add(1)
        let stopped = try bench.spool.beginRun(now: bench.now)
        _ = try #require(try stopped.claim(Entry(state: .new, name: bench.names(.new)[0])))
        for minute in 0..<70 {
            _ = try bench.run()
            if minute == 50 { #expect(try health(bench).findings == [.working]) }
            bench.pass(.seconds(60))
        }
        #expect(try health(bench).findings == [.unsent])
        withExtendedLifetime(stopped) {}
    }

    /// Runs come each hour for two days, and only for the type `other`; the last one left so many operations over.
    @Test(arguments: [(0, [QueueHealth.Finding.unsent]), (3, [.well])])
    func `an operation that no run takes for a day is told, unless limits leave operations over`(
        left: Int, findings: [QueueHealth.Finding]
    ) throws {
        let bench = try Bench()
        bench.now = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
        bench.configuration.routes[TypeName("other")!] = Route(url: "http://one/other")
        try bench.add(1)
        for hour in 0..<48 {
            if hour == 20 { #expect(try health(bench).findings == [.well]) }
            try bench.add(1, type: "other")
            _ = try bench.run(RunOptions(types: [TypeName("other")!]))
            bench.pass(.seconds(3600))
        }
        var counts = RunCounts()
        counts.leftDue = left
        try StateFile.lastRun.replace(with: #require(StateFile.encode(counts)), in: bench.spool)
        #expect(try health(bench).findings == findings)
        #expect(try left > 0 || health(bench).unsent?.reason == nil)
    }

    @Test func `a value that nothing in the queue can leave is told, with the failed operation that would have`() throws
    {
        let bench = try Bench()
        bench.configuration = Configuration(
            defaultRoute: Route(url: "http://one/{kept.id}"),
            routes: [TypeName("create")!: Route(url: "http://one/", keep: ["id": .pointer(JSONPointer("/id")!)])])
        try bench.add(1, type: "create") { $0.key = "k" }
        try bench.add(2) { $0.key = "k" }
        #expect(try health(bench).unserved == nil)
        _ = try bench.run { _ in .status(422) }
        let failed = try health(bench)
        #expect(failed.unserved?.count == 2 && failed.unserved?.failed?.description == "create-0")
        #expect(failed.findings.contains(.unserved))
        for name in try bench.names(.failed) {
            try FileManager.default.removeItem(
                at: bench.directory.appending(path: Entry(state: .failed, name: name).path))
        }
        // A create without a key leaves its value for no other operation.
        try bench.add(1, type: "create")
        #expect(try health(bench).unserved?.failed == nil && health(bench).findings.contains(.unserved))
        try bench.add(1, type: "create") { $0.key = "k" }
        #expect(try health(bench).unserved == nil)
    }

    @Test(arguments: [
        "reports.json", "seen.json", "withheld.json", "rates.json", "day.json", "last-run.json",
    ])
    func `a damaged or newer file of the state is not known, and a newer one of figures stays`(name: String) throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run()
        #expect(try health(bench).findings == [.well])
        if name != "last-run.json" {
            try bench.spool.writeState(name, Array("{\"version\":9}\n".utf8))
            #expect(try health(bench).findings == [.unreadable([name])])
        }
        try bench.spool.writeState(name, Array("nothing\n".utf8))
        #expect(try health(bench).findings == [.unreadable([name])])
        // What a power cut leaves.
        try bench.spool.writeState(name, [0, 0, 0])
        #expect(try health(bench).findings == [.well])
    }

    @Test func `counts of the page with a number that no run writes are made anew from the log`() throws {
        let bench = try Bench()
        try bench.add(1)
        _ = try bench.run()
        var event = LogEvent(.attempts, at: bench.now, destination: "a")
        (event.delivered, event.deferred, event.held) = (1 << 53, 1 << 53, 1 << 53)
        try bench.spool.log([event, event], upTo: LogLimits(), at: bench.now)
        let made = try DayLog.update(in: bench.spool, at: bench.now)
        #expect(made.rows.map(\.counts) == [[[DayLog.halfHour(bench.now), 1 << 53, 1 << 53, 0]]])
        #expect(try health(bench).findings == [.well])
        let contents = try #require(try StateFile.day.contents(in: bench.spool))
        let text = String(decoding: contents, as: UTF8.self)
        for (part, odd) in [
            (#""offset":\d+"#, #""offset":-1"#), (#"\[\[\d+"#, "[[-9223372036854775808"),
            (#"\[\[\d+"#, "[[9223372036854775807"), (#"\[\[\d+,\d+"#, "[[1,9223372036854775807"),
            (#"\[\[\d+,"#, "[["),
        ] {
            let changed = try text.replacing(Regex(part), with: odd, maxReplacements: 1)
            try #require(changed != text)
            try bench.spool.writeState("day.json", Array(changed.utf8))
            #expect(try health(bench).findings == [.unreadable(["day.json"])], "\(odd)")
            #expect(try DayLog.read(from: bench.spool, at: bench.now) == made, "\(odd)")
        }
    }

    @Test func `a newer file of reports and names is not replaced`() throws {
        let bench = try Bench()
        let newer = Array("{\"version\":9}\n".utf8)
        for file in [StateFile.reports, .seen, .withheld] { try bench.spool.writeState(file.rawValue, newer) }
        try StateFile.reports.update(ReportLedger(), in: bench.spool) {
            $0.owe(News(.failed, "a", reason: "b", ids: []))
        }
        try SeenFiles.note(["a"], in: bench.spool)
        WithheldOperations.note([OperationID("a")!: "b"], in: bench.spool, at: bench.now)
        for file in [StateFile.reports, .seen, .withheld] {
            #expect(try file.contents(in: bench.spool) == newer, "\(file)")
        }
    }
}
