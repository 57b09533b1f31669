import CSystem
import Foundation
import Policy
import Spool
import Testing

@testable import Drain

/// What a run makes of listings that differ.
struct ChooserTests {
    /// Two values of one key wait, and the nth listing of `new/` misses the older one.
    private func bench(missingIn listing: Int, _ change: (inout Route) -> Void) throws -> (Bench, SpoolDirectory) {
        let bench = try Bench()
        change(&bench.configuration.defaultRoute)
        try bench.add(2) { $0.key = "a" }
        try bench.add(1) { $0.key = "b" }
        var count = 0
        var system = SystemCalls.real
        system.list = { (directory, path, body) throws(Errno) in
            if String(cString: path) == "new" { count += 1 }
            let misses = count == listing
            try SystemCalls.real.list(directory, path) { name in
                if misses, String(decoding: name, as: UTF8.self).contains("-default-0,") { return true }
                return body(name)
            }
        }
        return (bench, try SpoolDirectory(opening: bench.directory.path, system: system))
    }

    private func run(_ bench: Bench, _ spool: SpoolDirectory) throws -> [String] {
        var sent: [String] = []
        let world = bench.world { request in
            sent.append(String(decoding: request.body ?? [], as: UTF8.self))
            return .status(204)
        }
        let run = Run(
            spool: spool, configuration: bench.configuration, options: RunOptions(concurrency: 1), world: world
        ) { _ in }
        _ = try run()
        return sent
    }

    @Test(arguments: [1, 2])
    func `an operation is not sent while one of two listings misses an older one of its sequence`(listing: Int) throws {
        let (bench, spool) = try bench(missingIn: listing) { $0.ordering = .key }
        let first = try run(bench, spool)
        let second = try run(bench, try SpoolDirectory(opening: bench.directory.path))
        #expect((first + second).filter { $0 != "2" } == ["0", "1"])
    }

    @Test(arguments: [1, 2])
    func `of one key the older value is never sent, also where a listing misses it`(listing: Int) throws {
        let (bench, spool) = try bench(missingIn: listing) { $0.coalesce = true }
        let first = try run(bench, spool)
        let second = try run(bench, try SpoolDirectory(opening: bench.directory.path))
        #expect((first + second).filter { $0 != "2" } == ["1"])
        #expect(try bench.names(.new).isEmpty)
    }

    @Test func `operations without an order do not wait for the names lock`() throws {
        let bench = try Bench()
        try bench.add(2)
        var locks: [String] = []
        var system = SystemCalls.real
        system.open = { (directory, path, flags, mode) throws(Errno) in
            locks.append(String(cString: path))
            return try SystemCalls.real.open(directory, path, flags, mode)
        }
        let spool = try SpoolDirectory(opening: bench.directory.path, system: system)
        #expect(try run(bench, spool).count == 2)
        #expect(!locks.contains("state/names.lock"))
    }

    @Test func `a names lock that stays taken keeps back what has an order, and is told once`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .key
        try bench.add(1) { $0.key = "a" }
        try bench.add(1, type: "other")
        var system = SystemCalls.real
        system.sleep = { _ in }
        let spool = try SpoolDirectory(opening: bench.directory.path, system: system)
        let holder = try SpoolDirectory(opening: bench.directory.path)
        var errors: [SpoolError] = []
        let summary = try holder.withNamesLock { () throws(SpoolError) in
            try Run(
                spool: spool, configuration: bench.configuration, options: RunOptions(),
                world: bench.world { _ in .status(204) }
            ) { if case .inputOutputError(let error) = $0 { errors.append(error) } }()
        }
        #expect(summary.delivered == 1 && summary.inputOutputErrors == 1)
        #expect(errors.map(\.description) == ["cannot lock 'state/names.lock': Resource temporarily unavailable"])
        #expect(try bench.run().delivered == 1)
    }
}
