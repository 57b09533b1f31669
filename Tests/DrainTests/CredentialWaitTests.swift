import Delivery
import Dispatch
import Spool
import Synchronization
import Testing

@testable import Drain
@testable import Policy

struct `Attempts that wait for credentials` {
    /// The work of a thread that ends once the other destination has got its operations, and whether it ended so.
    private final class Command: Sendable {
        private let mayEnd = DispatchSemaphore(value: 0)
        private let ends = Mutex([Bool]())

        func end() { mayEnd.signal() }

        func callAsFunction() {
            let isInTime = mayEnd.wait(timeout: .now() + 60) == .success
            mayEnd.signal()
            ends.withLock { $0.append(isInTime) }
        }

        /// `nil` while the command goes on.
        var wasInTime: Bool? { ends.withLock { $0.isEmpty ? nil : $0.allSatisfy(\.self) } }
    }

    private func bench() throws -> Bench {
        let bench = try Bench()
        bench.credentials.waitsBeside = true
        bench.configuration.secrets = ["token": .command(["token"], ttl: nil)]
        bench.configuration.defaultRoute.headers = [HeaderField(name: "Authorization", value: "${secret:token}")]
        return bench
    }

    @Test func `operations that wait for a command of their secret delay no others`() throws {
        let (bench, command) = (try bench(), Command())
        bench.credentials.mayWait = { !$0.isEmpty && command.wasInTime == nil }
        bench.credentials.values = { names, _ in
            if !names.isEmpty, command.wasInTime == nil { command() }
            return SecretValues(values: ["token": "x"])
        }
        try bench.add(2)
        try bench.add(2, type: "other")
        var left = 2
        let summary = try bench.run(RunOptions(concurrency: 5)) { request in
            if request.url.hasPrefix("http://two") { left -= 1 }
            if left == 0 { command.end() }
            return .status(204)
        }
        #expect(summary.delivered == 4 && command.wasInTime == true)
    }

    @Test func `operations that wait for their route's command delay no others`() throws {
        let (bench, command) = (try bench(), Command())
        bench.configuration.defaultRoute.headersCommand = ["sign"]
        bench.configuration.defaultRoute.headers = []
        bench.credentials.signed = { _, _ in
            command()
            return [HeaderField(name: "X-Signature", value: "1")]
        }
        try bench.add(2)
        try bench.add(1, type: "other")
        var signatures: [String] = []
        let summary = try bench.run(RunOptions(concurrency: 5)) { request in
            if request.url.hasPrefix("http://two") { command.end() }
            signatures += request.headers.filter { $0.isNamed("X-Signature") }.map(\.value)
            return .status(204)
        }
        #expect(summary.delivered == 3 && command.wasInTime == true && signatures == ["1", "1"])
    }

    @Test func `a refused secret is looked up beside the deliveries, and the operation is sent again`() throws {
        let (bench, command) = (try bench(), Command())
        bench.credentials.values = { _, _ in SecretValues(values: ["token": command.wasInTime == nil ? "old" : "new"]) }
        bench.credentials.refresh = { _ in
            command()
            return true
        }
        try bench.add(1)
        try bench.add(1, type: "other")
        let summary = try bench.run(RunOptions(concurrency: 5)) { request in
            if request.url.hasPrefix("http://two") { command.end() }
            return request.headers.contains { $0.value == "old" } ? .status(401) : .status(204)
        }
        #expect(summary.delivered == 2 && summary.attempts == 3 && command.wasInTime == true)
    }

    @Test(arguments: [true, false])
    func `a refusal at the end of a run is parked once its secret is looked up, or the grace time is over`(
        endsInTime: Bool
    ) throws {
        let (bench, command) = (try bench(), Command())
        bench.credentials.values = { _, _ in SecretValues(values: ["token": "x"]) }
        bench.credentials.refresh = { _ in
            command()
            return false
        }
        try bench.add(1)
        try bench.add(1, type: "other")
        let options = RunOptions(concurrency: 5, grace: endsInTime ? .seconds(60) : .zero)
        let summary = try bench.run(options) { request in
            if request.url.hasPrefix("http://one") { return .status(401) }
            bench.signals = [15]
            if endsInTime { command.end() }
            return .status(204)
        }
        command.end()
        #expect(summary.delivered == 1 && summary.attempts == 2)
        #expect(try bench.state(of: "http://one").parking.entries.map(\.id.description) == ["default-0"])
        #expect(bench.events.contains { if case .parked = $0 { true } else { false } })
    }

