import CSystem
import Delivery
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// What becomes of an operation rests on a request that carried it: its beginning, its answer, and a decision that is on
/// the disk before anything follows from it.
struct ReceiptTests {
    /// The real calls. With `fails`, each call of these names fails; from the call number `left` on the process is dead.
    private final class FailingCalls {
        var fails: Set<String> = []
        var left = Int.max
        var isAlive: Bool { left >= 0 }

        private func meet(_ name: String, isCounted: Bool = false) throws(Errno) {
            if isCounted, left < .max { left -= 1 }
            if !isAlive { throw Errno(ECANCELED) }
            if fails.contains(name) { throw Errno(EIO) }
        }

        var calls: SystemCalls {
            let real = SystemCalls.real
            var calls = real
            calls.write = { (descriptor, bytes) throws(Errno) in
                try self.meet("write")
                return try real.write(descriptor, bytes)
            }
            calls.writeAt = { (descriptor, bytes, offset) throws(Errno) in
                try self.meet("writeAt")
                return try real.writeAt(descriptor, bytes, offset)
            }
            calls.fsync = { (descriptor) throws(Errno) in
                try self.meet("fsync")
                try real.fsync(descriptor)
            }
            calls.rename = { (directory, from, target, to) throws(Errno) in
                try self.meet("rename", isCounted: true)
                try real.rename(directory, from, target, to)
            }
            calls.renameNoReplace = { (directory, from, to) throws(Errno) in
                try self.meet("renameNoReplace", isCounted: true)
                try real.renameNoReplace(directory, from, to)
            }
            calls.unlink = { (directory, path) throws(Errno) in
                try self.meet("unlink", isCounted: true)
                try real.unlink(directory, path)
            }
            return calls
        }
    }

    private func merge(_ route: inout Route) {
        (route.method, route.coalesce, route.mergesPayloads) = ("PATCH", true, true)
    }

    // MARK: - Delivered

