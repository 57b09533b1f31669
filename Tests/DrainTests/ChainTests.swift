import CSystem
import Delivery
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// Chains: later operations of a key send the value from the answer to an earlier operation, and wait for the value.
struct ChainTests {
    private func bench(
        _ ordering: Ordering = .key, _ onFailure: OnFailure = .hold, system: SystemCalls = .real
    ) throws -> Bench {
        let bench = try Bench(system: system)
        bench.configuration = Configuration(
            defaultRoute: Route(
                url: "http://one/{kept.id}",
                retry: BackoffSchedule(delays: .list([.seconds(60)]), attempts: 2, maxAge: .seconds(86_400)),
                ordering: ordering, onFailure: onFailure),
            routes: [
                TypeName("create")!: Route(
                    url: "http://one/", keep: ["id": .pointer(JSONPointer("/id")!)],
                    retry: BackoffSchedule(delays: .list([.seconds(60)]), attempts: 2), ordering: ordering,
                    onFailure: onFailure)
            ])
        return bench
    }

    /// Answers a create with the number of its key.
    private func serve(_ request: OutgoingRequest) -> AttemptReport.Result {
        guard request.url == "http://one/" else { return .status(204) }
        let number = String(decoding: request.body ?? [], as: UTF8.self)
        return .answer(AttemptReport.Answer(status: 201, body: Array("{\"id\":\"n\(number)\"}".utf8)))
    }

    private func reason(_ bench: Bench, _ type: String) throws -> WaitReason? {
        let known = try KnownDestinations(of: bench.spool, bench.configuration, at: bench.now)
        var view = try QueueView(bench.spool, bench.configuration, known, at: bench.now)
        for state in [QueueState.new, .deferred] {
            guard let name = try bench.names(state).first(where: { $0.type.description == type }) else { continue }
            return view.waiting(of: Entry(state: state, name: name))
        }
        return nil
    }

    /// The machine was off, or the queue paused: the age bounds the wait for a value that may never come.
    @Test(arguments: [Ordering.key, .any], [true, false])
    func `followers outlive any time in which no run has come, while their create is there`(
        ordering: Ordering, isHeld: Bool
    ) throws {
        let bench = try bench(ordering)
        try bench.add(1, type: "create") { $0.key = "k" }
        try bench.add(2) { $0.key = "k" }
        if isHeld { _ = try bench.run { _ in .status(401) } }
        bench.pass(.seconds(10 * 86_400))
        _ = try bench.run { isHeld ? .status(401) : self.serve($0) }
        #expect(try bench.names(.failed).isEmpty)
        #expect(try bench.names(.new).count + bench.names(.deferred).count == (isHeld ? 3 : 0))
    }

    @Test(arguments: [Ordering.key, .any])
    func `a run sends a create and its followers, each follower with the value of its key`(ordering: Ordering) throws {
        let bench = try bench(ordering)
        for key in 0..<3 {
            try bench.add(1, type: "create") { $0.key = "k\(key)" }
            try bench.add(2) { $0.key = "k\(key)" }
        }
        let summary = try bench.run(answer: serve)
        #expect(summary.delivered == 9 && summary.attempts == 9)
        #expect(bench.paths.sorted() == ["/", "/", "/", "/n0", "/n0", "/n1", "/n1", "/n2", "/n2"])
        #expect(bench.paths.prefix(3).allSatisfy { $0 == "/" })
        // An operation added the next day still has the value.
        bench.now = bench.now + .seconds(86_400)
        try bench.add(1) { $0.key = "k1" }
        #expect(try bench.run(answer: serve).delivered == 1)
        #expect(bench.paths == ["/n1"])
    }

