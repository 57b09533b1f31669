import Spool
import Testing

@testable import Drain
@testable import Policy

/// An operator's changes to operations.
struct OperationChangeTests {
    private let bench: Bench

    init() throws { bench = try Bench() }

    /// Performs a change, and returns its reports.
    private func change(
        _ action: OperatorAction, _ choice: OperationChange.Choice,
        _ options: OperationChange.Options = OperationChange.Options()
    ) throws -> [String] {
        let bench = bench
        nonisolated(unsafe) var lines: [String] = []
        var change = OperationChange(action, in: bench.spool, bench.configuration, options, clock: bench.clock) {
            switch $0 {
            case .missing(let target): lines.append("\(target) missing")
            case .unread(let count): lines.append("\(count) unread")
            case .skipped(let entries): lines += entries.map { "\($0.name.id) skipped" }
            case .changed(let entry, let due):
                lines.append("\(entry.name.id)" + (due.map { " in \(($0 - bench.now) / .seconds(1))" } ?? ""))
            case .refused(let entry, let objection): lines.append("\(entry.name.id) \(objection)")
            case .changedFile(let item, _): lines.append("\(item.source ?? "") back")
            case .refusedFile(let item, _): lines.append("\(item.source ?? "") stays")
            case .fileGone: lines.append("gone")
            case .madeRoom: break
            case .released(let count): lines.append("\(count) released")
            }
        }
        try change.perform(on: choice)
        return lines
    }

    private func targets(_ names: String...) -> OperationChange.Choice { .targets(names.map { NamedTarget($0)! }) }

    private func filter(_ states: Set<ShownState>, isStrict: Bool = false) throws -> OperationChange.Choice {
        let known = try KnownDestinations(of: bench.spool, bench.configuration, at: bench.now)
        return .filter(OperationFilter(states: states), known, isStrict: isStrict)
    }

    @Test func `a second hold skips operations met by a filter, and refuses named operations`() throws {
        try bench.add(2)
        #expect(try change(.hold, targets("default-0", "none")) == ["none missing", "default-0"])
        #expect(try change(.hold, filter(OperatorAction.hold.states)) == ["default-0 skipped", "default-1"])
        #expect(try change(.hold, targets("default-1")) == ["default-1 isHeld"])
        #expect(try bench.names(.new).allSatisfy(\.isHeld))
        #expect(try change(.release, filter([.held])) == ["default-0", "default-1"])
        #expect(try change(.release, targets("default-1")) == ["default-1 isNotHeld"])
    }

    @Test(arguments: [OperatorAction.retry(), .hold, .release, .drop()])
    func `no command changes a claimed operation`(action: OperatorAction) throws {
        try bench.add(1)
        let run = try bench.spool.beginRun(now: bench.now)
        _ = try run.claim(Entry(state: .new, name: bench.names(.new)[0]))
        #expect(try change(action, targets("default-0")) == ["default-0 state(Spool.QueueState.claimed)"])
        #expect(try bench.names(.claimed).count == 1)
    }

    @Test func `a retry at a rate gives each operation its own due time, and a dry run changes nothing`() throws {
        try bench.add(3)
        _ = try bench.run { _ in .status(404) }
        #expect(try bench.names(.failed).count == 3)
        let lines = ["default-0 in 0.0", "default-1 in 60.0", "default-2 in 120.0"]
        let retry = OperatorAction.retry(spacing: .seconds(60))
        #expect(try change(retry, filter([.failed]), OperationChange.Options(isDryRun: true)) == lines)
        #expect(try bench.names(.failed).count == 3)
        #expect(try change(retry, filter([.failed])) == lines)
        #expect(try bench.names(.failed).isEmpty)
    }

    @Test func `a limit takes the oldest operations`() throws {
        try bench.add(3)
        #expect(try change(.drop(), filter([.new]), OperationChange.Options(limit: 2)) == ["default-0", "default-1"])
        #expect(try bench.names(.new).map(\.id.description) == ["default-2"])
    }

    @Test(arguments: [false, true])
    func `operations behind a dropped dead letter are released, or dropped as well`(withFollowers: Bool) throws {
        bench.configuration.defaultRoute.ordering = .key
        bench.configuration.defaultRoute.onFailure = .hold
        try bench.add(3) { $0.key = "k" }
        _ = try bench.run { _ in .status(404) }
        #expect(try bench.names(.failed).count == 1)
        let lines = try change(.drop(withFollowers: withFollowers), targets("default-0"))
        #expect(lines == (withFollowers ? ["default-2", "default-1", "default-0"] : ["default-0", "2 released"]))
        #expect(try bench.names(.new).count == (withFollowers ? 0 : 2))
    }