    @Test(arguments: ["unlink", "fsync"])
    func `a delivered document is not sent again, whatever call fails for one of its parts`(call: String) throws {
        let system = FailingCalls()
        let bench = try Bench(system: system.calls)
        merge(&bench.configuration.defaultRoute)
        try bench.patch("k", [#"{"a":1}"#, #"{"b":2}"#])
        let first = try bench.run { _ in
            system.fails = [call]
            return .status(204)
        }
        #expect(first.inputOutputErrors > 0)
        system.fails = []
        let second = try bench.run()
        #expect(second.attempts == 0 && first.delivered + second.delivered == 2)
        #expect(try bench.names(.new).isEmpty && bench.names(.claimed).isEmpty)
    }

    private static let routes: [Route] = {
        func route(_ change: (inout Route) -> Void) -> Route {
            var route = Route(
                url: "http://one/{key}", method: "PATCH", retry: BackoffSchedule(delays: .list([.seconds(1)])))
            change(&route)
            return route
        }
        return [
            route { _ in }, route { $0.ordering = .key }, route { $0.coalesce = true },
            route { ($0.coalesce, $0.mergesPayloads) = (true, true) },
            route { $0.keep = ["n": .pointer(JSONPointer("/id")!)] }, route { $0.keepsAnswer = true },
        ]
    }()

    @Test(arguments: 0..<6)
    func `a death after the answer sends no operation again`(number: Int) throws {
        for index in 0... {
            let system = FailingCalls()
            let bench = try Bench(system: system.calls)
            bench.configuration.defaultRoute = Self.routes[number]
            try bench.patch("k", [#"{"a":1}"#])
            var requests = 0
            func serve(_ request: OutgoingRequest) -> AttemptReport.Result {
                requests += 1
                system.left = index
                return .answer(AttemptReport.Answer(status: 200, body: Array(#"{"id":7}"#.utf8)))
            }
            _ = try? bench.run(answer: serve)
            let hasDied = !system.isAlive
            system.left = .max
            _ = try bench.run(answer: serve)
            #expect(requests == 1, "call \(index)")
            #expect(try bench.names(.new).isEmpty && bench.names(.claimed).isEmpty && bench.names(.deferred).isEmpty)
            #expect(try bench.names(.delivered).count == (Self.routes[number].keepsAnswer ? 1 : 0))
            if number == 4 { #expect(try bench.spool.keptValues(of: Digest(of: "k"))["n"]?.json == "7") }
            if !hasDied { break }
        }
    }

    @Test(arguments: [false, true])
    func `a death after the answer to a batch sends none of its operations again`(hasResults: Bool) throws {
        for index in 0... {
            let system = FailingCalls()
            let bench = try Bench(system: system.calls)
            let results = Batch.Results(pointer: JSONPointer("/r")!, status: JSONPointer("/s")!)
            bench.configuration.defaultRoute.batch = Batch(max: 10, results: hasResults ? results : nil)
            bench.configuration.defaultRoute.ordering = .key
            for key in ["a", "b", "c"] { try bench.add(1) { $0.key = key } }
            var requests = 0
            func serve(_ request: OutgoingRequest) -> AttemptReport.Result {
                requests += 1
                system.left = index
                return .answer(
                    AttemptReport.Answer(status: 200, body: Array(#"{"r":[{"s":200},{"s":200},{"s":200}]}"#.utf8)))
            }
            _ = try? bench.run(answer: serve)
            let hasDied = !system.isAlive
            system.left = .max
            _ = try bench.run(answer: serve)
            #expect(requests == 1, "call \(index)")
            #expect(try bench.names(.new).isEmpty && bench.names(.claimed).isEmpty)
            if !hasDied { break }
        }
    }

    @Test func `a delivery that a dead run had yet to finish supersedes the dead letters of its key`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.coalesce = true
        try bench.patch("k", ["1"])
        #expect(try bench.run { _ in .status(422) }.failed == 1)
        bench.pass(.seconds(1))
        try bench.patch("k", ["2"])
        do {
            let run = try bench.spool.beginRun(now: bench.now)
            let claim = try #require(try run.claim(Entry(state: .new, name: bench.names(.new)[0])))
            let record = AttemptRecord(at: bench.now, duration: .zero, outcome: .delivered, rule: "204")
            _ = try run.receipt(of: run.begin([claim]), for: [(claim, record)], keep: false)
        }
        let summary = try bench.run()
        #expect(summary.delivered == 1 && summary.attempts == 0 && summary.superseded == 1)
        #expect(try bench.names(.failed).isEmpty)
    }

    @Test func `the run that finishes the delivery of a dead run counts it`() throws {
        let bench = try Bench()
        try bench.add(1)
        do {
            let run = try bench.spool.beginRun(now: bench.now)
            let claim = try #require(try run.claim(Entry(state: .new, name: bench.names(.new)[0])))
            let record = AttemptRecord(at: bench.now, duration: .zero, outcome: .delivered, rule: "204")
            _ = try run.receipt(of: run.begin([claim]), for: [(claim, record)], keep: false)
        }
        #expect(try bench.run().delivered == 1)
        #expect(try bench.run().delivered == 0)
        var counters = Counters()
        for event in bench.events { counters.take(event, at: bench.now) }
        #expect(counters.delivered == 1 && counters.destinations["http://one"]?[.delivered] == 1)
        #expect(counters.destinations["http://one"]?[.attempts] == 0)
    }

    @Test(arguments: [true, false])
    func `what a dead run has ended counts at the origin of the operation's own url`(isDelivered: Bool) throws {
        let bench = try Bench()
        try bench.add(1) { $0.url = "http://own/x" }
        do {
            let run = try bench.spool.beginRun(now: bench.now)
            let claim = try #require(try run.claim(Entry(state: .new, name: bench.names(.new)[0])))
            let request = run.begin([claim])
            var record = AttemptRecord(at: bench.now, duration: .zero, outcome: .delivered, rule: "204")
            if isDelivered {
                _ = try run.receipt(of: request, for: [(claim, record)], keep: false)
            } else {
                (record.outcome, record.status) = (.failed, 422)
                claim.note(isOfStorm: true)
                _ = try run.settle(claim, .failed(countsAttempt: true), record: record, now: bench.now)
            }
        }
        _ = try bench.run()
        let destinations = bench.events.compactMap { event in
            if case .foundEnded(let end) = event { end.destination } else { nil }
        }
        #expect(destinations == ["http://own"])
        #expect(try Array(DestinationsFile(spool: bench.spool).read().destinations.keys) == ["http://own"])
    }

    // MARK: - Begun

    @Test func `a request begins with its handover, not while its secrets are looked up`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:t}")]
        func marked() -> Bool {
            let claimed = bench.directory.appending(path: "claimed")
            let runs =
                (try? FileManager.default.contentsOfDirectory(at: claimed, includingPropertiesForKeys: nil)) ?? []
            return runs.contains { (try? Data(contentsOf: $0.appending(path: "lock")).count) ?? 0 > 256 }
        }
        var looks: [Bool] = []
        bench.credentials.values = { names, _ in
            looks.append(marked())
            return SecretValues(values: Dictionary(uniqueKeysWithValues: names.map { ($0, "x") }))
        }
        try bench.add(1)
        let summary = try bench.run { _ in
            looks.append(marked())
            return .status(204)
        }
        #expect(summary.delivered == 1 && looks.first == false && looks.last == true)
    }

    /// An attempt from before a hold says nothing about the hold. Without a record its claim tells when it began.
    @Test(arguments: [nil, 1, -5] as [Int?])
    func `a probe that a dead run had delivered ends the hold`(after: Int?) throws {
        let bench = try Bench()
        try bench.add(2)
        bench.pass(.seconds(10))
        _ = try DestinationsFile(spool: bench.spool).record(
            [("http://one", .held(reason: "403", status: 403, blamed: nil, began: bench.now))],
            settings: { _ in DestinationSettings() }, at: bench.now, durable: false)
        let entry = Entry(state: .new, name: try bench.names(.new)[0])
        // The machine's clock is not the bench's.
        let added = try #require(try bench.spool.timeInPlace(of: entry))
        let isProbe = after.map { $0 > 0 } ?? (added > bench.now)
        do {
            let run = try bench.spool.beginRun(now: bench.now)
            let claim = try #require(try run.claim(entry))
            let record = AttemptRecord(
                at: bench.now + .seconds(after ?? 0), duration: .zero, outcome: .delivered, status: 204, rule: "204")
            let receipt = try run.receipt(
                of: run.begin([claim]), for: [(claim, record)], keep: after != nil)
            #expect(receipt.isMarked)
        }
        bench.pass(.seconds(5))
        #expect(try bench.run().delivered == (isProbe ? 2 : 1))
        #expect(try (bench.state(of: "http://one").hold == nil) == isProbe)
    }

    @Test func `a probe whose file has gone has ended the hold, whenever its run dies`() throws {
        for index in 0... {
            let system = FailingCalls()
            let bench = try Bench(system: system.calls)
            try bench.add(1)
            _ = try DestinationsFile(spool: bench.spool).record(
                [("http://one", .held(reason: "403", status: 403, blamed: nil, began: bench.now))],
                settings: { _ in DestinationSettings() }, at: bench.now, durable: false)
            bench.pass(.seconds(3_601))
            _ = try? bench.run { _ in
                system.left = index
                return .status(204)
            }
            let hasDied = !system.isAlive
            system.left = .max
            let isGone = try bench.names(.new).isEmpty && bench.names(.claimed).isEmpty
            #expect(try !isGone || bench.state(of: "http://one").hold == nil, "call \(index)")
            if !hasDied { break }
        }
    }

    /// The document may have been applied: an older part alone would undo the newest.
    @Test(arguments: [1, 2])
    func `after a death with a merged document the document goes again, after two the parts go singly`(
        deaths: Int
    ) throws {
        let bench = try Bench()
        merge(&bench.configuration.defaultRoute)
        try bench.patch("k", [#"{"a":1}"#, #"{"b":2}"#])
        for _ in 0..<deaths {
            let parts = try Parts(bench)
            _ = try parts.spoolRun.recover(now: bench.now)
            parts.dispatch.queue.begin(
                merging: [try bench.names(.new)[1].id: [Entry(state: .new, name: try bench.names(.new)[0])]])
            let second = try parts.candidates()[1]
            let attempt = parts.dispatch.claim(second, to: parts.book[second], isSample: false)
            let members = try #require(attempt).members
            #expect(members.count == 1 && members[0].claims.count == 2)
            _ = parts.spoolRun.begin(members.flatMap(\.claims))
        }
        let summary = try bench.run()
        #expect(summary.recovered == 2 && summary.delivered == 2)
        #expect(bench.bodies == (deaths == 1 ? [#"{"a":1,"b":2}"#] : [#"{"a":1}"#, #"{"b":2}"#]))
    }

    @Test func `of the suspects of a sequence the oldest goes first, however many deaths it met`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .key
        try bench.add(2) { $0.key = "k" }
        for deaths in [1, 2] {
            for name in try bench.names(.new).prefix(deaths == 1 ? 2 : 1) {
                let run = try bench.spool.beginRun(now: bench.now)
                run.begin([try #require(try run.claim(Entry(state: .new, name: name)))])
            }
            let run = try bench.spool.beginRun(now: bench.now)
            _ = try run.recover(now: bench.now)
            try run.end()
        }
        #expect(try bench.names(.new).map(\.interruptions) == [2, 1])
        #expect(try bench.run().delivered == 2)
        #expect(bench.bodies == ["0", "1"])
    }

    // MARK: - Failed before its successor goes

    @Test(arguments: [false, true])
    func `an operation has failed on the disk before the operation behind it is sent`(isCutShort: Bool) throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.ordering = .key
        try bench.add(2) { $0.key = "k" }
        var failed: [Int] = []
        let summary = try bench.run { request in
            failed.append((try? bench.names(.failed).count) ?? -1)
            if isCutShort, failed.count == 2 { bench.signals = [15] }
            return failed.count == 1 ? .status(404) : .status(503)
        }
        #expect(failed == [0, 1] && summary.failed == 1)
        #expect(try bench.names(.failed).map(\.attempts) == [1])
        bench.signals = []
        bench.pass(.seconds(3_600))
        #expect(try bench.run().delivered == 1 && bench.bodies == ["1"])
    }

    // MARK: - The end

    @Test func `in the grace time a delivered operation is settled before the next report is awaited`() throws {
        let bench = try Bench()
        try bench.add(2)
        var claimed: [Int] = []
        let summary = try bench.run(RunOptions(concurrency: 2)) { _ in
            bench.signals = [15]
            claimed.append((try? bench.names(.claimed).count) ?? -1)
            return .status(204)
        }
        #expect(claimed == [2, 1] && summary.delivered == 2)
    }
}
