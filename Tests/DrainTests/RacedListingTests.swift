import Delivery
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// Listings without snapshots: other processes add, rename, drop and recover at every read of a directory.
///
/// `DRAINQ_RACED_READS` sets the number of reads for each case. The default is 1,500; 100,000 take about a minute.
struct RacedListingTests {
    static let reads =
        ProcessInfo.processInfo.environment["DRAINQ_RACED_READS"].flatMap { Int($0) } ?? 1500

    enum Kind: CaseIterable {
        case key, strict, coalesce, coalesceByKey

        var route: Route {
            var route = Route(
                url: "http://one/{key}", retry: BackoffSchedule(delays: .list([.seconds(60)]), attempts: 9999))
            switch self {
            case .key: route.ordering = .key
            case .strict: route.ordering = .strict
            case .coalesce: route.coalesce = true
            case .coalesceByKey:
                route.coalesce = true
                route.ordering = .key
            }
            return route
        }
    }

    @Test(arguments: Kind.allCases)
    func `no operation is sent after a newer operation of its sequence, and none is lost`(kind: Kind) throws {
        let race = try Race(kind.route, isStrict: kind == .strict, seed: 1)
        try race.play(reads: Self.reads)
        #expect(race.overtaken.isEmpty, "\(race.overtaken.prefix(3))")
        #expect(try race.lost().isEmpty)
        #expect(race.delivered > 0 && race.moves > 0)
    }

    @Test(arguments: Kind.allCases)
    func `no operation is lost, also if other processes ignore the names lock`(kind: Kind) throws {
        let race = try Race(kind.route, isStrict: kind == .strict, seed: 2, ignoresLocks: true)
        try race.play(reads: Self.reads)
        #expect(try race.lost().isEmpty)
        #expect(race.delivered > 0 && race.moves > 0)
    }
}

/// Runs over a small queue, with other processes that disturb the listings.
private final class Race {
    private let bench: Bench
    private let listing: RacedListing
    /// The other processes.
    private let others: SpoolDirectory
    private let isStrict: Bool
    private var generator: SeededNumbers
    private var number = 0
    private var accepted: Set<OperationID> = []
    /// Operations delivered, dropped by an operator, or superseded.
    private var ended: Set<OperationID> = []
    /// The newest sent operation of each sequence.
    private var newest: [String: Int] = [:]
    private var dying: SpoolRun?
    private(set) var overtaken: [String] = []
    private(set) var delivered = 0
    private(set) var moves = 0

    init(_ route: Route, isStrict: Bool, seed: UInt64, ignoresLocks: Bool = false) throws {
        bench = try Bench()
        bench.configuration.defaultRoute = route
        listing = RacedListing(seed: seed)
        others = try SpoolDirectory(
            opening: bench.directory.path, system: RacedListing.calm(ignoresLocks: ignoresLocks))
        self.isStrict = isStrict
        generator = SeededNumbers(seed)
    }

    func play(reads: Int) throws {
        let spool = try SpoolDirectory(opening: bench.directory.path, system: listing.calls)
        listing.disturb = { self.disturb() }
        while listing.reads < reads {
            for _ in 0..<4 { add() }
            dieSlowly()
            bench.now = bench.now + .seconds(61)
            let run = Run(
                spool: spool, configuration: bench.configuration, options: RunOptions(concurrency: 3),
                world: bench.world { self.answer($0) }
            ) { event in
                if case .superseded(let name, _, _) = event { self.ended.insert(name.id) }
                if case .attempted(let event) = event, event.settlement.disposition == .superseded {
                    self.ended.insert(event.id)
                }
            }
            _ = try run()
        }
        dying = nil
    }

    /// Returns the accepted operations that have not ended and are nowhere in the queue.
    func lost() throws -> Set<OperationID> {
        var left = accepted.subtracting(ended)
        for state in QueueState.allCases { try others.forEachEntry(in: state) { left.remove($0.name.id) } }
        for item in try others.quarantined() { if let name = item.name { left.remove(name.id) } }
        return left
    }

    private func answer(_ request: OutgoingRequest) -> AttemptReport.Result {
        let number = Int(String(decoding: request.body ?? [], as: UTF8.self))!
        let sequence = isStrict ? "" : request.url
        if let sent = newest[sequence], sent > number { overtaken.append("\(number) after \(sent) of \(request.url)") }
        newest[sequence] = max(newest[sequence] ?? number, number)
        if generator.next() % 4 == 0 { return .status(503) }
        ended.insert(OperationID("o\(number)")!)
        delivered += 1
        return .status(200)
    }

    private func add() {
        number += 1
        bench.now = bench.now + .microseconds(1)
        let header = OperationHeader(
            id: OperationID("o\(number)")!, createdAt: bench.now, contentType: "application/json",
            key: "k\(generator.next() % 3)")
        let operation = Operation(header: header, body: Array("\(number)".utf8))
        do {
            try others.accept([operation], by: bench.configuration)
            accepted.insert(header.id)
        } catch {
            // The listing run has the names lock, and the adder waits.
            if (error as? SpoolError)?.isLocked != true { Issue.record("\(error)") }
        }
    }

    /// Begins a run that claims an operation and dies later.
    private func dieSlowly() {
        guard generator.next() % 3 == 0, dying == nil else { return }
        do {
            let run = try others.beginRun(now: bench.now)
            guard let entry = try waiting().randomElement(using: &generator) else { return try run.end() }
            _ = try run.claim(entry)
            dying = run
        } catch {
            Issue.record("\(error)")
        }
    }

    private func waiting() throws -> [Entry] {
        var entries: [Entry] = []
        for state in [QueueState.new, .deferred] { try others.forEachEntry(in: state) { entries.append($0) } }
        return entries
    }

    /// One step of another process.
    private func disturb() {
        do {
            switch generator.next() % 16 {
            case 0: add()
            case 1: dying = nil
            case 2:
                let run = try others.beginRun(now: bench.now)
                _ = try run.recover(now: bench.now, maximumInterruptions: 99)
                try run.end()
            case 3...11:
                guard let entry = try waiting().randomElement(using: &generator) else { return }
                try operate(on: entry)
            default: break
            }
        } catch {
            // The listing run has the names lock, and the operator waits.
            if (error as? SpoolError)?.isLocked != true { Issue.record("\(error)") }
        }
    }

    private func operate(on entry: Entry) throws {
        switch generator.next() % 10 {
        case 0: if try others.drop(entry) { ended.insert(entry.name.id) }
        case 1...3: if try others.retry(entry, now: bench.now) != nil { moves += 1 }
        case 4...6: if try others.hold(entry) != nil { moves += 1 }
        default: if try others.release(entry, now: bench.now) != nil { moves += 1 }
        }
    }
}
