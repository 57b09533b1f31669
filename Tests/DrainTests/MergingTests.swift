import CSystem
import Delivery
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

/// `coalesce: "merge"`: the newest operation of a key carries the changes of the older operations.
struct MergingTests {
    private func bench(_ change: (inout Route) -> Void = { _ in }) throws -> Bench {
        let bench = try Bench()
        bench.configuration.defaultRoute.method = "PATCH"
        bench.configuration.defaultRoute.coalesce = true
        bench.configuration.defaultRoute.mergesPayloads = true
        bench.configuration.defaultRoute.retry.attempts = 9
        change(&bench.configuration.defaultRoute)
        return bench
    }

    private func left(_ bench: Bench) throws -> [String] {
        try (bench.names(.new) + bench.names(.deferred)).map(\.id.description).sorted()
    }

    private let three = [#"{"a":1,"b":1}"#, #"{"b":2}"#, #"{"c":3}"#]

    @Test func `a single request carries all changes of a key, and delivers all operations`() throws {
        let bench = try bench()
        try bench.patch("k", three)
        try bench.patch("m", [#"{"z": 1.10}"#])
        let summary = try bench.run()
        #expect(bench.bodies == [#"{"a":1,"b":2,"c":3}"#, #"{"z": 1.10}"#])
        #expect(summary.delivered == 4 && summary.superseded == 0 && summary.attempts == 2)
        #expect(try left(bench).isEmpty)
    }

    @Test func `deferred parts wait together, and a newer part goes with all of them`() throws {
        let bench = try bench()
        try bench.patch("k", three)
        let first = try bench.run { _ in .status(503) }
        #expect(first.deferred == 1 && first.attempts == 1)
        #expect(try bench.names(.new).count == 2 && bench.names(.deferred).count == 1)
        // The older operations are due, but wait for the newest.
        #expect(try bench.run().attempts == 0)
        try bench.patch("k", [#"{"d":4}"#])
        #expect(try bench.run().delivered == 4)
        #expect(bench.bodies == [#"{"a":1,"b":2,"c":3,"d":4}"#])
        #expect(try left(bench).isEmpty)
    }

    @Test func `a changed document has a new idempotency key, the same document keeps its key`() throws {
        let bench = try bench()
        var keys: [String?] = []
        func run() throws {
            _ = try bench.run(RunOptions(ignoresBackoff: true)) { request in
                keys.append(request.headers.first { $0.name == "Idempotency-Key" }?.value)
                return .status(503)
            }
        }
        try bench.patch("k", [three[0]])
        try run()
        try bench.patch("k", [three[1]])
        try run()
        try run()
        #expect(keys.count == 3 && keys[0] != keys[1] && keys[1] == keys[2] && keys[0] != nil)
    }

    @Test func `a part added while an older part is in flight goes with the next request`() throws {
        let bench = try bench()
        try bench.patch("k", [three[0]])
        _ = try bench.run { _ in
            if bench.sink?.requests.count == 1 { try? bench.patch("k", [self.three[1]]) }
            return .status(503)
        }
        #expect(try bench.run(RunOptions(ignoresBackoff: true)).delivered == 2)
        #expect(bench.bodies == [#"{"a":1,"b":2}"#])
    }

    @Test func `changes for two urls of different bytes and equal characters go in two requests`() throws {
        let bench = try bench()
        try bench.patch("k", [three[0]]) { $0.url = "http://one/cafe\u{301}" }
        try bench.patch("k", [three[1]]) { $0.url = "http://one/caf\u{E9}" }
        #expect(try bench.run().delivered == 2)
        #expect(bench.bodies == [three[0], three[1]])
        #expect(bench.sink?.requests.map(\.url) == ["http://one/cafe%CC%81", "http://one/caf%C3%A9"])
    }

    @Test func `a refused document is sent in its parts, in their order, and the bad part fails`() throws {
        let bench = try bench()
        try bench.patch("k", three)
        let summary = try bench.run { request in
            String(decoding: request.body ?? [], as: UTF8.self).contains(#""b":2"#) ? .status(422) : .status(204)
        }
        #expect(bench.bodies == [#"{"a":1,"b":2,"c":3}"#] + three)
        // A patch replaces nothing: the dead letter has a change that no delivered request had.
        #expect(summary.delivered == 2 && summary.failed == 1 && summary.superseded == 0)
        #expect(try bench.names(.failed).count == 1 && left(bench).isEmpty)
    }

    @Test func `a changed configuration lets a staying run merge what it has sent in parts`() throws {
        let bench = try bench()
        try bench.patch("k", three)
        var bodies: [String] = []
        let answer: (OutgoingRequest) -> AttemptReport.Result = { request in
            bodies.append(String(decoding: request.body ?? [], as: UTF8.self))
            return .status(bodies.count == 1 ? 400 : 204)
        }
        var world = bench.world(answer)
        var isChanged = false
        world.renewal = {
            if isChanged { return nil }
            isChanged = true
            try? bench.patch("k", self.three)
            var changed = bench.configuration
            changed.defaultRoute.url = "http://one/v2/{type}"
            return (changed, bench.world(answer))
        }
        let summary = try Run(
            spool: bench.spool, configuration: bench.configuration,
            options: RunOptions(stay: .during(.seconds(5))), world: world
        ) { _ in }()
        let document = #"{"a":1,"b":2,"c":3}"#
        #expect(bodies == [document] + three + [document] && summary.delivered == 6)
    }

    @Test func `a deferred part delays the parts behind`() throws {
        let bench = try bench()
        try bench.patch("k", three)
        _ = try bench.run { _ in bench.sink?.requests.count == 1 ? .status(400) : .status(503) }
        #expect(bench.bodies == [#"{"a":1,"b":2,"c":3}"#, three[0]])
        #expect(try left(bench) == ["k-0", "k-1", "k-2"])
        #expect(try bench.run(RunOptions(ignoresBackoff: true)).delivered == 3)
    }

    @Test(arguments: [
        [#"{"a":null}"#, #"{"a":{"x":1}}"#], ["1", #"{"a":1}"#], ["no JSON", #"{"a":1}"#], [#"{"a":1}"#, "no JSON"],
    ])
    func `parts that a single document cannot express are sent one after the other in a run`(bodies: [String]) throws {
        let bench = try bench()
        try bench.patch("k", bodies)
        #expect(try bench.run(RunOptions(limit: 2)).delivered == 2)
        #expect(bench.bodies == bodies)
    }

    @Test(arguments: [1, 10])
    func `parts that no document expresses go in their order, also newest first`(limit: Int) throws {
        let bench = try bench {
            $0.ordering = .newest
            $0.url = "http://one/users/{key}/{payload.section}"
        }
        let bodies = [#"{"section":"a","x":1}"#, #"{"section":"b","y":2}"#, #"{"section":"c","z":3}"#]
        try bench.patch("k", bodies)
        var sent: [String] = []
        for _ in 0..<4 {
            if try bench.run(RunOptions(limit: limit)).attempts > 0 { sent += bench.bodies }
            if limit > 1 { break }
        }
        #expect(sent == bodies)
    }

    @Test func `operations of two users are in no request together, and go in their order`() throws {
        let bench = try bench { $0.headers = [HeaderField(name: "Authorization", value: "${secret:token}")] }
        bench.configuration.secrets = ["token": .operationFile("tokens/{payload.user}")]
        bench.credentials.values = { _, files in
            SecretValues(values: files.mapValues { "of \($0)" }, files: files)
        }
        let bodies = [#"{"user":"a","x":1}"#, #"{"user":"a","x":2}"#, #"{"user":"b","y":1}"#]
        try bench.patch("k", bodies)
        try bench.patch("m", Array(bodies[..<2]))
        var users: [String: String] = [:]
        let summary = try bench.run { request in
            users[String(decoding: request.body ?? [], as: UTF8.self)] =
                request.headers.first { $0.name == "Authorization" }?.value
            return .status(204)
        }
        #expect(
            summary.delivered == 5 && summary.attempts == 4
                && bench.bodies.filter { $0 != bodies[1] } == [bodies[0], bodies[2]])
        #expect(users == [bodies[0]: "of tokens/a", bodies[1]: "of tokens/a", bodies[2]: "of tokens/b"])
    }

    @Test func `payloads that choose two resources are in no request together`() throws {
        let bench = try bench { $0.url = "http://one/users/{key}/{payload.section}" }
        try bench.patch("k", [#"{"section":"a","x":1}"#, #"{"section":"b","y":2}"#, #"{"section":"b","z":3}"#])
        let summary = try bench.run(RunOptions(concurrency: 1))
        #expect(summary.delivered == 3)
        #expect(bench.paths == ["/users/k/a", "/users/k/b", "/users/k/b"])
    }

    @Test func `changes of two chains are in no request together`() throws {
        let bench = try bench { $0.chain = "{payload.message}" }
        let payloads = [#"{"message":"A","title":1}"#, #"{"message":"B","note":1}"#]
        try bench.patch("k", payloads)
        #expect(try bench.run().delivered == 2)
        #expect(bench.bodies == payloads)
    }

    @Test func `a payload that is no object replaces the payloads before`() throws {
        let bench = try bench()
        try bench.patch("k", [#"{"a":1}"#, "[1]"])
        #expect(try bench.run().delivered == 2)
        #expect(bench.bodies == ["[1]"])
    }

    @Test func `a part that may not be sent yet is not sent with a newer part, and the newer part waits`() throws {
        let bench = try bench()
        try bench.patch("k", [three[0]]) { $0.notBefore = bench.now + .seconds(3600) }
        try bench.patch("k", [three[1]])
        let held = try #require(bench.names(.new).last)
        _ = try bench.spool.hold(Entry(state: .new, name: held))
        try bench.patch("k", [three[2]])
        #expect(try bench.run().attempts == 0)
        bench.now = bench.now + .seconds(3601)
        #expect(try bench.run().delivered == 0)
        #expect(try left(bench) == ["k-0", "k-1", "k-2"])
        for name in try bench.names(.new) where name.isHeld {
            _ = try bench.spool.release(Entry(state: .new, name: name), now: bench.now)
        }
        #expect(try bench.run().delivered == 3)
        #expect(bench.bodies == [#"{"a":1,"b":2,"c":3}"#])
    }

    @Test func `an expired part fails alone, and the other parts go together`() throws {
        let bench = try bench()
        try bench.patch("k", [three[0]])
        try bench.patch("k", [three[1]]) { $0.expiresAt = bench.now + .seconds(60) }
        try bench.patch("k", [three[2]])
        bench.now = bench.now + .seconds(61)
        let summary = try bench.run()
        #expect(summary.delivered == 2 && summary.expired == 1 && summary.attempts == 1)
        #expect(bench.bodies == [#"{"a":1,"b":1,"c":3}"#])
    }

    @Test(arguments: [true, false])
    func `an expired part fails although the newest part waits behind a dead letter`(isOwn: Bool) throws {
        let bench = try bench {
            ($0.ordering, $0.onFailure) = (.strict, .hold)
            if !isOwn { $0.expiresAfter = .seconds(60) }
        }
        try bench.patch("m", [three[0]])
        _ = try bench.run { _ in .status(422) }
        try bench.patch("k", [three[1]]) { if isOwn { $0.expiresAt = bench.now + .seconds(60) } }
        bench.now = bench.now + .seconds(50)
        try bench.patch("k", [three[2]])
        #expect(try bench.run().failed == 0)
        bench.now = bench.now + .seconds(11)
        let summary = try bench.run()
        #expect(summary.expired == 1 && summary.attempts == 0)
        #expect(try left(bench) == ["k-2"])
    }

    @Test func `if the newest part has expired, the older parts keep their place in the order`() throws {
        let bench = try bench { $0.ordering = .strict }
        try bench.patch("k", [three[0]])
        try bench.patch("k", [three[1]]) { $0.expiresAt = bench.now + .seconds(60) }
        try bench.patch("m", [three[2]])
        bench.now = bench.now + .seconds(61)
        #expect(try bench.run().delivered == 2)
        #expect(bench.bodies == [three[0], three[2]])
    }

    @Test(arguments: Ordering.allCases)
    func `send attempts a change only if it carries no older ones`(ordering: Ordering) throws {
        let bench = try bench { $0.ordering = ordering }
        #expect(try bench.send("a", key: "k").word == "delivered")
        try bench.patch("k", [three[0]])
        #expect(try bench.send("b", key: "k").wait == .nothing)
        #expect(try left(bench) == ["b", "k-0"])
    }

    @Test(arguments: [true, false])
    func `no newer change overtakes a parked change`(isOrdered: Bool) throws {
        let bench = try bench { if isOrdered { $0.ordering = .key } }
        try bench.patch("k", [#"{"a":1}"#])
        _ = try bench.run { _ in .status(401) }
        try bench.patch("k", [#"{"a":2}"#])
        #expect(try bench.run().attempts == 0)
        #expect(try bench.run(RunOptions(ignoresBackoff: true, ids: Set(bench.names(.new).map(\.id)))).delivered == 2)
        #expect(bench.bodies.last == #"{"a":2}"#)
    }

    @Test func `parts fail together when the attempts are used up, and no field is lost`() throws {
        let bench = try bench { $0.retry.attempts = 1 }
        try bench.patch("k", three)
        let summary = try bench.run { _ in .status(503) }
        #expect(summary.failed == 3)
        #expect(try bench.names(.failed).map(\.id.description) == ["k-0", "k-1", "k-2"])
        for name in try bench.names(.failed) {
            _ = try bench.spool.retry(Entry(state: .failed, name: name), now: bench.now)
        }
        bench.now = bench.now + .seconds(1)
        #expect(try bench.run().delivered == 3)
        #expect(bench.bodies == [#"{"a":1,"b":2,"c":3}"#])
    }

    @Test func `older parts are not superseded to make room for newer parts`() throws {
        let bench = try bench()
        bench.configuration.limits.operations = 2
        try bench.patch("k", [three[0], three[1]])
        var control = AdmissionControl(bench.configuration)
        let operation = bench.operation("k-9", "k", three[2])
        let others = [bench.operation("l-0", "l", three[0]), bench.operation("m-0", "m", three[0])]
        let accepted = try bench.spool.accept(
            ([operation] + others).map { Submission($0, hasOwnID: true, at: bench.now, isDated: false) },
            within: &control)
        // The three patches are one request, and count once.
        #expect(accepted.results.map { if case .accepted = $0 { true } else { false } } == [true, true, false])
        #expect(accepted.results[2] == .rejected(.operations(2)) && accepted.superseded.isEmpty)
        #expect(try bench.names(.new).count == 4)
    }

    /// A server that applies patches, and checks that no older value comes back.
    private struct Server {
        var members: [String: Int] = [:]
        var isMonotonic = true

        mutating func take(_ request: OutgoingRequest) {
            let body = Data(request.body ?? [])
            let patch = (try? JSONSerialization.jsonObject(with: body) as? [String: Int]) ?? [:]
            for (name, value) in patch {
                // Newer values are greater here.
                if value < members[name] ?? 0 { isMonotonic = false }
                members[name] = value
            }
        }
    }

    /// The process dies at each system call that changes something; the next run does the rest.
    @Test(arguments: [[204], [503, 204], [400, 204]])
    func `a kill at any moment loses no field and brings no older value back`(statuses: [Int]) throws {
        for point in 1...400 {
            let bench = try bench()
            try bench.patch("k", [#"{"a":1,"b":1}"#, #"{"b":2}"#, #"{"b":3,"c":3}"#])
            var server = Server()
            var answers = statuses
            func answer(_ request: OutgoingRequest) -> AttemptReport.Result {
                let status = answers.count > 1 ? answers.removeFirst() : 204
                if status == 204 { server.take(request) }
                return .status(status)
            }
            let dying = DyingCalls(at: point)
            do {
                let spool = try SpoolDirectory(opening: bench.directory.path, system: dying.calls)
                let run = Run(
                    spool: spool, configuration: bench.configuration, options: RunOptions(),
                    world: bench.world(answer)
                ) { _ in }
                _ = try? run()
            }
            for _ in 0..<4 {
                bench.now = bench.now + .seconds(3600)
                _ = try bench.run(answer: answer)
            }
            #expect(server.members == ["a": 1, "b": 3, "c": 3], "killed at \(point)")
            #expect(server.isMonotonic, "killed at \(point)")
            #expect(try left(bench).isEmpty && bench.names(.failed).isEmpty, "killed at \(point)")
            if !dying.isDead { return }
        }
        Issue.record("a run makes more than 400 changes")
    }
}

/// System calls of a dying process: from the nth change on, every change fails without effect.
private final class DyingCalls {
    private let point: Int
    private var count = 0
    var isDead: Bool { count >= point }

    init(at point: Int) { self.point = point }

    private func change() throws(Errno) {
        count += 1
        if isDead { throw Errno(ECANCELED) }
    }

    var calls: SystemCalls {
        let real = SystemCalls.real
        var calls = real
        calls.write = { (descriptor, bytes) throws(Errno) in
            try self.change()
            return try real.write(descriptor, bytes)
        }
        calls.fsync = { (_) throws(Errno) in try self.change() }
        calls.rename = { (directory, from, target, to) throws(Errno) in
            try self.change()
            try real.rename(directory, from, target, to)
        }
        calls.renameNoReplace = { (directory, from, to) throws(Errno) in
            try self.change()
            try real.renameNoReplace(directory, from, to)
        }
        calls.unlink = { (directory, path) throws(Errno) in
            try self.change()
            try real.unlink(directory, path)
        }
        calls.removeDirectory = { (directory, path) throws(Errno) in
            try self.change()
            try real.removeDirectory(directory, path)
        }
        return calls
    }
}

extension Bench {
    func operation(_ id: String, _ key: String, _ body: String) -> Policy.Operation {
        Operation(
            header: OperationHeader(
                id: OperationID(id)!, createdAt: now, contentType: "application/json", key: key),
            body: Array(body.utf8))
    }

    /// Adds operations of one key, in this order.
    func patch(_ key: String, _ bodies: [String], change: (inout OperationHeader) -> Void = { _ in }) throws {
        let first = try names(.new).count + names(.deferred).count + names(.failed).count
        let claimed = try names(.claimed).count
        try spool.accept(
            bodies.enumerated().map { index, body in
                now = now + .microseconds(1)
                var operation = operation("\(key)-\(first + claimed + index)", key, body)
                change(&operation.header)
                return operation
            })
    }
}
