import CSystem
import Foundation
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
            case .leftFile(let item, let objection): lines.append("\(item.name!.id) \(objection)")
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

    @Test func `a retry of an operation behind a dead letter is refused, except with the dead letter`() throws {
        bench.configuration.defaultRoute.ordering = .key
        bench.configuration.defaultRoute.onFailure = .hold
        try bench.add(2) { $0.key = "k" }
        _ = try bench.run { _ in .status(404) }
        #expect(try change(.retry(), filter([.held], isStrict: true)) == ["default-1 isHeldBehind(default-0)"])
        #expect(try change(.retry(), targets("default-1", "default-0")) == ["default-1", "default-0", "1 released"])
    }

    @Test func `followers are dropped only with the failed operation that holds them`() throws {
        nonisolated(unsafe) var beforeFirstDrop: (() -> Void)?
        let real = SystemCalls.real
        var system = real
        system.unlink = { (directory, path) throws(Errno) in
            beforeFirstDrop?()
            beforeFirstDrop = nil
            try real.unlink(directory, path)
        }
        let bench = try Bench(system: system)
        bench.configuration.defaultRoute.ordering = .key
        bench.configuration.defaultRoute.onFailure = .hold
        try bench.add(2) { $0.key = "k" }
        _ = try bench.run { _ in .status(404) }
        let failed = Entry(state: .failed, name: try bench.names(.failed)[0])
        let other = try SpoolDirectory(opening: bench.directory.path)
        beforeFirstDrop = {
            // A retry of another process.
            _ = try? other.withNamesLock(patience: .zero) { () throws(SpoolError) in
                try other.retry(failed, now: bench.now)
            }
        }
        var change = OperationChange(
            .drop(withFollowers: true), in: bench.spool, bench.configuration, clock: bench.clock
        ) { _ in }
        try change.perform(on: targets("default-0"))
        #expect(beforeFirstDrop == nil)
        #expect(try bench.names(.deferred).isEmpty == bench.names(.new).isEmpty)
    }

    @Test func `a drop of a sequence begins with the newest`() throws {
        bench.configuration.defaultRoute.ordering = .key
        let ids = try bench.add(3) { $0.key = "k" }
        #expect(try change(.drop(), filter(OperatorAction.drop().states)) == Array(ids.reversed()))
    }

    @Test func `a drop of replacing values takes the superseded ones first, and then the newest first`() throws {
        bench.configuration.defaultRoute.ordering = .key
        bench.configuration.defaultRoute.coalesce = true
        bench.configuration.routes[TypeName("other")!]?.ordering = .key
        try bench.add(2) { ($0.key, $0.url) = ("k", "http://one/") }
        try bench.add(1, type: "other") { ($0.key, $0.url) = ("k", "http://one/") }
        try bench.add(1) { ($0.key, $0.url) = ("k", "http://one/") }
        #expect(
            try change(.drop(), filter(OperatorAction.drop().states))
                == ["default-1", "default-0", "default-2", "other-0"])
    }

    @Test func `a drop removes the patches of one document while no other process has the names lock`() throws {
        var system = SystemCalls.real
        nonisolated(unsafe) var elapsed = Duration.zero
        // Each move is long enough for the command to leave the lock free.
        system.elapsed = {
            elapsed += .seconds(1)
            return elapsed
        }
        nonisolated(unsafe) var atGap: () -> Void = {}
        system.sleep = { _ in atGap() }
        let bench = try Bench(system: system)
        bench.configuration.defaultRoute.coalesce = true
        bench.configuration.defaultRoute.mergesPayloads = true
        for _ in 0..<2 { for key in ["a", "b"] { try bench.add(1) { $0.key = key } } }
        nonisolated(unsafe) var left: [Int] = []
        atGap = { left.append((try? bench.names(.new).count) ?? -1) }
        var ids: [String] = []
        var change = OperationChange(.drop(), in: bench.spool, bench.configuration, clock: bench.clock) {
            if case .changed(let entry, _) = $0 { ids.append(entry.name.id.description) }
        }
        try change.perform(
            on: .filter(
                OperationFilter(states: [.new]),
                KnownDestinations(of: bench.spool, bench.configuration, at: bench.now), isStrict: false))
        #expect(ids == ["default-1", "default-3", "default-0", "default-2"])
        #expect(left == [2])
    }

    @Test func `a retry refuses what a run would fail again for its age`() throws {
        let end = bench.now + .seconds(60)
        try bench.add(1) { $0.expiresAt = end }
        bench.now = end
        _ = try bench.run()
        #expect(try bench.names(.failed).count == 1)
        #expect(try change(.retry(), targets("default-0")) == ["default-0 hasExpired(isOwn: true)"])
        #expect(try bench.names(.failed).count == 1)
    }

    @Test func `no retry renews a waiting operation for whose age the next run fails it`() throws {
        bench.configuration.defaultRoute.expiresAfter = .seconds(60)
        try bench.add(1)
        #expect(try bench.run { _ in .status(503) }.deferred == 1)
        bench.now = bench.now + .seconds(60)
        for retry in [OperatorAction.retry(), .retry(asNewest: true)] {
            #expect(try change(retry, targets("default-0")) == ["default-0 hasExpired(isOwn: false)"])
        }
        #expect(try bench.run().failed == 1)
        #expect(try change(.retry(asNewest: true), targets("default-0")) == ["default-0"])
        bench.now = bench.now + .seconds(1)
        #expect(try bench.run().delivered == 1)
    }

    @Test func `retry brings a file back from quarantine, hold does not`() throws {
        let items = try bench.spool.keepBadInput(
            [
                SpoolDirectory.BadInput(
                    Array("1".utf8), reason: "it was bad", source: "line 1", reading: Reading(.payload))
            ], by: AdmissionRule(bench.configuration), now: bench.now)
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

    @Test func `the delivery of a newer value removes the dead letters of its key, also in a later run`() throws {
        bench.configuration.defaultRoute.coalesce = true
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
        let refused = try change(.retry(), .targets(try bench.names(.failed).map { .id($0.id) }))
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

    @Test(arguments: [false, true])
    func `no retry promises a waiting value that the next run removes for a newer value`(wasSent: Bool) throws {
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "k" }
        if wasSent { #expect(try bench.run { _ in .status(503) }.deferred == 1) }
        try bench.add(1) { $0.key = "k" }
        for retry in [OperatorAction.retry(), .retry(asNewest: true)] {
            let lines = try change(retry, targets("default-0", "default-1"))
            #expect(lines == ["default-1", "default-0 isSuperseded(by: default-1)"])
        }
        #expect(try change(.drop(), targets("default-1")) == ["default-1"])
        #expect(try change(.retry(asNewest: true), targets("default-0")) == ["default-0"])
        bench.now = bench.now + .seconds(1)
        #expect(try bench.run().delivered == 1 && bench.bodies == ["0"])
    }

    @Test func `a damaged newer value does not keep a dead letter from its retry`() throws {
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "k" }
        #expect(try bench.run { _ in .status(404) }.failed == 1)
        try bench.add(2) { $0.key = "k" }
        let newest = try bench.names(.new).map(\.description).sorted()
        try Data("no operation".utf8).write(to: bench.directory.appending(path: "new/\(newest[1])"))
        #expect(try change(.retry(), targets("default-0")) == ["default-0 isSuperseded(by: default-1)"])
        try Data("no operation".utf8).write(to: bench.directory.appending(path: "new/\(newest[0])"))
        #expect(try change(.retry(), targets("default-0")) == ["default-0"])
        bench.now = bench.now + .seconds(1)
        #expect(try bench.run().quarantined == 2)
        #expect(bench.bodies.last == "0")
    }

    @Test func `a later patch of a key leaves the dead letters of the key, and retry does not refuse them`() throws {
        bench.configuration.defaultRoute.coalesce = true
        bench.configuration.defaultRoute.mergesPayloads = true
        try bench.add(1, body: #"{"a":1}"#) { $0.key = "k" }
        #expect(try bench.run { _ in .status(404) }.failed == 1)
        try bench.add(1, body: #"{"b":1}"#) { $0.key = "k" }
        #expect(try change(.retry(), targets("default-0")) == ["default-0"])
        bench.now = bench.now + .seconds(1)
        #expect(try bench.run().delivered == 2 && bench.bodies.last == #"{"a":1,"b":1}"#)
        try bench.add(1, body: #"{"a":2}"#) { $0.key = "k" }
        #expect(try bench.run { _ in .status(404) }.failed == 1)
        try bench.add(1, body: #"{"b":2}"#) { $0.key = "k" }
        #expect(try bench.run().superseded == 0)
        #expect(try bench.names(.failed).map(\.id.description) == ["default-2"])
    }

    /// Puts an operation into quarantine, as recovery does after five deaths.
    private func quarantine(_ name: EntryName) throws {
        let run = try bench.spool.beginRun(now: bench.now)
        let claim = try #require(try run.claim(Entry(state: .new, name: name)))
        _ = try run.settle(claim, .quarantined(reason: "a test"), record: nil, now: bench.now)
        try run.end()
    }

    @Test func `the delivery of a newer value removes the older values of its key from quarantine`() throws {
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(2) { $0.key = $0.id.description == "default-0" ? "k" : "other" }
        for name in try bench.names(.new) { try quarantine(name) }
        try bench.add(1) { $0.key = "k" }
        #expect(
            try change(.retry(), targets("default-0")) == ["default-0 isSuperseded(by: default-2)"])
        #expect(try bench.run().superseded == 1)
        #expect(try bench.spool.quarantined().map(\.name?.id.description) == ["default-1"])
        #expect(try change(.retry(), targets("default-0")) == ["default-0 missing"])
    }

    @Test(arguments: [false, true])
    func `a retry leaves a quarantined operation alone that the next run would fail for its age`(isOwn: Bool) throws {
        let end = bench.now + .seconds(60)
        if !isOwn { bench.configuration.defaultRoute.expiresAfter = .seconds(60) }
        try bench.add(1) { if isOwn { $0.expiresAt = end } }
        try quarantine(bench.names(.new)[0])
        bench.now = end + .seconds(1)
        #expect(try change(.retry(), targets("default-0")) == ["default-0 hasExpired(isOwn: \(isOwn))"])
        #expect(try bench.spool.quarantined().count == 1)
        let renewed = try change(.retry(asNewest: true), targets("default-0"))
        #expect(renewed == [isOwn ? "default-0 hasExpired(isOwn: true)" : "claimed back"])
        bench.now = bench.now + .seconds(1)
        #expect(try bench.run().delivered == (isOwn ? 0 : 1) && bench.names(.failed).isEmpty)
    }

    @Test func `a quarantined value comes back as the newest if the operator says so`() throws {
        bench.configuration.defaultRoute.coalesce = true
        try bench.add(1) { $0.key = "k" }
        try quarantine(bench.names(.new)[0])
        try bench.add(1) { $0.key = "k" }
        bench.now = bench.now + .seconds(1)
        #expect(try change(.retry(asNewest: true), targets("default-0")) == ["claimed back"])
        bench.now = bench.now + .seconds(1)
        let summary = try bench.run()
        #expect(summary.delivered == 1 && summary.superseded == 1 && bench.bodies == ["0"])
        #expect(try bench.spool.quarantined().isEmpty)
    }

    // MARK: - Commands at the same time

    /// Performs `second` while a command has listed its operations and changes none of them yet.
    private func race(
        _ action: OperatorAction, _ choice: OperationChange.Choice, with second: @escaping () throws -> Void
    ) throws -> [String] {
        var hasRaced = false
        var system = SystemCalls.real
        let real = system
        system.lock = { (descriptor) throws(Errno) in
            if !hasRaced {
                hasRaced = true
                do { try second() } catch { Issue.record("\(error)") }
            }
            return try real.lock(descriptor)
        }
        let spool = try SpoolDirectory(opening: bench.directory.path, system: system)
        var lines: [String] = []
        var change = OperationChange(action, in: spool, bench.configuration, clock: bench.clock) {
            switch $0 {
            case .changed(let entry, _): lines.append("\(entry.name.id)")
            case .refused(let entry, let objection): lines.append("\(entry.name.id) \(objection)")
            default: break
            }
        }
        try change.perform(on: choice)
        return lines
    }

    @Test func `of two retries as the newest at the same time one finds nothing, and the id is in the queue once`()
        throws
    {
        try bench.add(1)
        #expect(try bench.run { _ in .status(404) }.failed == 1)
        let lines = try race(.retry(asNewest: true), targets("default-0")) { () throws in
            #expect(try self.change(.retry(asNewest: true), self.targets("default-0")) == ["default-0"])
        }
        #expect(lines == ["default-0 hasMoved(to: Spool.QueueState.deferred)"])
        #expect(try bench.names(.deferred).count == 1 && bench.names(.failed).isEmpty && bench.names(.new).isEmpty)
    }

    @Test func `a drop beside a retry as the newest says what it found, and drops nothing`() throws {
        try bench.add(1)
        #expect(try bench.run { _ in .status(404) }.failed == 1)
        let lines = try race(.drop(), targets("default-0")) { () throws in
            #expect(try self.change(.retry(asNewest: true), self.targets("default-0")) == ["default-0"])
        }
        #expect(lines == ["default-0 hasMoved(to: Spool.QueueState.deferred)"])
        #expect(try bench.names(.deferred).count == 1)
        bench.now = bench.now + .seconds(1)
        #expect(try bench.run { _ in .status(404) }.failed == 1)
        let gone = try race(.retry(asNewest: true), targets("default-0")) { () throws in
            #expect(try self.change(.drop(), self.targets("default-0")) == ["default-0"])
        }
        #expect(gone == ["default-0 isGone"])
    }

    @Test func `a retry of a damaged file says what is wrong with the file, and moves nothing`() throws {
        try bench.add(2)
        #expect(try bench.run { _ in .status(404) }.failed == 2)
        let path = bench.directory.appending(path: "failed/\(try bench.names(.failed)[0])")
        var bytes = try Data(contentsOf: path)
        let body = try #require(bytes.firstIndex(of: UInt8(ascii: "\n"))) + 1
        bytes[body] ^= 1
        try bytes.write(to: path)
        for retry in [OperatorAction.retry(), .retry(asNewest: true)] {
            let lines = try change(retry, targets("default-0"))
            #expect(lines.count == 1 && lines[0].hasPrefix("default-0 isDamaged("))
        }
        #expect(try bench.names(.failed).count == 2)
    }

    @Test func `a drop by an answer leaves a file that has got another answer since it was read`() throws {
        var calls = SystemCalls.real
        nonisolated(unsafe) var edit: (() -> Void)?
        calls.lock = { (descriptor) throws(Errno) in
            edit?()
            return try SystemCalls.real.lock(descriptor)
        }
        let bench = try Bench(system: calls)
        try bench.add(1)
        _ = try bench.run { _ in .status(404) }
        let file = try "\(bench.spool.path)/failed/\(bench.names(.failed)[0])"
        edit = {
            let text = String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
            try? Data(text.replacing(#""status":404"#, with: #""status":400"#).utf8).write(to: URL(filePath: file))
        }
        var filter = OperationFilter(states: [.failed])
        filter.answers = [.statuses(404...404)]
        var objections: [OperatorAction.Objection] = []
        var change = OperationChange(
            .drop(), in: bench.spool, bench.configuration, OperationChange.Options(), clock: bench.clock
        ) { if case .refused(_, let objection) = $0 { objections.append(objection) } }
        try change.perform(
            on: .filter(
                filter, KnownDestinations(of: bench.spool, bench.configuration, at: bench.now), isStrict: false))
        edit = nil
        #expect(objections == [.isReplaced])
        #expect(try bench.names(.failed).count == 1)
    }

    @Test(arguments: [OperatorAction.hold, .drop()])
    func `a filter tells of what is in flight, and does not change it`(action: OperatorAction) throws {
        try bench.add(2)
        let run = try bench.spool.beginRun(now: bench.now)
        _ = try run.claim(Entry(state: .new, name: bench.names(.new)[0]))
        #expect(
            try change(action, filter(action.states))
                == ["default-1", "default-0 state(Spool.QueueState.claimed)"])
    }

    @Test func `an operation whose failure a run withholds is in flight for each command`() throws {
        try bench.add(3)
        let run = try bench.spool.beginRun(now: bench.now)
        let claims = try bench.names(.new).prefix(2).map { try #require(try run.claim(Entry(state: .new, name: $0))) }
        _ = try run.withhold(SpoolRun.Disposal(claims[0], .failed(countsAttempt: true)), now: bench.now)
        _ = try run.settle(claims[1], .failed(countsAttempt: true), record: nil, now: bench.now)
        let inFlight = "default-0 state(Spool.QueueState.claimed)"
        let dry = OperationChange.Options(isDryRun: true)
        #expect(try change(.retry(), filter([.failed]), dry) == ["default-1"])
        #expect(try change(.drop(), filter(OperatorAction.drop().states), dry) == ["default-1", "default-2", inFlight])
        #expect(try change(.hold, filter(OperatorAction.hold.states), dry) == ["default-2", inFlight])
        #expect(try change(.drop(), targets("default-0")) == [inFlight])
        let known = try KnownDestinations(of: bench.spool, bench.configuration, at: bench.now)
        for (isMoving, lines) in [(true, 2), (false, 3)] {
            var counts = (lines: 0, claimed: 0)
            var export = OperationExport(from: bench.spool, isMoving: isMoving) {
                if case .line = $0 { counts.lines += 1 }
                if case .claimed = $0 { counts.claimed += 1 }
            }
            try export.perform(OperationFilter(states: [.new, .claimed, .failed]), known)
            #expect(counts.lines == lines && counts.claimed + export.claimed == 1 && export.seen.count == 1)
            #expect(export.saved.count == (isMoving ? 2 : 0))
        }
        run.endWithholding(claims[0])
        #expect(try change(.drop(), filter([.failed])) == ["default-0", "default-1"])
        try run.end()
    }

    @Test func `an export has what a run puts back during its listing`() throws {
        var calls = SystemCalls.real
        nonisolated(unsafe) var onList: ((String) -> Void)?
        calls.list = { (directory, path, body) throws(Errno) in
            onList?(String(cString: path))
            try SystemCalls.real.list(directory, path, body)
        }
        let bench = try Bench(system: calls)
        try bench.add(1)
        let run = try bench.spool.beginRun(now: bench.now)
        let claim = try #require(try run.claim(Entry(state: .new, name: bench.names(.new)[0])))
        var lists: [String] = []
        onList = { path in
            lists.append(path)
            // After deferred/ has been listed, before the claims are listed again.
            guard path == "claimed", lists.contains("deferred") else { return }
            onList = nil
            _ = try? run.settle(
                claim, .deferred(until: bench.now, countsAttempt: true), record: nil, receipt: nil, now: bench.now)
        }
        var lines = 0
        var export = OperationExport(from: bench.spool, isMoving: false) { if case .line = $0 { lines += 1 } }
        try export.perform(
            OperationFilter(states: [.new, .deferred, .claimed]),
            KnownDestinations(of: bench.spool, bench.configuration, at: bench.now))
        #expect(lines == 1)
        onList = nil
        try run.end()
    }

    @Test func `an export drops only operations whose files have the saved bytes`() throws {
        try bench.add(2)
        var lines: [String] = []
        var export = OperationExport(from: bench.spool, isMoving: true) {
            if case .line(let line) = $0 { lines.append(String(decoding: line, as: UTF8.self)) }
        }
        try export.perform([.id(OperationID("default-0")!), .id(OperationID("default-1")!)])
        let edited = lines[0].replacing(#""payload":0"#, with: #""payload":7"#)
        let replacement = try PortableOperation(json: Array(edited.utf8), file: "x", line: 1)
        var control = AdmissionControl(bench.configuration)
        let accepted = try bench.spool.accept(
            [Submission(replacement, at: bench.now)], within: &control, replacing: true)
        #expect(accepted.replaced.count == 1)
        #expect(try change(.drop(), .saved(export.saved)) == ["default-1", "default-0 isReplaced"])
        #expect(try bench.run().delivered == 1 && bench.bodies == ["7"])
        let late = try bench.spool.accept([Submission(replacement, at: bench.now)], within: &control, replacing: true)
        #expect(late.results == [.isGone])
    }
}
