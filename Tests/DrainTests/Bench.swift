import Delivery
import Foundation
import Scratch
import Spool
import Testing

@testable import Drain
@testable import Policy

extension SpoolDirectory {
    /// Accepts dated operations, by default under the default configuration.
    func accept(_ operations: [Policy.Operation], by configuration: Configuration = Configuration()) throws {
        var control = AdmissionControl(configuration)
        let submissions = operations.map {
            Submission($0, hasOwnID: false, at: $0.header.createdAt, isDated: true)
        }
        _ = try accept(submissions, within: &control, durable: false)
    }
}

/// A queue in a temporary directory, and runs over the queue with a fake world.
final class Bench {
    let directory: URL
    let spool: SpoolDirectory
    var now = Timestamp(rfc3339: "2026-11-21T12:00:00Z")!
    var configuration = Configuration(
        defaultRoute: Route(
            url: "http://one/{type}", retry: BackoffSchedule(delays: .list([.seconds(60)]), attempts: 2)),
        routes: [TypeName("other")!: Route(url: "http://two/")])
    var sink: FakeSink?
    var events: [RunEvent] = []
    var failure: SinkError?
    private var added: [String: Int] = [:]
    /// The step of the wall clock at each read.
    var tick = Duration.zero
    /// The lead of the monotonic clock over the machine's.
    private var ahead = Duration.zero
    /// The waits of runs without a request in flight.
    private(set) var slept: [Duration] = []
    /// The received signals.
    var signals: [Int32] = []
    var credentials = Credentials.none
    var surroundings = Surroundings()
    var networkState = NetworkState()
    var libcurlDefect: String?
    /// The duration in the report of each attempt.
    var duration = Duration.milliseconds(1)
    var gzip: (_ body: [UInt8]) throws(RequestError) -> [UInt8] = { body throws(RequestError) in Array(body.reversed())
    }
    var isSuspect: (OutgoingRequest) -> Bool = { _ in false }
    var isUnbegun: (OutgoingRequest) -> Bool = { _ in false }
    var hasBrokenStream: (OutgoingRequest) -> Bool = { _ in false }
    var arrives: (ContinuousClock.Instant) -> Bool = { _ in true }

    /// Takes the sequence lock of the default route's destination, as another process; `nil` if it is taken.
    func sequenceLock() throws -> SequenceLocks? {
        let locks = SequenceLocks(in: spool)
        let destination = DestinationTable(configuration).destination(of: .default, origin: nil)
        return try locks.take(destination.digest) ? locks : nil
    }

    init(system: SystemCalls = .real) throws {
        directory = Scratch.directory.appending(path: "drain-\(UUID().uuidString)")
        spool = try SpoolDirectory.create(at: directory.path, system: system)
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    @discardableResult
    func add(
        _ count: Int, type: String = "default", body: String? = nil, change: (inout OperationHeader) -> Void = { _ in }
    ) throws -> [String] {
        let first = added[type, default: 0]
        added[type] = first + count
        let operations = (first..<first + count).map { number in
            now = now + .microseconds(1)
            var header = OperationHeader(
                id: OperationID("\(type)-\(number)")!, type: TypeName(type)!, createdAt: now,
                contentType: "application/json")
            change(&header)
            return Operation(header: header, body: Array((body ?? "\(number)").utf8))
        }
        try spool.accept(operations)
        return operations.map(\.header.id.description)
    }

    func run(
        _ options: RunOptions = RunOptions(), portion: Int? = nil,
        answer: @escaping (OutgoingRequest) -> AttemptReport.Result = { _ in .status(204) }
    ) throws -> RunSummary {
        var options = options
        if let portion { options.portion = portion }
        return try Run(spool: spool, configuration: configuration, options: options, world: world(answer)) {
            self.events.append($0)
        }()
    }

    func world(_ answer: @escaping (OutgoingRequest) -> AttemptReport.Result) -> World {
        World(
            version: "1", clock: clock, generator: SystemRandomNumberGenerator(), credentials: credentials,
            surroundings: { _ in self.surroundings }, networkState: { self.networkState },
            gzip: gzip,
            makeSink: { concurrency in
                let sink = FakeSink(concurrency: concurrency, answer: answer)
                sink.defect = self.libcurlDefect
                sink.duration = self.duration
                sink.failure = self.failure
                (sink.isSuspect, sink.isUnbegun) = (self.isSuspect, self.isUnbegun)
                (sink.hasBrokenStream, sink.arrives) = (self.hasBrokenStream, self.arrives)
                self.sink = sink
                return sink
            })
    }

    /// A clock whose waits end at once.
    var clock: RunClock {
        RunClock(
            now: {
                self.now = self.now + self.tick
                return self.now
            }, instant: { self.instant },
            sleep: { deadline in
                let wait = max(.zero, deadline - self.instant)
                self.slept.append(wait)
                self.pass(wait)
            }, signals: { (self.signals.count, self.signals.last ?? 0) }, wakeup: { -1 })
    }

    /// Lets time go by, on both clocks.
    func pass(_ time: Duration) {
        now = now + time
        ahead += time
    }

    /// The monotonic clock.
    var instant: ContinuousClock.Instant { .now + ahead }

    /// Adds operations, sends everything in `new/`, and returns the highest number of claims during a request.
    func mostClaimed(_ count: Int) throws -> Int? {
        try add(count)
        var claimed: [Int] = []
        let parts = try Parts(self) { _ in
            claimed.append((try? self.names(.claimed).count) ?? 0)
            return .status(204)
        }
        #expect(try parts.send() == count)
        return claimed.max()
    }

    func names(_ state: QueueState) throws -> [EntryName] {
        var names: [EntryName] = []
        try spool.forEachEntry(in: state) { names.append($0.name) }
        return names.sorted { $0.createdAt < $1.createdAt }
    }
}

extension Bench {
    /// The paths of the last run's requests.
    var paths: [String] { sink?.requests.map { String($0.url.dropFirst("http://one".count)) } ?? [] }

    var bodies: [String] { sink?.requests.map { String(decoding: $0.body ?? [], as: UTF8.self) } ?? [] }

    func state(of destination: String) throws -> DestinationState {
        try DestinationsFile(spool: spool).read().destinations[destination] ?? DestinationState()
    }

    var holds: Int { changes(.held).count }

    /// What began or ended in the runs so far, of one kind.
    func changes(_ kind: LogEvent.Kind) -> [LogEvent] {
        events.compactMap { if case .changed(let change) = $0, change.kind == kind { change } else { nil } }
    }
}

extension AttemptReport.Result {
    static func status(_ status: Int, _ headers: [HeaderField] = []) -> Self {
        .answer(AttemptReport.Answer(status: status, headers: headers))
    }
}

extension Concurrency: ExpressibleByIntegerLiteral {
    /// Creates the fixed concurrency of a run's options.
    public init(integerLiteral count: Int) { self = .atMost(count) }
}
