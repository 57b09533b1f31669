import Delivery
import Foundation
import Spool
import Testing

@testable import Drain
@testable import Policy

struct SequenceTests {
    private func bench(_ change: (inout Route) -> Void) throws -> Bench {
        let bench = try Bench()
        change(&bench.configuration.defaultRoute)
        return bench
    }

    @Test func `only the newest value of a key is sent, and the older values are gone`() throws {
        let bench = try bench { $0.coalesce = true }
        try bench.add(3) { $0.key = "a" }
        try bench.add(1) { $0.key = "b" }
        try bench.add(1)
        let summary = try bench.run(RunOptions(concurrency: 1))
        #expect(bench.bodies == ["2", "3", "4"])
        #expect(summary.superseded == 2 && summary.delivered == 3)
        #expect(try bench.names(.new).isEmpty)
    }

    @Test func `behind an open circuit breaker no operation goes before an older operation of its key`() throws {
        let bench = try bench { $0.ordering = .key }
        let older = bench.now
        bench.pass(.seconds(1))
        try bench.add(1) { $0.key = "k" }
        _ = try bench.run { _ in .status(503) }
        bench.pass(.seconds(70))
        let header = OperationHeader(
            id: OperationID("older")!, createdAt: older, contentType: "application/json", key: "k")
        try bench.spool.accept([Operation(header: header, body: Array("1".utf8))])
        let failures = Array(
            repeating: (destination: "http://one", event: DestinationEvent.unreachable("refused")), count: 5)
        try DestinationsFile(spool: bench.spool).record(
            failures, settings: { _ in DestinationSettings() }, at: bench.now, durable: false)
        #expect(try bench.run { _ in .status(503) }.attempts == 0)
        #expect(try bench.names(.deferred).map(\.attempts) == [1])
    }

    @Test(arguments: [503, 400])
    func `a value that fails while a newer value arrives is superseded, and never sent again`(status: Int) throws {
        let bench = try bench { $0.coalesce = true }
        try bench.add(1) { $0.key = "a" }
        let first = try bench.run { _ in
            if bench.bodies.last == "0" { _ = try? bench.add(1) { $0.key = "a" } }
            return .status(status)
        }
        #expect(first.failed == 0)
        _ = try bench.run(RunOptions(ignoresBackoff: true))
        #expect(bench.bodies == ["1"])
        #expect(try bench.names(.new).isEmpty && bench.names(.deferred).isEmpty && bench.names(.failed).isEmpty)
    }

    @Test func `a failing value becomes a dead letter unless a due newer value of its key and destination waits`()
        throws
    {
        let bench = try bench { $0.coalesce = true }
        try bench.add(1) { $0.key = "a" }
        let summary = try bench.run { request in
            if request.url.hasPrefix("http://one"), bench.bodies.last == "0" {
                // A value of the key for another destination, and a value that is not due yet.
                _ = try? bench.add(1) {
                    $0.key = "a"
                    $0.url = "http://two/"
                    $0.notBefore = bench.now + .seconds(3600)
                }
                _ = try? bench.add(1) {
                    $0.key = "a"
                    $0.notBefore = bench.now + .seconds(3600)
                }
            }
            return .status(400)
        }
        #expect(summary.failed == 1 && summary.superseded == 0)
        #expect(try bench.names(.failed).count == 1)
    }

    @Test func `the removal of older values respects the time limit, and no newer value goes first`() throws {
        let bench = try bench { $0.coalesce = true }
        try bench.add(5) { $0.key = "a" }
        let late = try bench.run(RunOptions(maxTime: .zero))
        #expect(late.end == .timeUp && late.superseded == 0 && late.attempts == 0)
        #expect(late.leftDue == 1 && late.outcomes == [.deferred])
        #expect(try bench.names(.new).count == 5)
    }

    @Test func `the removal of older values of unsent keys respects the limit`() throws {
        let bench = try bench { $0.coalesce = true }
        for key in ["a", "b", "c", "d", "e", "f"] { try bench.add(2) { $0.key = key } }
        let first = try bench.run(RunOptions(limit: 1))
        // The older values of the chosen key, of the three keys that may become samples, and of another key.
        #expect(first.delivered == 1 && first.superseded == 5)
        #expect(try bench.names(.new).count == 6)
    }

