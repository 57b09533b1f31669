import CSystem
import Foundation
import Spool
import Testing

@testable import Drain
@testable import DrainqCLI
@testable import Policy

/// What a run without a terminal reports, and what later runs know of it.
struct RunReporterTests {
    private static let place = "https://a.example"

    private func failure(_ number: Int) -> RunEvent {
        let record = AttemptRecord(
            at: .now(), duration: .zero, outcome: .failed, status: 422, rule: "the default", counted: true)
        return .attempted(
            AttemptEvent(
                id: OperationID("failed-\(number)")!, type: .default, destination: Self.place,
                settlement: Settlement(ofFailed: record), attempts: 1, attemptsAllowed: nil))
    }

    @Test func `a failure that mail keeps quiet about is owed to mail until the report is written`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "reporter-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        var isFull = false
        var system = SystemCalls.real
        system.rename = { (directory, from, target, to) throws(Errno) in
            if isFull, String(cString: to).hasSuffix("reports.json") { throw Errno(ENOSPC) }
            try SystemCalls.real.rename(directory, from, target, to)
        }
        let spool = try SpoolDirectory.create(at: directory.path, system: system)
        let subject = ReportLedger.Subject.mail(Cause(status: 422), at: Self.place)
        func owed() throws -> Int {
            try StateFile.reports.read(ReportLedger.self, in: spool).map { $0.owed(subject) } ?? -1
        }
        func record(_ run: inout RunReporter) -> Bool {
            do {
                try StateFile.reports.update(ReportLedger(), in: spool) { run.mail(in: &$0, DestinationLedger()) }
                run.haveMailed()
                return true
            } catch {
                return false
            }
        }
        var first = RunReporter(detail: .actionable, mailOf: spool)
        first.take(failure(1))
        var isRecorded = [record(&first)]
        #expect(try owed() == 0, "the run has told the failure itself")
        var second = RunReporter(detail: .actionable, mailOf: spool)
        second.take(failure(2))
        isFull = true
        isRecorded += [record(&second), record(&second)]
        #expect(try owed() == 0)
        isFull = false
        second.take(failure(3))
        isRecorded.append(record(&second))
        #expect(try owed() == 2)
        isRecorded.append(record(&second))
        #expect(try owed() == 2, "once")
        #expect(isRecorded == [true, false, false, true, true])
    }

    /// A queue in a new directory.
    private final class TemporaryQueue {
        let directory = FileManager.default.temporaryDirectory.appending(path: "reporter-\(UUID().uuidString)")
        let spool: SpoolDirectory

        init(system: SystemCalls = .real) throws {
            spool = try SpoolDirectory.create(at: directory.path, system: system)
        }

        deinit { try? FileManager.default.removeItem(at: directory) }

        var ledger: ReportLedger {
            get throws { try StateFile.reports.read(ReportLedger.self, in: spool) ?? ReportLedger() }
        }

        var logged: [LogEvent.Kind] {
            get throws {
                var kinds: [LogEvent.Kind] = []
                try spool.forEachLogLine { if let event = LogEvent(line: $0) { kinds.append(event.kind) } }
                return kinds
            }
        }

        /// Makes a run that meets this event. Returns whether its reports were written at the end of its pass.
        func run(_ event: RunEvent? = nil) -> Bool {
            var reporter = RunReporter(detail: .actionable, mailOf: spool)
            var observer = RunObserver(of: OpenQueue(spool: spool, configuration: Configuration()))
            if let event {
                reporter.take(event)
                observer.take(event, at: .now())
            }
            let summary = RunSummary(startedAt: .now(), timeSpent: TimeSpent(now: .now))
            let isRecorded = observer.endPass(summary, .ok, &reporter)
            observer.finish(summary, .ok, &reporter)
            return isRecorded
        }
    }

    @Test func `a failure that the log refuses is counted once, and logged once the log can be written`() throws {
        let queue = try TemporaryQueue()
        let log = queue.directory.appending(path: "state/log")
        try Data().write(to: log)
        #expect(queue.run(failure(1)), "the ledger owes the lines: the mark of the failure ends")
        let owed: [LogEvent.Kind] = [.attempts, .failed, .run]
        for _ in 0..<2 {
            #expect(try queue.ledger.lines.map(\.kind) == owed)
            #expect(try queue.ledger.counters.destinations[Self.place]?[.failed] == 1)
            #expect(queue.run())
        }
        try FileManager.default.removeItem(at: log)
        for _ in 0..<2 {
            #expect(queue.run())
            #expect(try queue.logged == owed && queue.ledger.lines.isEmpty)
        }
    }

    @Test func `a failure reaches neither the log nor the counters before the ledger owes it to all`() throws {
        var isFull = true
        var system = SystemCalls.real
        system.rename = { (directory, from, target, to) throws(Errno) in
            if isFull, String(cString: to).hasSuffix("reports.json") { throw Errno(ENOSPC) }
            try SystemCalls.real.rename(directory, from, target, to)
        }
        let queue = try TemporaryQueue(system: system)
        // The mark of the failure stays, and each run finds it.
        for _ in 0..<2 { #expect(!queue.run(failure(1))) }
        #expect(try !queue.logged.contains(.failed))
        isFull = false
        #expect(queue.run(failure(1)))
        #expect(try queue.logged.count { $0 == .failed } == 1)
        #expect(try queue.ledger.counters.destinations[Self.place]?[.failed] == 1)
    }

    @Test func `a summary that cannot be written does not keep a failure from being told`() throws {
        let queue = try TemporaryQueue()
        try FileManager.default.createDirectory(
            at: queue.directory.appending(path: "state/.last-run.json"), withIntermediateDirectories: false)
        #expect(queue.run(failure(1)))
    }

    @Test func `the log gets the hold that a run has begun and not told, and its end`() throws {
        let queue = try TemporaryQueue()
        let file = DestinationsFile(spool: queue.spool)
        func record(_ event: DestinationEvent) throws {
            try file.record([(Self.place, event)], settings: { _ in DestinationSettings() }, at: .now(), durable: false)
        }
        try record(.held(reason: "401", status: 401, blamed: "", cause: Cause(status: 401), began: .now()))
        for _ in 0..<2 { #expect(queue.run()) }
        #expect(try queue.logged == [.held])
        try record(.released)
        for _ in 0..<2 { #expect(queue.run()) }
        #expect(try queue.logged == [.held, .released])
    }

    @Test func `a hold is told by the first run that ends after it, and the next one anew`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "reporter-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let spool = try SpoolDirectory.create(at: directory.path)
        let file = DestinationsFile(spool: spool)
        func record(_ event: DestinationEvent) throws -> DestinationState.Hold? {
            let settings: (String) -> DestinationSettings = { _ in DestinationSettings() }
            return try file.record([(Self.place, event)], settings: settings, at: .now(), durable: false)[Self.place]
                .hold
        }
        func held() -> DestinationEvent {
            .held(reason: "401", status: 401, blamed: "", cause: Cause(status: 401), began: .now())
        }
        func hasTold(_ hold: DestinationState.Hold) throws -> Bool {
            try StateFile.reports.read(ReportLedger.self, in: spool)?.hasTold(hold, of: Self.place) == true
        }
        // The run that began it was killed.
        let first = try #require(try record(held()))
        #expect(try !hasTold(first))
        func run() throws {
            var reporter = RunReporter(detail: .actionable, mailOf: spool)
            let destinations = try file.read()
            try StateFile.reports.update(ReportLedger(), in: spool) { reporter.mail(in: &$0, destinations) }
        }
        try run()
        #expect(try hasTold(first))
        let told = try StateFile.reports.contents(in: spool)
        try run()
        #expect(try StateFile.reports.contents(in: spool) == told, "once")
        // An operator releases it; another one begins.
        #expect(try record(.released) == nil)
        let second = try #require(try record(held()))
        #expect(try !hasTold(second))
        try run()
        #expect(try hasTold(second))
    }
}
