import CSystem
import Policy
package import Spool

/// The files of `state/`, which hold what runs remember. No other code reads or writes them.
///
/// Each is replaced in one step under the lock of `state/`: runs at the same time do not undo each other's work.
package enum StateFile: String, CaseIterable {
    /// `DestinationLedger`, by `DestinationsFile`.
    case destinations = "destinations.json"
    /// The key of the fingerprints in `destinations.json`: 32 digits.
    case key
    /// `Counters`, of an earlier version: nothing writes them.
    case metrics = "metrics.json"
    /// `ReportLedger`: the counters, and what hooks, mail and the log were told and are owed.
    case reports = "reports.json"
    /// The summary of the last run that did something.
    case lastRun = "last-run.json"
    /// `RateLedger`: the spans of destinations' rates taken by processes.
    case rates = "rates.json"
    /// `SeenFiles`: the failed operations and files in quarantine that an operator has named.
    case seen = "seen.json"
    /// `WithheldOperations`: due operations that runs did not send.
    case withheld = "withheld.json"
    /// `DayLog`: what the log says of the last days, for the page.
    case day = "day.json"
    /// `RetentionFindings`: what the last search for files that are too old has found.
    case retention

    /// Returns the file's bytes; `nil` if there is no such file.
    package func contents(in spool: SpoolDirectory) throws(SpoolError) -> [UInt8]? {
        try spool.readState(rawValue)
    }

    /// Replaces the file. Unless `durable`, a power cut may bring the old file back.
    package func replace(with bytes: [UInt8], durable: Bool = false, in spool: SpoolDirectory) throws(SpoolError) {
        if durable { return try spool.writeState(rawValue, bytes) }
        _ = try spool.updateState(rawValue, durable: false) { _ in bytes }
    }

    /// Changes the file's bytes under the lock, see `SpoolDirectory.updateState`.
    func update(
        in spool: SpoolDirectory, durable: @autoclosure () -> Bool, _ change: (_ old: [UInt8]?) -> [UInt8]?
    ) throws(SpoolError) {
        _ = try spool.updateState(rawValue, durable: durable(), change)
    }

    /// Returns the file's value; `nil` if there is none, or if it cannot be decoded.
    package func read<Value: Decodable>(_ type: Value.Type, in spool: SpoolDirectory) throws(SpoolError) -> Value? {
        Self.decode(type, try contents(in: spool))
    }

    /// Changes the file's value, under its lock. An undecodable file counts as `blank`; a newer drainq's file counts as
    /// `blank` too, and stays as it is, unless the next run makes it anew (`isMadeAnew`). Does not write an unchanged
    /// value, and does not sync: a power cut may lose the change.
    package func update<Value: Codable & Equatable>(
        _ blank: Value, in spool: SpoolDirectory, _ change: (inout Value) -> Void
    ) throws(SpoolError) {
        try update(in: spool, durable: false) { old in
            let found = Content(Value.self, old)
            let before = found.value ?? blank
            var after = before
            change(&after)
            if after == before && !found.isDamaged || found.isNewer && !isMadeAnew { return nil }
            return Self.encode(after)
        }
    }

    /// Whether the file has only what runs find out again: a newer drainq's file may be replaced.
    private var isMadeAnew: Bool {
        switch self {
        case .destinations, .key, .reports, .seen, .withheld: false
        case .lastRun, .metrics, .rates, .day, .retention: true
        }
    }

    /// Returns the files that cannot be read, by their names: they are damaged, or a newer drainq wrote them.
    /// `destinations.json` is not among them: who reads the ledger knows more of its damage.
    static func unreadable(in spool: SpoolDirectory) throws(SpoolError) -> [String] {
        var names: [String] = []
        for file in allCases {
            let bytes = try file.contents(in: spool)
            let isReadable =
                switch file {
                case .destinations, .key, .metrics, .retention: true
                case .reports: Content(ReportLedger.self, bytes).isReadable
                case .lastRun: Content(RunCounts.self, bytes).isReadable
                case .rates: Content(RateLedger.self, bytes).isReadable
                case .seen: Content(SeenFiles.self, bytes).isReadable
                case .withheld: Content(WithheldOperations.self, bytes).isReadable
                case .day: Content(DayLog.self, bytes).isReadable
                }
            if !isReadable { names.append(file.rawValue) }
        }
        return names
    }

    /// The meaning of a file's bytes.
    private struct Content<Value: Decodable> {
        private(set) var value: Value?
        private(set) var isNewer = false
        /// Whether the bytes are no value of this version, and not what a power cut leaves.
        private(set) var isDamaged = false

        init(_ type: Value.Type, _ bytes: [UInt8]?) {
            guard let bytes else { return }
            do {
                value = try JSONDecoder().decode(type, from: Data(bytes))
            } catch is NewerVersion {
                isNewer = true
            } catch {
                isDamaged = !StateFile.isCutOff(bytes)
            }
        }

        var isReadable: Bool { !isNewer && !isDamaged }
    }

    /// Whether the bytes may be the rest of an unsynced file after a power cut: a part from its beginning, or zeros,
    /// without the final newline.
    static func isCutOff(_ bytes: [UInt8]) -> Bool {
        guard let first = bytes.first, let last = bytes.last else { return true }
        return last != UInt8(ascii: "\n") && (first == UInt8(ascii: "{") || bytes.allSatisfy { $0 == 0 })
    }

    /// Returns the queue's key; draws it, durably, if there is none. Reads it without the lock, which another process
    /// may keep: without the key each hold would look like one with a changed cause.
    static func drawKey(
        in spool: SpoolDirectory, using generator: inout any RandomNumberGenerator
    ) throws(SpoolError) -> String {
        let there = try Self.key.contents(in: spool)
        if let there, there.count == 32 { return String(decoding: there, as: UTF8.self) }
        let drawn = (0..<4).map { _ in
            let digits = String(UInt32.random(in: .min ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }.joined()
        let key = try spool.updateState(Self.key.rawValue, durable: true) { old in
            // After a power cut the file may be empty.
            old?.count == drawn.utf8.count ? nil : Array(drawn.utf8)
        }
        return key.map { String(decoding: $0, as: UTF8.self) } ?? drawn
    }

    static func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]?) -> Value? {
        bytes.flatMap { try? JSONDecoder().decode(type, from: Data($0)) }
    }

    /// Returns one line of JSON, names sorted; `nil`, which leaves the file as it is, if the value has no JSON.
    static func encode(_ value: some Encodable) -> [UInt8]? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map { Array($0) + [UInt8(ascii: "\n")] }
    }
}