    @Test func `older values of a key go in portions, and the newest value is sent after all of them`() throws {
        let bench = try bench { $0.coalesce = true }
        try bench.add(9) { $0.key = "a" }
        try bench.add(1) { $0.key = "b" }
        let summary = try bench.run(portion: 3)
        #expect(summary.delivered == 2 && summary.superseded == 8)
        #expect(Set(bench.bodies) == ["8", "9"] && summary.leftDue == 0)
    }

    @Test func `a run quarantines a damaged newest value, sends the next value, and ends`() throws {
        let bench = try bench { $0.coalesce = true }
        try bench.add(9) { $0.key = "a" }
        let newest = try #require(try bench.names(.new).max { $0.createdAt < $1.createdAt })
        try Data("x".utf8).write(to: bench.directory.appending(path: "new/\(newest)"))
        let summary = try bench.run(portion: 3)
        #expect(summary.quarantined == 1 && summary.delivered == 1 && summary.superseded == 7)
    }

    @Test func `a newer value with a later notBefore time does not supersede a value due now`() throws {
        let bench = try bench { $0.coalesce = true }
        try bench.add(1) { $0.key = "a" }
        let later = bench.now + .seconds(3600)
        try bench.add(1) {
            $0.key = "a"
            $0.notBefore = later
        }
        #expect(try bench.run().delivered == 1)
        #expect(bench.bodies == ["0"])
        bench.now = later + .seconds(1)
        #expect(try bench.run().delivered == 1)
    }

    @Test func `operations of a key go one after the other, and operations of another key meanwhile`() throws {
        let bench = try bench { $0.ordering = .key }
        for key in ["a", "b"] { try bench.add(3) { $0.key = key } }
        #expect(try bench.run(RunOptions(concurrency: 6)).delivered == 6)
        #expect(bench.sink?.mostInFlight == 2)
        #expect(bench.bodies.filter { Int($0)! < 3 } == ["0", "1", "2"])
        #expect(bench.bodies.filter { Int($0)! >= 3 } == ["3", "4", "5"])
    }

    @Test func `a deferred operation stops the operations of its key, a failed operation does not`() throws {
        let bench = try bench { $0.ordering = .key }
        try bench.add(3) { $0.key = "a" }
        try bench.add(1) { $0.key = "b" }
        let summary = try bench.run { $0.body == Array("0".utf8) ? .status(503) : .status(200) }
        #expect(bench.bodies.sorted() == ["0", "3"] && summary.delivered == 1)
        #expect(try bench.run().attempts == 0)
        bench.now = bench.now + .seconds(61)
        #expect(try bench.run { $0.body == Array("0".utf8) ? .status(400) : .status(200) }.delivered == 2)
        #expect(bench.bodies == ["0", "1", "2"])
    }

    @Test func `strict order sends one operation at a time, without keys`() throws {
        let bench = try bench { $0.ordering = .strict }
        try bench.add(5)
        #expect(try bench.run(RunOptions(concurrency: 5)).delivered == 5)
        #expect(bench.sink?.mostInFlight == 1)
        #expect(bench.bodies == ["0", "1", "2", "3", "4"])
    }

    @Test func `operations of a key are a single sequence, whatever their types`() throws {
        let bench = try bench { $0.ordering = .key }
        bench.configuration.routes[TypeName("update")!] = bench.configuration.defaultRoute
        try bench.add(1) { $0.key = "a" }
        try bench.add(1, type: "update") { $0.key = "a" }
        _ = try bench.run { _ in .status(503) }
        #expect(bench.paths == ["/default"])
    }

    @Test func `while another run has the sequence lock, operations without an order go on`() throws {
        let bench = try bench { $0.ordering = .key }
        try bench.add(2) { $0.key = "a" }
        try bench.add(2, type: "other")
        let lock = try #require(try bench.sequenceLock())
        #expect(try bench.run().delivered == 2)
        lock.release()
        #expect(try bench.run().delivered == 2)
    }

    // MARK: - Windows of keys