    @Test func `send keeps an operation whose refused secret is still looked up at a signal`() throws {
        let (bench, command) = (try bench(), Command())
        bench.credentials.values = { _, _ in SecretValues(values: ["token": "x"]) }
        bench.credentials.refresh = { _ in
            command()
            return false
        }
        let result = try bench.send("a") { _ in
            bench.signals = [15]
            return .status(401)
        }
        command.end()
        #expect(try result.word == "deferred" && bench.names(.new).map(\.id.description) == ["a"])
    }

    @Test func `a run that must stop puts back what waits`() throws {
        let (bench, command) = (try bench(), Command())
        bench.credentials.mayWait = { !$0.isEmpty && command.wasInTime == nil }
        bench.credentials.values = { names, _ in
            if !names.isEmpty, command.wasInTime == nil { command() }
            return SecretValues(values: ["token": "x"])
        }
        try bench.add(1)
        try bench.add(1, type: "other")
        let summary = try bench.run(RunOptions(concurrency: 5)) { _ in
            bench.signals = [15]
            return .status(204)
        }
        command.end()
        #expect(summary.delivered == 1 && summary.attempts == 1)
        #expect(try bench.names(.new).map(\.attempts) == [0] && bench.names(.claimed).isEmpty)
    }

    @Test func `a probe that waits for its secret is not sent once an operator has paused its destination`() throws {
        let bench = try bench()
        nonisolated(unsafe) var isPaused = false
        bench.credentials.values = { _, _ in SecretValues(values: ["token": "x"]) }
        try bench.add(5)
        _ = try bench.run { _ in .status(403) }
        #expect(bench.holds == 1)
        bench.now = bench.now + .seconds(3601)
        let (spool, now) = (bench.spool, bench.now)
        let pauses = Mutex(0)
        bench.credentials.mayWait = { !$0.isEmpty && !isPaused }
        bench.credentials.values = { names, _ in
            if !names.isEmpty, !isPaused {
                isPaused = true
                pauses.withLock { $0 += 1 }
                _ = try? DestinationsFile(spool: spool).record(
                    [(destination: "http://one", event: .paused)],
                    settings: { _ in DestinationSettings() }, at: now, durable: true)
            }
            return SecretValues(values: ["token": "x"])
        }
        #expect(try bench.run().attempts == 0)
        #expect(pauses.withLock { $0 } == 1 && bench.bodies.isEmpty)
    }

    @Test func `failures of the route's command for several operations at once are one failure`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.headersCommand = ["sign"]
        bench.credentials.signed = { _, _ throws(RequestError) in throw .noCredentials(reason: "is late", for: .zero) }
        try bench.add(8)
        #expect(try bench.run().deferred == 8)
        let due = (bench.now + .seconds(1)).roundedUpToMilliseconds
        #expect(try bench.names(.deferred).map(\.gate) == Array(repeating: .retryAt(due), count: 8))
    }

    @Test func `a clock that is set back makes no wait after a failure of the route's command longer`() throws {
        let bench = try Bench()
        bench.configuration.defaultRoute.headersCommand = ["sign"]
        var failures = 0
        bench.credentials.signed = { _, _ throws(RequestError) in
            failures += 1
            if failures == 2 { bench.now = bench.now - .seconds(86_400) }
            throw .noCredentials(reason: "is late", for: .zero)
        }
        try bench.add(2)
        #expect(try bench.run().deferred == 2)
        let due = (bench.now + .seconds(2)).roundedUpToMilliseconds
        #expect(try bench.names(.deferred).map(\.gate).contains(.retryAt(due)))
    }

    @Test func `an operation without credentials for now is deferred, uncharged and without a record`() throws {
        let bench = try bench()
        bench.credentials.values = { _, _ in
            SecretValues(failures: ["token": "comes late"], unavailable: ["token": .seconds(7)])
        }
        try bench.add(1)
        let summary = try bench.run()
        #expect(summary.deferred == 1 && summary.attempts == 0 && summary.held == 0)
        let name = try #require(try bench.names(.deferred).first)
        #expect(name.attempts == 0 && name.gate == .retryAt((bench.now + .seconds(7)).roundedUpToMilliseconds))
        guard case .operation(let stored) = try bench.spool.read(Entry(state: .deferred, name: name)) else {
            Issue.record("no operation")
            return
        }
        #expect(stored.operation.attempts.isEmpty)
    }
}
