import CSystem
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// Runs whose listings differ.
struct ListingTests {
    /// Makes a bench with two waiting values of a key, and a queue whose nth listing of `new/` misses the older value.
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

    /// A listing is no snapshot: a listed operation may have entered after a file that the listing misses. The nth
    /// listing of `new/` misses a foreign file, with or without another foreign file in `new/`.
    @Test(arguments: 1...8, [true, false])
    func `an operation does not overtake an older file that a listing misses`(listing: Int, hasOther: Bool) throws {
        for (ordering, coalesces) in [(Ordering.key, false), (.strict, false), (.any, true)] {
            let bench = try Bench()
            bench.configuration.defaultRoute.ordering = ordering
            bench.configuration.defaultRoute.coalesce = coalesces
            func rename(_ name: String, _ text: String) throws {
                try Data(text.utf8).write(to: bench.directory.appending(path: "tmp/\(name)"))
                try FileManager.default.moveItem(
                    at: bench.directory.appending(path: "tmp/\(name)"),
                    to: bench.directory.appending(path: "new/\(name)"))
            }
            if hasOther { try rename("other", #"{"drainq":1,"key":"b","payload":"other"}"#) }
            var count = 0
            var system = SystemCalls.real
            system.list = { (directory, path, body) throws(Errno) in
                try SystemCalls.real.list(directory, path, body)
                guard String(cString: path) == "new" else { return }
                count += 1
                guard count == listing else { return }
                try? rename("dropped", #"{"drainq":1,"key":"a","createdAt":"2026-11-21T11:00:00Z","payload":"old"}"#)
                _ = try? bench.add(1) { $0.key = "a" }
                try SystemCalls.real.list(directory, path) { name in
                    !String(decoding: name, as: UTF8.self).contains("-default-0,") || body(name)
                }
            }
            let spool = try SpoolDirectory(opening: bench.directory.path, system: system)
            var sent = try run(bench, spool)
            for _ in 0..<2 { sent += try run(bench, SpoolDirectory(opening: bench.directory.path)) }
            if count < listing { return }
            sent.removeAll { $0 == "\"other\"" }
            #expect(sent == (coalesces ? ["0"] : ["\"old\"", "0"]))
        }
    }

    @Test(arguments: [false, true])
    func `an operation that entered after the cut delays newer operations, and supersedes no older operation`(
        coalesces: Bool
    ) throws {
        let bench = try Bench()
        let ordering: Ordering = coalesces ? .any : .key
        bench.configuration.defaultRoute = Route(url: "http://one/", coalesce: coalesces, ordering: ordering)
        for key in ["a", "a", "b", "c"] { try bench.add(1) { $0.key = key } }
        let cut = try bench.spool.cut(patience: .zero) { _ in true }
        try bench.add(1) { $0.key = "a" }
        try bench.add(1) { ($0.key, $0.createdAt) = ("b", $0.createdAt + .seconds(-3600)) }
        let parts = try Parts(bench)
        let view = QueueView(bench.spool, bench.configuration, parts.book.table, at: bench.now)
        var listing = Listing(view, budget: 9, .hasSequenceLock, began: bench.instant) {
            parts.book.destination($0.destination, bench.now)
        }
        let pass = try listing.choose(of: consume cut, bench.clock)
        func numbers(_ names: [EntryName]) -> [String] { names.map { String($0.id.description.last!) }.sorted() }
        #expect(numbers(pass.chosen.map(\.entry.name)) == (coalesces ? ["1", "2", "3"] : ["0", "1", "3"]))
        #expect(numbers(pass.superseded.map(\.entry.name)) == (coalesces ? ["0", "5"] : []))
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
    func `an operation is not sent while a listing misses an older operation of its sequence`(listing: Int) throws {
        let (bench, spool) = try bench(missingIn: listing) { $0.ordering = .key }
        let first = try run(bench, spool)
        let second = try run(bench, try SpoolDirectory(opening: bench.directory.path))
        #expect((first + second).filter { $0 != "2" } == ["0", "1"])
    }

    @Test(arguments: [1, 2])
    func `the older value of a key is never sent, also if a listing misses the value`(listing: Int) throws {
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

    @Test func `a names lock that stays taken delays ordered operations, and is reported once`() throws {
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