    @Test func `an attempt of unknown outcome beyond keyTTL holds the operation`() throws {
        let bench = try bench {
            $0.keyTTL = .seconds(3600)
            $0.retry = BackoffSchedule(delays: .list([.seconds(60)]), attempts: 9)
        }
        try bench.add(1)
        _ = try bench.run { _ in .failure(.timeout, detail: "") }
        bench.now = bench.now + .seconds(61)
        #expect(try bench.run { _ in .failure(.timeout, detail: "") }.attempts == 1)
        bench.now = bench.now + .seconds(3600)
        let summary = try bench.run()
        #expect(summary.attempts == 0 && summary.ambiguous == 1)
        #expect(try bench.names(.deferred).first?.isHeld == true)
        #expect(try bench.run().attempts == 0)
    }

    @Test func `an unsent attempt beyond keyTTL does not hold the operation`() throws {
        let bench = try bench { $0.keyTTL = .seconds(10) }
        try bench.add(1)
        _ = try bench.run { _ in .failure(.refused, detail: "") }
        bench.now = bench.now + .seconds(3600)
        #expect(try bench.run().delivered == 1)
    }

    // MARK: - Batches

    @Test func `operations of a batch share a request, and are settled together`() throws {
        let bench = try bench { $0.batch = Batch(max: 4) }
        try bench.add(10)
        let summary = try bench.run(RunOptions(concurrency: 1))
        #expect(bench.bodies == ["[0,1,2,3]", "[4,5,6,7]", "[8,9]"])
        #expect(summary.delivered == 10 && summary.attempts == 3)
    }

    @Test func `a batch full by its bytes does not keep other batches from being sent meanwhile`() throws {
        let bench = try bench { $0.batch = Batch(max: 10, maxBytes: 6) }
        try bench.add(10)
        #expect(try bench.run(RunOptions(concurrency: 5)).delivered == 10)
        // "[0,1,2]" has seven bytes.
        #expect(bench.bodies == ["[0,1]", "[2,3]", "[4,5]", "[6,7]", "[8,9]"])
        #expect(bench.sink?.mostInFlight == 5)
        #expect(try bench.names(.new).isEmpty && bench.names(.claimed).isEmpty)
    }

    @Test func `operations without room in a batch are put back if the run has to stop`() throws {
        let bench = try bench { $0.batch = Batch(max: 10, maxBytes: 6) }
        try bench.add(4)
        let summary = try bench.run(RunOptions(concurrency: 1)) { _ in
            .status(429, [HeaderField(name: "Retry-After", value: "3600")])
        }
        #expect(bench.bodies == ["[0,1]"] && summary.waiting == 2)
        #expect(try bench.names(.new).count == 2 && bench.names(.claimed).isEmpty)
    }

    @Test func `a refused batch is split down to the bad operation`() throws {
        let bench = try bench { $0.batch = Batch(max: 8, format: .ndjson) }
        try bench.add(8)
        let summary = try bench.run(RunOptions(concurrency: 1)) { request in
            String(decoding: request.body ?? [], as: UTF8.self).split(separator: "\n").contains("5")
                ? .status(422) : .status(200)
        }
        #expect(summary.delivered == 7 && summary.failed == 1)
        #expect(try bench.names(.failed).map(\.id.description) == ["default-5"])
        #expect(try bench.names(.failed).first?.attempts == 1)
    }

    @Test func `an answer with item results settles each operation by itself`() throws {
        let bench = try itemizing(3)
        try bench.add(3)
        let summary = try bench.run { self.itemized($0) { [201, 503, 400][$0[0]] } }
        #expect(summary.delivered == 1 && summary.deferred == 1 && summary.failed == 1)
        #expect(try bench.names(.deferred).map(\.id.description) == ["default-1"])
    }

    @Test func `no member fails for good before an attempt alone`() throws {
        let bench = try itemizing(4)
        try bench.add(4)
        // A single transaction: a bad member fails all members.
        let summary = try bench.run(RunOptions(concurrency: 1)) {
            self.itemized($0) { $0.contains(2) ? 422 : 200 }
        }
        #expect(summary.delivered == 3 && summary.failed == 1 && summary.attempts == 5)
        #expect(try bench.names(.failed).map(\.id.description) == ["default-2"])
    }

