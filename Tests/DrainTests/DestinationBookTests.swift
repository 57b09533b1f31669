import CSystem
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// The knowledge of destinations, and its record in the ledger.
struct DestinationBookTests {
    private func hold(_ parts: Parts, _ destination: RunDestination) {
        parts.book.hold(
            destination, nil, reason: .storm(status: 404, answers: 5), began: Timestamp(microseconds: 0))
        parts.book.tell()
    }

    @Test func `a book reads the hold that another book has recorded`() throws {
        let bench = try Bench()
        let (one, other) = (try Parts(bench), try Parts(bench))
        let identity = Destination(named: "http://one")
        hold(one, one.book.destination(identity, bench.now))
        #expect(try other.book.read(identity, bench.now).block?.reason == .held)
    }

    @Test(arguments: [true, false])
    func `a hold stays while the lock of the state cannot be had, with the key of its cause or without`(
        hasKey: Bool
    ) throws {
        let bench = try Bench()
        let one = try Parts(bench)
        let identity = Destination(named: "http://one")
        hold(one, one.book.destination(identity, bench.now))
        let lock = "\(bench.spool.path)/state/lock"
        unlink(lock)
        mkdir(lock, 0o700)
        if !hasKey { unlink("\(bench.spool.path)/state/key") }
        let other = try Parts(bench)
        #expect(try other.book.read(identity, bench.now).block?.reason == .held)
    }

    @Test(arguments: [true, false])
    func `a change of the ledger is synced if the ledger has a hold, and not otherwise`(isHeld: Bool) throws {
        var count = 0
        var system = SystemCalls.real
        system.fsync = { file throws(Errno) in
            count += 1
            try SystemCalls.real.fsync(file)
        }
        let bench = try Bench(system: system)
        let parts = try Parts(bench)
        let destination = parts.book.destination(Destination(named: "http://one"), bench.now)
        count = 0
        if isHeld {
            hold(parts, destination)
        } else {
            parts.book.apply(.unreachable("refused"), to: destination, at: bench.now)
            parts.book.tell()
        }
        #expect((count > 0) == isHeld)
    }

