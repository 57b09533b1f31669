import Foundation
import Scratch
import Spool

@testable import Policy

/// A real queue in a directory of its own, removed at the end.
final class TemporaryQueue {
    let path: String
    static let now = Timestamp(rfc3339: "2026-11-21T09:15:00.123456Z")!

    init(create: Bool = true) throws {
        path = Scratch.directory.appending(path: "drainq-spool-\(UUID().uuidString)").path
        if create { _ = try SpoolDirectory.create(at: path) }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func open(_ system: SystemCalls = .real) throws(SpoolError) -> SpoolDirectory {
        try SpoolDirectory(opening: path, system: system)
    }

    /// Returns the names in a directory of the queue, sorted.
    func names(_ directory: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(path)/\(directory)")) ?? []).sorted()
    }

    func put(_ content: String, at file: String) throws {
        try put(Array(content.utf8), at: file)
    }

    func put(_ content: [UInt8], at file: String) throws {
        try Data(content).write(to: URL(fileURLWithPath: "\(path)/\(file)"))
    }

    func bytes(_ file: String) -> [UInt8]? {
        FileManager.default.contents(atPath: "\(path)/\(file)").map { Array($0) }
    }

    func text(_ file: String) -> String? {
        bytes(file).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Every entry of every state.
    func entries() throws -> [Entry] {
        let queue = try open()
        var entries: [Entry] = []
        for state in QueueState.allCases { try queue.forEachEntry(in: state) { entries.append($0) } }
        return entries
    }

    /// Accepts operations with these ids, created one microsecond apart.
    @discardableResult
    func add(_ ids: [String]) throws -> [Entry] {
        let accepted = try open().accept(ids.enumerated().map { operation($1, $0) }, limits: Limits(), durable: false)
        return accepted.results.compactMap { result in
            if case .accepted(let name) = result { Entry(state: .new, name: name) } else { nil }
        }
    }

    /// Begins a run, recovers the claims of dead runs, tells of all failures, and ends the run.
    @discardableResult
    func recover(maximumInterruptions: Int = 5, now: Timestamp = TemporaryQueue.now) throws(SpoolError) -> Recovery {
        let run = try open().beginRun(now: now)
        let recovery = try run.recover(now: now, maximumInterruptions: maximumInterruptions, telling: { _ in true })
        try run.end()
        return recovery
    }

    func operation(_ id: String, _ offset: Int = 0, body: String = #"{"n":1.10}"#) -> Policy.Operation {
        let createdAt = Self.now + .microseconds(offset)
        let header = OperationHeader(id: OperationID(id)!, createdAt: createdAt, contentType: "application/json")
        return Policy.Operation(header: header, body: Array(body.utf8))
    }

    static func portable(_ operations: [PortableOperation]) -> [Submission] {
        operations.map { Submission($0, at: now + .seconds(3600)) }
    }

    static func record(_ outcome: Outcome = .deferred) -> AttemptRecord {
        AttemptRecord(at: now, duration: .milliseconds(12), outcome: outcome, status: 503, rule: "503")
    }
}

extension SpoolRun {
    /// Begins a request with these claims, and takes its answer for a delivery of each.
    func receipt(
        for claims: [Claim], keep: Bool = false, record: AttemptRecord = TemporaryQueue.record(.delivered)
    ) throws(SpoolError) -> Receipt {
        try receipt(of: begin(claims), for: claims.map { ($0, record) }, keep: keep)
    }

    /// Settles a claim; a delivery by the receipt of a request of its own.
    func settle(
        _ claim: Claim, as disposition: Disposition, record: AttemptRecord? = nil, now: Timestamp = TemporaryQueue.now
    ) throws(SpoolError) -> Settled {
        var delivery: Receipt?
        if case .delivered(let keep) = disposition {
            delivery = try receipt(for: [claim], keep: keep, record: record ?? TemporaryQueue.record(.delivered))
        }
        return try settle(claim, disposition, record: record, receipt: delivery, now: now)
    }
}