    @Test func `a bad member does not use up the attempts of good members`() throws {
        let bench = try bench { $0.batch = Batch(max: 10) }
        try bench.add(4)
        func answer(_ request: OutgoingRequest) -> AttemptReport.Result {
            .status(String(decoding: request.body ?? [], as: UTF8.self).contains("1") ? 500 : 200)
        }
        #expect(try bench.run(answer: answer).deferred == 4)
        #expect(bench.bodies == ["[0,1,2,3]"])
        bench.now = bench.now + .seconds(61)
        let second = try bench.run(RunOptions(concurrency: 4), answer: answer)
        #expect(second.delivered == 3 && second.failed == 1)
        #expect(bench.bodies == ["[0]", "[1]", "[2]", "[3]"] && bench.sink?.mostInFlight == 4)
        #expect(try bench.names(.failed).map(\.attempts) == [2])
    }

    @Test func `a retry-after does not count as an attempt of a member`() throws {
        let bench = try itemizing(2)
        try bench.add(2)
        _ = try bench.run { request in
            guard case .answer(var answer) = self.itemized(request, status: { _ in 503 }) else { return .status(500) }
            answer.headers.append(HeaderField(name: "Retry-After", value: "5"))
            return .answer(answer)
        }
        #expect(try bench.names(.deferred).map(\.attempts) == [0, 0])
        let counted = bench.events.compactMap { event -> Int? in
            if case .attempted(let attempt) = event { attempt.attempts } else { nil }
        }
        #expect(counted == [0, 0])
    }

    @Test func `a retry-after of an answer with item results holds back the members and their destination`() throws {
        let bench = try itemizing(2)
        try bench.add(2)
        func answer(_ request: OutgoingRequest) -> AttemptReport.Result {
            guard case .answer(var answer) = itemized(request, status: { _ in 429 }) else { return .status(500) }
            answer.headers.append(HeaderField(name: "Retry-After", value: "90"))
            return .answer(answer)
        }
        #expect(try bench.run(answer: answer).deferred == 2)
        let due = bench.now + .seconds(90)
        let gates = try bench.names(.deferred).map(\.gate)
        #expect(gates.count == 2)
        #expect(gates.allSatisfy { if case .retryAt(let time) = $0 { time >= due } else { false } })
        bench.now = bench.now + .seconds(61)
        try bench.add(1)
        #expect(try bench.run { _ in .status(204) }.attempts == 0)
    }

    @Test func `a deferred value removes no dead letter of its key`() throws {
        let bench = try bench { $0.coalesce = true }
        try bench.add(1) { $0.key = "a" }
        #expect(try bench.run { _ in .status(404) }.failed == 1)
        try bench.add(1) { $0.key = "a" }
        #expect(try bench.run { _ in .status(503) }.deferred == 1)
        #expect(try bench.names(.failed).map(\.id.description) == ["default-0"])
        #expect(try bench.run(RunOptions(ignoresBackoff: true)).delivered == 1)
        #expect(try bench.names(.failed).isEmpty)
    }

    /// Returns an answer with a status for each member. `status` gets the payloads of the request, the member's first.
    private func itemized(_ request: OutgoingRequest, status: ([Int]) -> Int) -> AttemptReport.Result {
        let text = String(decoding: request.body ?? [], as: UTF8.self)
        let payloads = text.split(whereSeparator: { !$0.isNumber }).compactMap { Int($0) }
        return itemized(payloads.map { member in status([member] + payloads.filter { $0 != member }) })
    }

    private func itemized(_ statuses: [Int]) -> AttemptReport.Result {
        let items = statuses.map { "{\"status\":\($0)}" }.joined(separator: ",")
        return .answer(
            AttemptReport.Answer(
                status: 200, headers: [HeaderField(name: "Content-Type", value: "application/json")],
                body: Array("{\"items\":[\(items)]}".utf8)))
    }

    private func itemizing(_ max: Int) throws -> Bench {
        let results = Batch.Results(pointer: JSONPointer("/items")!, status: JSONPointer("/status")!)
        return try bench { $0.batch = Batch(max: max, results: results) }
    }

    @Test(arguments: [(400, "failed"), (503, "deferred"), (429, "deferred"), (401, "deferred")])
    func `item results decide a batch with a single member, too`(status: Int, outcome: String) throws {
        let bench = try itemizing(10)
        try bench.add(1)
        let summary = try bench.run { _ in self.itemized([status]) }
        #expect(summary.delivered == 0)
        let counts = ["failed": summary.failed, "deferred": summary.deferred, "held": summary.held]
        #expect(counts[outcome] == 1 && counts.values.reduce(0, +) == 1)
    }