    @Test func `a hold that cannot be written counts, and is told once, until another process writes`() throws {
        var isFull = true
        var system = SystemCalls.real
        system.open = { (directory, path, flags, mode) throws(Errno) in
            if isFull, String(cString: path) == "state/.destinations.json" { throw Errno(ENOSPC) }
            return try SystemCalls.real.open(directory, path, flags, mode)
        }
        let bench = try Bench(system: system)
        let (one, other) = (try Parts(bench), try Parts(bench))
        let identity = Destination(named: "http://one")
        hold(one, one.book.destination(identity, bench.now))
        for _ in 0..<2 { #expect(try one.book.read(identity, bench.now).block?.reason == .held) }
        isFull = false
        #expect(try one.book.read(identity, bench.now).block?.reason == .held)
        #expect(try bench.state(of: "http://one").hold != nil && bench.holds == 1)
        isFull = true
        hold(one, one.book.destination(Destination(named: "http://two"), bench.now))
        isFull = false
        other.book.apply(.released, to: other.book.destination(identity, bench.now), at: bench.now)
        other.book.tell()
        one.book.tell()
        #expect(try one.book.read(identity, bench.now).block == nil)
    }

    @Test func `a hold stays although another run drew the key of fingerprints first`() throws {
        let bench = try Bench()
        let (one, other) = (try Parts(bench), try Parts(bench))
        let identity = Destination(named: "http://one")
        hold(other, other.book.destination(Destination(named: "http://two"), bench.now))
        hold(one, one.book.destination(identity, bench.now))
        #expect(try one.book.read(identity, bench.now).block?.reason == .held)
        #expect(try other.book.read(identity, bench.now).block?.reason == .held)
    }

    @Test
    func `a pass adopts an open circuit breaker or a retry-after that another run has recorded`() throws {
        for event in [DestinationEvent.unreachable("refused"), .retryAfter(until: .init(microseconds: .max))] {
            let bench = try Bench()
            let (one, other) = (try Parts(bench), try Parts(bench))
            let identity = Destination(named: "http://one")
            let (here, there) = (one.book.destination(identity, bench.now), other.book.destination(identity, bench.now))
            for _ in 0..<there.settings.circuitBreaker { other.book.apply(event, to: there, at: bench.now) }
            other.book.tell()
            #expect(!here.isBlocked)
            try one.book.adoptRecords()
            #expect(here.isBlocked && here.block?.reason == there.block?.reason)
            // The answer to a request in flight arrives.
            one.book.apply(.delivered(began: bench.now), to: here, at: bench.now)
            #expect(here.isBlocked == (there.block?.reason == .retryAfter), "an answer closes the circuit breaker only")
        }
    }

    @Test func `a run that ignores backoff ignores the present cool-down, and adopts the next cool-down`() throws {
        let bench = try Bench()
        let identity = Destination(named: "http://one")
        let other = try Parts(bench)
        let there = other.book.destination(identity, bench.now)
        func fail() {
            other.book.apply(.unreachable("refused"), to: there, at: bench.now)
            other.book.tell()
        }
        for _ in 0..<there.settings.circuitBreaker { fail() }
        let one = try Parts(bench, RunOptions(ignoresBackoff: true))
        let here = one.book.destination(identity, bench.now)
        try one.book.adoptRecords()
        #expect(!here.isBlocked)
        bench.pass(.seconds(2))
        fail()
        try one.book.adoptRecords()
        #expect(here.block?.reason == .circuitBreaker)
    }

    @Test func `a destination with a sample to send is blocked, too, once another run has opened its circuit breaker`()
        throws
    {
        let bench = try Bench()
        let (one, other) = (try Parts(bench), try Parts(bench))
        let identity = Destination(named: "http://one")
        let (here, there) = (one.book.destination(identity, bench.now), other.book.destination(identity, bench.now))
        try bench.add(1)
        here.urgent = [.sample(try one.candidates()[0], position: nil)]
        for _ in 0..<there.settings.circuitBreaker {
            other.book.apply(.unreachable("refused"), to: there, at: bench.now)
        }
        other.book.tell()
        try one.book.adoptRecords()
        #expect(here.block?.reason == .circuitBreaker)
    }

    @Test func `a ledger that takes long to write is written less often, and its pauses are still read`() throws {
        let bench = try Bench()
        var system = SystemCalls.real
        system.rename = { (directory, from, target, to) throws(Errno) in
            bench.pass(.milliseconds(100))
            try SystemCalls.real.rename(directory, from, target, to)
        }
        let one = try Parts(bench, spool: SpoolDirectory(opening: bench.directory.path, system: system))
        let here = one.book.destination(Destination(named: "http://one"), bench.now)
        func written() throws -> Int { try DestinationsFile(spool: bench.spool).read()["http://one"].failures }
        one.book.apply(.unreachable("refused"), to: here, at: bench.now)
        try one.book.adoptRecords()
        one.book.apply(.unreachable("refused"), to: here, at: bench.now)
        bench.pass(.seconds(1))
        try one.book.adoptRecords()
        #expect(try written() == 1)
        _ = try DestinationsFile(spool: bench.spool).record(
            [("http://one", .paused)], settings: { _ in DestinationSettings() }, at: bench.now, durable: false)
        try one.book.adoptRecords()
        #expect(try here.isBlocked && written() == 1)
        bench.pass(.seconds(5))
        try one.book.adoptRecords()
        #expect(try written() == 2)
    }

    @Test func `a delivery that another process has written before the lock was free is not from the future`() throws {
        let bench = try Bench()
        let began = bench.now
        var isTaken = true
        var system = SystemCalls.real
        system.lock = { (descriptor) throws(Errno) in
            guard isTaken else { return try SystemCalls.real.lock(descriptor) }
            isTaken = false
            bench.pass(.seconds(1))
            _ = try? DestinationsFile(spool: bench.spool).record(
                [("http://one", .delivered(began: bench.now, at: bench.now))],
                settings: { _ in DestinationSettings() }, at: bench.now, durable: false)
            return false
        }
        let waiting = DestinationsFile(spool: try SpoolDirectory(opening: bench.directory.path, system: system))
        let missed = Incident(since: began, last: began, cause: Cause(failure: "timeout"))
        let ledger = try waiting.record(
            [("http://one", .missed(missed))], settings: { _ in DestinationSettings() }, at: bench.now, durable: false)
        #expect(ledger["http://one"].lastSuccess != nil && ledger["http://one"].incident == nil)
    }

    @Test func `a reader with a known ledger sees its own changes and the changes of another process`() throws {
        let bench = try Bench()
        let file = DestinationsFile(spool: bench.spool)
        let paused = [(destination: "http://one", event: DestinationEvent.paused)]
        let first = try file.record(
            paused, settings: { _ in DestinationSettings() }, at: bench.now, durable: false, knowing: nil)
        #expect(try file.read(knowing: first).ledger["http://one"].isPaused)
        _ = try file.record(
            [("http://two", .paused)], settings: { _ in DestinationSettings() }, at: bench.now, durable: false)
        let second = try file.read(knowing: first)
        #expect(try second.ledger["http://two"].isPaused && second.ledger == file.read())
        let same = try file.record(
            [("http://two", .paused)], settings: { _ in DestinationSettings() }, at: bench.now,
            durable: false, knowing: second)
        #expect(same.ledger == second.ledger)
    }

    @Test func `a hold ends when the configuration blamed for the hold has changed`() throws {
        let bench = try Bench()
        let one = try Parts(bench)
        let identity = Destination(named: "http://one")
        hold(one, one.book.destination(identity, bench.now))
        bench.configuration.destinations["http://one"] = DestinationSettings(transport: .urlsession)
        let other = try Parts(bench)
        #expect(try other.book.read(identity, bench.now).block == nil)
        other.book.tell()
        #expect(bench.changes(.released).count == 1)
    }

    @Test func `operations left at a blocked destination are counted by the cause of the block`() throws {
        let bench = try Bench()
        let parts = try Parts(bench)
        let events: [(String, [DestinationEvent])] = [
            ("a", [.heldByHand(reason: "")]), ("b", [.paused]),
            ("c", Array(repeating: .unreachable("refused"), count: DestinationSettings().circuitBreaker)),
        ]
        for (name, events) in events {
            let destination = parts.book.destination(Destination(named: name), bench.now)
            for event in events { parts.book.apply(event, to: destination, at: bench.now) }
            destination.skipped = 2
        }
        parts.book.countLeft(of: Pass(moment: bench.now, began: bench.instant), begun: 0)
        let summary = parts.tally.summary
        #expect(summary.held == 2 && summary.paused == 2 && summary.waiting == 2 && summary.leftDue == 0)
    }
}