    /// Makes a bench with an order by conversation and a value for each message.
    private func conversations() throws -> Bench {
        let bench = try Bench()
        let retry = BackoffSchedule(delays: .list([.seconds(60)]), attempts: 2, maxAge: .seconds(86_400))
        bench.configuration = Configuration(
            defaultRoute: Route(
                url: "http://one/{kept.id}", chain: "{payload.message}", retry: retry, ordering: .key),
            routes: [
                TypeName("create")!: Route(
                    url: "http://one/", keep: ["id": .pointer(JSONPointer("/id")!)], chain: "{payload.message}",
                    retry: retry, ordering: .key)
            ])
        return bench
    }

    private func add(_ bench: Bench, _ type: String, _ message: Int, key: String?) throws {
        try bench.add(1, type: type, body: #"{"message":\#(message)}"#) { $0.key = key }
    }

    /// Answers a create with the number of its message.
    private func serveMessages(_ request: OutgoingRequest) -> AttemptReport.Result {
        guard request.url == "http://one/" else { return .status(204) }
        let number = String(decoding: request.body ?? [], as: UTF8.self).filter(\.isNumber)
        return .answer(AttemptReport.Answer(status: 201, body: Array("{\"id\":\"n\(number)\"}".utf8)))
    }

    @Test func `with a chain each message has its own value, and the key still gives the order`() throws {
        let bench = try conversations()
        for message in 1...3 { try add(bench, "create", message, key: "c") }
        for message in [2, 1, 3] { try add(bench, "default", message, key: "c") }
        let summary = try bench.run(answer: serveMessages)
        #expect(summary.delivered == 6 && summary.attempts == 6)
        #expect(bench.paths == ["/", "/", "/", "/n2", "/n1", "/n3"])
    }

    @Test func `an operation without the value of its chain waits uncharged, with a wait reason, also without a key`()
        throws
    {
        let bench = try conversations()
        try add(bench, "create", 1, key: nil)
        try add(bench, "default", 1, key: nil)
        try add(bench, "default", 2, key: nil)
        let summary = try bench.run(answer: serveMessages)
        #expect(summary.delivered == 2 && summary.attempts == 2)
        #expect(bench.paths == ["/", "/n1"])
        #expect(try reason(bench, "default") == .kept("id"))
        try add(bench, "create", 2, key: nil)
        #expect(try bench.run(answer: serveMessages).delivered == 2)
        #expect(try bench.names(.new).isEmpty)
    }

    @Test func `a value stays while an operation of its chain waits or has failed`() throws {
        let bench = try conversations()
        let future = try #require(Timestamp(rfc3339: "2100-01-01T00:00:00Z"))
        func prune() throws -> Int {
            try bench.spool.pruneKept(olderThan: future, at: bench.now, by: bench.configuration)
        }
        try add(bench, "create", 1, key: "c")
        try add(bench, "create", 2, key: "c")
        try add(bench, "default", 1, key: "c")
        let waiting = try #require(try bench.names(.new).first { $0.type == .default })
        let held = try #require(try bench.spool.hold(Entry(state: .new, name: waiting)))
        #expect(try bench.run(answer: serveMessages).delivered == 2)
        // The value of the other message goes.
        #expect(try bench.spool.keptKeys().count == 2)
        #expect(try prune() == 1 && bench.spool.keptKeys() == [Digest(of: "1")])
        _ = try bench.spool.release(held, now: bench.now)
        #expect(try bench.run { _ in .status(400) }.failed == 1)
        #expect(try prune() == 0)
        let failed = Entry(state: .failed, name: try #require(bench.names(.failed).first))
        _ = try bench.spool.drop(failed)
        #expect(try prune() == 1 && bench.spool.keptKeys().isEmpty)
    }

    @Test func `an operation whose chain cannot be made fails unsent`() throws {
        let bench = try conversations()
        try bench.add(1, type: "create", body: "{}") { $0.key = "c" }
        try bench.add(1, body: #"{"message":{}}"#) { $0.key = "c" }
        let summary = try bench.run(answer: serveMessages)
        #expect(summary.failed == 2 && summary.attempts == 0)
    }

    @Test
    func `merged operations without their kept value expire, and so do operations behind an operation without a value`()
        throws
    {
        for coalesces in [true, false] {
            let bench = try bench()
            bench.configuration.defaultRoute.expiresAfter = .seconds(600)
            bench.configuration.defaultRoute.coalesce = coalesces
            bench.configuration.defaultRoute.mergesPayloads = coalesces
            try bench.add(3) { $0.key = "a" }
            #expect(try bench.run(answer: serve).failed == 0)
            bench.now = bench.now + .seconds(601)
            let summary = try bench.run(answer: serve)
            #expect(summary.failed == 3 && summary.expired == 3 && summary.attempts == 0)
        }
    }

    @Test func `an operation without its kept value waits uncharged, with a wait reason, and so do operations behind`()
        throws
    {
        let bench = try bench()
        try bench.add(2) { $0.key = "a" }
        try bench.add(1, type: "create") { $0.key = "b" }
        let summary = try bench.run(answer: serve)
        #expect(summary.delivered == 1 && summary.attempts == 1 && summary.leftDue == 0)
        #expect(try bench.names(.new).count == 2)
        #expect(try reason(bench, "default") == .kept("id"))
        let known = try KnownDestinations(of: bench.spool, bench.configuration, at: bench.now)
        let count = try QueueCount(of: bench.spool, bench.configuration, known, at: bench.now)
        #expect(count.lackingKept == 1 && count.waitingForOlder == 1 && count.due == 0)
        // A named run does not send the operations without the value.
        let ids = Set(try bench.names(.new).map(\.id))
        #expect(try bench.run(RunOptions(ids: ids), answer: serve).attempts == 0)
    }

    @Test func `the age of the schedule bounds the wait for a kept value`() throws {
        let bench = try bench()
        try bench.add(1) { $0.key = "a" }
        bench.now = bench.now + .seconds(86_399)
        #expect(try bench.run(answer: serve).failed == 0)
        bench.now = bench.now + .seconds(1)
        let summary = try bench.run(answer: serve)
        #expect(summary.failed == 1 && summary.attempts == 0)
        #expect(try bench.names(.failed).count == 1)
    }

    @Test func `a create behind the operation that waits for its value serves nothing, and goes once its age is over`()
        throws
    {
        let bench = try bench(.key, .proceed)
        try bench.add(1) { $0.key = "k" }
        try bench.add(1, type: "create") { $0.key = "k" }
        #expect(try bench.run(answer: serve).attempts == 0)
        let known = try KnownDestinations(of: bench.spool, bench.configuration, at: bench.now)
        var view = try QueueView(bench.spool, bench.configuration, known, at: bench.now)
        let waiting = try #require(try bench.names(.new).first { $0.type == .default })
        let unserved = try #require(try view.unserved("id", of: Entry(state: .new, name: waiting)))
        #expect(unserved.count == 1 && unserved.behind?.description == "create-0")
        bench.pass(.seconds(86_401))
        for _ in 0..<2 { _ = try bench.run(answer: serve) }
        #expect(try bench.names(.failed).map(\.id) == [waiting.id] && bench.names(.new).isEmpty)
    }

    @Test func `a create that a run attempts between two listings serves the value all the same`() throws {
        var (create, claim): (Entry?, Claim?) = (nil, nil)
        var run: SpoolRun?
        var system = SystemCalls.real
        system.list = { (directory, path, body) throws(Errno) in
            let text = String(cString: path)
            if text == "new", let entry = create.take() { claim = try? run?.claim(entry) }
            try SystemCalls.real.list(directory, path, body)
            if text == "deferred", let claimed = claim.take() {
                let until = (claimed.name.createdAt + .seconds(60)).roundedUpToMilliseconds
                _ = try? run?.settle(
                    claimed, .deferred(until: until, countsAttempt: true), record: nil, now: claimed.name.createdAt)
            }
        }
        let bench = try bench(.any, system: system)
        try bench.add(1, type: "create") { $0.key = "k" }
        try bench.add(1) { $0.key = "k" }
        let known = try KnownDestinations(of: bench.spool, bench.configuration, at: bench.now)
        var view = try QueueView(bench.spool, bench.configuration, known, at: bench.now)
        run = try SpoolDirectory(opening: bench.directory.path).beginRun(now: bench.now)
        let names = try bench.names(.new)
        create = Entry(state: .new, name: names[0])
        #expect(try view.unserved("id", of: Entry(state: .new, name: names[1])) == nil)
        #expect(try bench.names(.deferred).map(\.type.description) == ["create"])
        try run?.end()
    }

    /// Only an operation of its own line waits for the older one.
    @Test(arguments: [("one", false), ("two", true)])
    func `a newer operation serves an older one unless it stands behind it`(host: String, isServed: Bool) {
        let (chain, now) = (Digest(of: "k"), Timestamp(microseconds: 0))
        func line(_ host: String) -> SequenceKey { .key(chain, of: nil, to: Digest(of: host)) }
        func name(_ id: String, _ at: Timestamp) -> EntryName {
            EntryName(createdAt: at, id: OperationID(id)!, type: .default)
        }
        var lacks = KeptLacks()
        lacks.note(KeptLacks.Lack(name: "id", line: line("one")), of: chain, for: name("older", now))
        let newer = name("newer", now + .seconds(1))
        lacks.serve(["id"], of: .of(chain), by: newer, in: line(host), hasFailed: false)
        #expect((lacks.unserved == nil) == isServed)
    }

    @Test func `the age of the schedule bounds the wait for a value that only creates of other chains leave`() throws {
        let bench = try conversations()
        try add(bench, "create", 1, key: nil)
        try add(bench, "default", 1, key: nil)
        try add(bench, "default", 2, key: nil)
        #expect(try bench.run { _ in .status(403) }.attempts == 1)
        bench.pass(.seconds(86_400))
        let summary = try bench.run { _ in .status(403) }
        #expect(summary.failed == 1)
        #expect(try bench.names(.failed).map(\.id.description) == ["default-1"])
        #expect(try bench.names(.new).map(\.id.description) == ["create-0", "default-0"])
    }

    @Test func `the expiry of an operation bounds the wait for a kept value`() throws {
        let bench = try bench(.any)
        let end = bench.now + .seconds(100)
        try bench.add(1) { ($0.key, $0.expiresAt) = ("a", end) }
        try bench.add(1) { $0.key = "b" }
        #expect(try bench.run(answer: serve).failed == 0)
        bench.now = end
        let summary = try bench.run(answer: serve)
        #expect(summary.failed == 1 && summary.attempts == 0)
        let name = try #require(bench.names(.failed).first)
        guard case .operation(let stored)? = try bench.spool.read(Entry(state: .failed, name: name)) else {
            throw Errno(0)
        }
        #expect(name.id.description == "default-0")
        #expect(stored.operation.attempts.last?.rule == Rule.expired(at: end).description)
    }

    // MARK: - A full disk

    private func full(_ bench: Bench, at path: String) throws -> SpoolDirectory {
        var calls = SystemCalls.real
        let open = calls.open
        calls.open = { (directory, name, flags, mode) throws(Errno) in
            if flags & O_CREAT != 0, String(cString: name).hasPrefix(path) { throw Errno(ENOSPC) }
            return try open(directory, name, flags, mode)
        }
        return try SpoolDirectory(opening: bench.directory.path, system: calls)
    }

    private func run(_ bench: Bench, full path: String) throws -> RunSummary {
        let spool = try full(bench, at: path)
        var options = RunOptions()
        options.concurrency = 1
        return try Run(spool: spool, configuration: bench.configuration, options: options, world: bench.world(serve)) {
            bench.events.append($0)
        }()
    }

    @Test func `without room for kept values, no operation that keeps a value is sent`() throws {
        let bench = try bench(.any)
        bench.configuration.routes[TypeName("other")!] = Route(url: "http://one/other")
        for key in ["a", "b"] {
            try bench.add(1, type: "create") { $0.key = key }
            try bench.add(1) { $0.key = key }
        }
        try bench.add(1, type: "other")
        let summary = try run(bench, full: "state/keys/.")
        #expect(summary.delivered == 1 && bench.paths == ["/other"])
        #expect(summary.inputOutputErrors > 0)
        #expect(try bench.names(.new).count == 4)
        #expect(try bench.run(answer: serve).delivered == 4)
    }

    @Test func `an operation whose kept values cannot be read is not sent`() throws {
        let bench = try bench(.any)
        for key in ["a", "b"] { try bench.add(1, type: "create") { $0.key = key } }
        let path = "\(bench.directory.path)/state/keys/\(Digest(of: "a")).json"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let summary = try bench.run(answer: serve)
        #expect(summary.delivered == 1 && summary.inputOutputErrors == 1 && bench.paths == ["/"])
        try FileManager.default.removeItem(atPath: path)
        #expect(try bench.run(answer: serve).delivered == 1)
    }

    @Test func `send reports a value that could not be kept`() throws {
        let bench = try bench(.any)
        var (told, errors): ([String], Int) = ([], 0)
        func send(_ id: String, _ spool: SpoolDirectory, _ answer: String) throws -> OperationSender.Result {
            func take(_ event: RunEvent) {
                switch event {
                case .notKept(let id, let name, let reason): told.append("\(id) \(name) \(reason)")
                case .inputOutputError: errors += 1
                default: break
                }
            }
            return try bench.send(id, type: TypeName("create")!, key: "a", in: spool, report: take) { _ in
                .answer(AttemptReport.Answer(status: 201, body: Array(answer.utf8)))
            }
        }
        #expect(try send("x", bench.spool, "{}").word == "delivered")
        #expect(told == ["x id \(KeepError.missing)"] && errors == 0)
        let full = try full(bench, at: "state/keys/.\(Digest(of: "a"))")
        #expect(try send("y", full, #"{"id":1}"#).word == "delivered, but not settled")
        #expect(errors == 1)
        // The operation is marked as delivered, and the next run keeps the value.
        #expect(try bench.names(.new).isEmpty && bench.names(.claimed).count == 1)
        #expect(try bench.run(answer: serve).delivered == 1)
    }

    @Test func `send does not send an operation without room for its kept value`() throws {
        let bench = try bench(.any)
        let full = try full(bench, at: "state/keys/.")
        let result = try bench.send("x", type: TypeName("create")!, key: "a", in: full, answer: serve)
        #expect(result.word == "broken" && result.reason.hasSuffix("No space left on device"))
        #expect(bench.sink?.requests.isEmpty ?? true)
        #expect(try bench.names(.new).count == 1)
    }

    @Test(arguments: [Ordering.key, .any])
    func `a disk without room for a kept value loses no operation, and no operation overtakes`(ordering: Ordering)
        throws
    {
        let bench = try bench(ordering)
        bench.configuration.routes[TypeName("other")!] = Route(url: "http://one/other", ordering: ordering)
        for key in ["a", "b"] {
            try bench.add(1, type: "create") { $0.key = key }
            try bench.add(1) { $0.key = key }
            if ordering == .key { try bench.add(1, type: "other") { $0.key = key } }
        }
        // The test file for free space fits, the value does not.
        let summary = try run(bench, full: "state/keys/.\(Digest(of: "a"))")
        #expect(summary.delivered == 0 && bench.paths == ["/"])
        #expect(try bench.names(.new).allSatisfy { $0.attempts == 0 })
        // The record of the delivery has the value: no run asks for another one.
        let left = try bench.names(.new).count
        #expect(left == (ordering == .key ? 5 : 3) && summary.inputOutputErrors > 0)
        #expect(try bench.run(answer: serve).delivered == left + 1)
        #expect(bench.paths.filter { $0 == "/" }.count == 1)
    }

    @Test func `a failed create holds its followers, and a retry sends the create first`() throws {
        let bench = try bench()
        try bench.add(1, type: "create") { $0.key = "a" }
        try bench.add(2) { $0.key = "a" }
        let summary = try bench.run { _ in .status(422) }
        #expect(summary.failed == 1 && summary.attempts == 1)
        #expect(try reason(bench, "default") == .failed(OperationID("create-0")!))
        let failed = try #require(bench.names(.failed).first)
        _ = try bench.spool.retry(Entry(state: .failed, name: failed), now: bench.now)
        bench.now = bench.now + .seconds(1)
        #expect(try bench.run(answer: serve).delivered == 3)
        #expect(bench.paths == ["/", "/n0", "/n0"])
    }

    @Test func `after the drop of a create its followers wait for the value`() throws {
        let bench = try bench()
        try bench.add(1, type: "create") { $0.key = "a" }
        try bench.add(1) { $0.key = "a" }
        _ = try bench.run { _ in .status(422) }
        _ = try bench.spool.drop(Entry(state: .failed, name: try #require(bench.names(.failed).first)))
        #expect(try bench.run(answer: serve).attempts == 0)
        #expect(try reason(bench, "default") == .kept("id"))
    }

    @Test func `an answer without the value is reported, and the follower is not sent`() throws {
        let bench = try bench()
        try bench.add(1, type: "create") { $0.key = "a" }
        try bench.add(1) { $0.key = "a" }
        let summary = try bench.run { _ in .status(204) }
        #expect(summary.delivered == 1 && summary.attempts == 1)
        let told = bench.events.contains {
            if case .notKept(_, name: "id", reason: .notJSON) = $0 { true } else { false }
        }
        #expect(told)
    }

    @Test func `a newer create replaces the value, and its followers send the new value`() throws {
        let bench = try bench()
        for _ in 0..<2 {
            try bench.add(1, type: "create") { $0.key = "a" }
            try bench.add(1) { $0.key = "a" }
            _ = try bench.run(answer: serve)
        }
        #expect(bench.paths == ["/", "/n1"])
    }

    @Test func `values are removed once the key is finished and their retention is over`() throws {
        let bench = try bench()
        bench.configuration.retention.kept = .zero
        try bench.add(1, type: "create") { $0.key = "a" }
        try bench.add(1) { $0.key = "a" }
        #expect(try bench.run(RunOptions(limit: 1), answer: serve).delivered == 1)
        #expect(try bench.spool.keptKeys().count == 1)
        bench.now = Timestamp(rfc3339: "2100-01-01T00:00:00Z")!
        bench.configuration.defaultRoute.retry.maxAge = nil
        #expect(try bench.run(answer: serve).delivered == 1)
        #expect(try bench.spool.keptKeys().isEmpty)
    }

    @Test func `send keeps and sends values, too`() throws {
        let bench = try bench()
        func send(_ id: String, _ type: String) throws -> OperationSender.Result {
            bench.now = bench.now + .seconds(1)
            return try bench.send(id, type: TypeName(type)!, key: "a", answer: serve)
        }
        #expect(try send("x", "default").reason == "no answer has left '{kept.id}' for its key")
        #expect(try bench.spool.drop(Entry(state: .new, name: #require(try bench.names(.new).first))))
        #expect(try send("y", "create").word == "delivered")
        #expect(try send("z", "default").word == "delivered")
        #expect(bench.paths == ["/n1"])
    }

    @Test func `members of a batch send the values of their own keys`() throws {
        let bench = try bench(.any)
        bench.configuration.defaultRoute.url = "http://one/all"
        bench.configuration.defaultRoute.body = #"{"id":{kept.id},"v":{payload}}"#
        bench.configuration.defaultRoute.batch = Batch(max: 10)
        for key in ["a", "b"] {
            try bench.add(1, type: "create") { $0.key = key }
            try bench.add(1) { $0.key = key }
        }
        #expect(try bench.run(answer: serve).delivered == 4)
        #expect(bench.bodies.last == #"[{"id":"n0","v":0},{"id":"n1","v":1}]"#)
    }
}
