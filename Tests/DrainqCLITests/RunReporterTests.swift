import CSystem
import Drain
import Foundation
import Spool
import Testing

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
        var first = RunReporter(detail: .actionable, mailOf: spool)
        first.take(failure(1))
        var isRecorded = [first.endPass()]
        #expect(try owed() == 0, "the run has told the failure itself")
        var second = RunReporter(detail: .actionable, mailOf: spool)
        second.take(failure(2))
        isFull = true
        isRecorded += [second.endPass(), second.endPass()]
        #expect(try owed() == 0)
        isFull = false
        second.take(failure(3))
        isRecorded.append(second.endPass())
        #expect(try owed() == 2)
        isRecorded.append(second.endPass())
        #expect(try owed() == 2, "once")
        #expect(isRecorded == [true, false, false, true, true])
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
        var run = RunReporter(detail: .actionable, mailOf: spool)
        var isRecorded = run.endPass()
        #expect(try isRecorded && hasTold(first))
        let told = try StateFile.reports.contents(in: spool)
        isRecorded = run.endPass()
        #expect(try isRecorded && StateFile.reports.contents(in: spool) == told, "once")
        // An operator releases it; another one begins.
        #expect(try record(.released) == nil)
        let second = try #require(try record(held()))
        #expect(try !hasTold(second))
        isRecorded = run.endPass()
        #expect(try isRecorded && hasTold(second))
    }
}