    @Test func `retry brings a file back from quarantine, hold does not`() throws {
        let items = try bench.spool.keepBadInput(
            [SpoolDirectory.BadInput(Array("1".utf8), reason: "it was bad", source: "line 1")], now: bench.now)
        #expect(try change(.hold, targets(items[0].fileName)) == ["line 1 stays"])
        #expect(try change(.retry(), targets(items[0].fileName)) == ["line 1 back"])
        #expect(try bench.spool.quarantined().isEmpty)
    }

    @Test func `the URL of an operation makes its destination known to the queue`() throws {
        try bench.add(1) { $0.url = "http://three/" }
        let known = try KnownDestinations(of: bench.spool, bench.configuration, at: bench.now)
        let change = DestinationChange(in: bench.spool, bench.configuration, clock: bench.clock)
        #expect(try change.isKnown(Destination(named: "http://three"), known))
        #expect(try !change.isKnown(Destination(named: "http://four"), known))
        try change.record(.heldByHand(reason: "a test"), of: ["http://three"])
        #expect(try bench.state(of: "http://three").hold != nil)
        #expect(
            try change.closed(KnownDestinations(of: bench.spool, bench.configuration, at: bench.now))
                == ["http://three"])
        try change.record(.released, of: ["http://three"])
        #expect(try bench.state(of: "http://three").isOpen)
    }

    // MARK: - Older values

    @Test(arguments: [false, true])
    func `the delivery of a newer value removes the dead letters of its key, also in a later run`(isMerged: Bool) throws
    {
        bench.configuration.defaultRoute.coalesce = true
        bench.configuration.defaultRoute.mergesPayloads = isMerged
        try bench.add(1, body: #"{"a":1}"#) { $0.key = "k" }
        try bench.add(1, body: #"{"a":1}"#) { $0.key = "other" }
        #expect(try bench.run { _ in .status(404) }.failed == 2)
        try bench.add(1, body: #"{"b":1}"#) { $0.key = "k" }
        #expect(try bench.run { _ in .status(404) }.failed == 1)
        #expect(try bench.names(.failed).count == 3)
        try bench.add(1, body: #"{"b":2}"#) { $0.key = "k" }
        let summary = try bench.run()
        #expect(summary.delivered == 1 && summary.superseded == 2)
        #expect(try bench.names(.failed).map(\.id.description) == ["default-1"])
    }

    @Test func `a dead letter is not retried beside a newer value, however many keys the queue has`() throws {
        bench.configuration.defaultRoute.coalesce = true
        bench.configuration.destinations["http://one"] = DestinationSettings(stormGuard: 0)
        // Beyond some thousand keys a listing knows a key with a single value by a hash alone. The order of the
        // directory decides for which keys: the newer values come first and last.
        func addNewer(_ keys: Range<Int>) throws { for key in keys { try bench.add(1) { $0.key = "k\(key)" } } }
        try addNewer(0..<20)
        #expect(try bench.run { _ in .status(404) }.failed == 20)
        try addNewer(0..<10)
        var others = 0
        try bench.add(12_000) {
            $0.key = "other\(others)"
            others += 1
        }
        try addNewer(10..<20)
        let refused = try change(.retry(), .entries(try bench.names(.failed).map { Entry(state: .failed, name: $0) }))
        #expect(refused.count == 20 && refused.allSatisfy { $0.contains("isSuperseded") })
        #expect(try bench.names(.failed).count == 20)
    }

    @Test(arguments: [false, true])
    func `a dead letter is not retried while a newer value of its key is in the queue`(isClaimed: Bool) throws {
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "k" }
        #expect(try bench.run { _ in .status(404) }.failed == 1)
        try bench.add(1) { $0.key = "k" }
        let newer = Entry(state: .new, name: try bench.names(.new)[0])
        let run = try bench.spool.beginRun(now: bench.now)
        if isClaimed { _ = try #require(try run.claim(newer)) }
        #expect(try change(.retry(), targets("default-0")).map { $0.hasPrefix("default-0 isSuperseded") } == [true])
        #expect(try bench.names(.failed).count == 1)
        try run.end()
        bench.now = bench.now + .seconds(1)
        #expect(try change(.retry(asNewest: true), targets("default-0")) == ["default-0"])
        bench.now = bench.now + .milliseconds(1)
        let summary = try bench.run()
        #expect(summary.delivered == 1 && summary.superseded == 1 && bench.bodies.last == "0")
        #expect(try bench.names(.failed).isEmpty)
    }
}