    @Test func `the record of a member shows its own element of the answer`() throws {
        let bench = try itemizing(3)
        try bench.add(3)
        _ = try bench.run { self.itemized($0) { [204, 503, 429][$0[0]] } }
        let excerpts = try bench.names(.deferred).compactMap { name -> String? in
            guard case .operation(let stored)? = try bench.spool.read(Entry(state: .deferred, name: name)) else {
                return nil
            }
            return stored.operation.attempts.last?.excerpt
        }
        #expect(excerpts == [#"{"status":503}"#, #"{"status":429}"#])
    }

    @Test func `delivered members of a batch are not sent again because of another member`() throws {
        for first in [401, 400, 503] {
            let bench = try itemizing(3)
            try bench.add(3)
            let summary = try bench.run { self.itemized($0) { $0[0] == 0 ? first : 200 } }
            // A member that would fail for good is attempted alone first.
            #expect(summary.delivered == 2 && summary.attempts == (first == 503 ? 1 : 2))
            #expect(try bench.names(.new).isEmpty)
        }
    }

    @Test func `an answer that lists failures by id fails the listed members, and delivers the rest`() throws {
        let results = Batch.Results(
            pointer: JSONPointer("/Failed")!, listsFailures: true, match: JSONPointer("/Id"),
            status: JSONPointer("/status")!)
        let bench = try bench { route in
            route.batch = Batch(max: 4, body: #"{"Entries":[{items}]}"#, results: results)
            route.body = #"{"Id":"{id}","Body":{payload}}"#
        }
        try bench.add(4)
        var requests = 0
        let summary = try bench.run { request in
            requests += 1
            let sent = request.body.flatMap { try? JSONDocument($0) }?.elements(at: JSONPointer("/Entries")!) ?? []
            let failures = sent.compactMap { entry -> String? in
                guard case .string(let id)? = entry.value(at: JSONPointer("/Id")!),
                    case .number(let body)? = entry.value(at: JSONPointer("/Body")!)
                else { return nil }
                return ["1": 400, "2": 503][body].map { "{\"Id\":\"\(id)\",\"status\":\($0)}" }
            }
            // In the reverse order of the request.
            let list = failures.reversed().joined(separator: ",")
            return .answer(AttemptReport.Answer(status: 200, body: Array("{\"Failed\":[\(list)]}".utf8)))
        }
        // The failed member was attempted alone before.
        #expect(requests == 2 && summary.delivered == 2 && summary.failed == 1 && summary.deferred == 1)
    }

    @Test func `refused members hold the destination as a refused operation does`() throws {
        let bench = try itemizing(2)
        try bench.add(4)
        let summary = try bench.run { request in self.itemized(request.body.map { _ in [401, 401] } ?? []) }
        #expect(summary.held == 4 && summary.failed == 0)
        #expect(try bench.state(of: "http://one").hold?.status == 401)
    }

    @Test(arguments: [10, 50, 100])
    func `a destination that refuses each member of each batch is held after few requests`(max: Int) throws {
        let bench = try itemizing(max)
        try bench.add(300)
        let summary = try bench.run(RunOptions(limit: 300)) { request in self.itemized(request) { _ in 422 } }
        #expect(summary.failed == 0 && summary.held == 300)
        // Five batches at once, five members alone, three samples.
        #expect(summary.attempts <= 5 + 5 + 3, "\(summary.attempts)")
    }

    @Test func `operations deferred together are due together`() throws {
        let bench = try bench {
            $0.batch = Batch(max: 20)
            $0.retry = BackoffSchedule(delays: .list([.seconds(60)]), attempts: 2, jitter: 0.2)
        }
        try bench.add(20)
        #expect(try bench.run { _ in .status(503) }.deferred == 20)
        #expect(try Set(bench.names(.deferred).map(\.gate)).count == 1)
    }

    @Test func `a deferred batch charges each of its operations`() throws {
        let bench = try bench { $0.batch = Batch(max: 3) }
        try bench.add(3)
        #expect(try bench.run { _ in .status(503) }.deferred == 3)
        #expect(try bench.names(.deferred).map(\.attempts) == [1, 1, 1])
    }
}
