import CSystem
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// Listings that decide an order.
struct ListingTests {
    /// The nth listing of `new/` misses a foreign file, with or without another foreign file in `new/`. An operation
    /// that enters after the file cannot get its name before the listing has ended.
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
            var hurried = SystemCalls.real
            hurried.sleep = { _ in }
            let adder = try SpoolDirectory(opening: bench.directory.path, system: hurried)
            let header = OperationHeader(
                id: OperationID("default-0")!, createdAt: bench.now, contentType: "application/json", key: "a")
            func add() throws {
                try adder.accept([Policy.Operation(header: header, body: Array("0".utf8))], by: bench.configuration)
            }
            var count = 0
            var hasAdded = false
            var system = SystemCalls.real
            system.list = { (directory, path, body) throws(Errno) in
                try SystemCalls.real.list(directory, path, body)
                guard String(cString: path) == "new" else { return }
                count += 1
                guard count == listing else { return }
                try? rename("dropped", #"{"drainq":1,"key":"a","createdAt":"2026-11-21T11:00:00Z","payload":"old"}"#)
                hasAdded = (try? add()) != nil
                try SystemCalls.real.list(directory, path) { name in
                    !String(decoding: name, as: UTF8.self).contains("-default-0,") || body(name)
                }
            }
            let spool = try SpoolDirectory(opening: bench.directory.path, system: system)
            var sent = try run(bench, spool)
            if count >= listing, !hasAdded { try add() }
            for _ in 0..<2 { sent += try run(bench, SpoolDirectory(opening: bench.directory.path)) }
            if count < listing { return }
            sent.removeAll { $0 == "\"other\"" }
            // Of two values only the newer goes, unless the older went before the newer entered.
            #expect(coalesces && sent == ["0"] || sent == ["\"old\"", "0"] && !(coalesces && hasAdded))
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
        var listing = Listing(view, budget: 9, .decides(try bench.spool.beginRun(now: bench.now)), began: bench.instant)
        {
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
