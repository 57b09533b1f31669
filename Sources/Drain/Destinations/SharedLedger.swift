import Policy
import Spool

/// The ledger of destinations shared by all runs, as last seen by this process. Says when the file may be written
/// again; the caller obeys.
struct SharedLedger {
    private let file: DestinationsFile
    private let clock: RunClock
    private(set) var ledger = DestinationLedger()
    /// The file as last read or written; `nil` before.
    private var content: DestinationsFile.Content?
    /// The earliest time of the next write that can wait. Writing takes at most a twentieth of the time, because the
    /// file grows with the destinations.
    private(set) var nextWrite: ContinuousClock.Instant
    /// Whether an error in writing was returned, for the caller to report.
    private var hasReportedError = false

    init(_ spool: SpoolDirectory, _ clock: RunClock) {
        file = DestinationsFile(spool: spool)
        self.clock = clock
        nextWrite = clock.instant()
    }

    /// Returns the file's ledger, without adopting it.
    mutating func peek() throws(SpoolError) -> DestinationLedger {
        let read = try file.read(knowing: content)
        content = read
        return read.ledger
    }

    /// Moves the file aside if the last read found damage. Returns the error to report.
    func moveDamagedAside() throws(SpoolError) -> SpoolError? {
        if let content { try file.moveAside(content) } else { nil }
    }

    /// Adopts the file's ledger.
    mutating func read() throws(SpoolError) { ledger = try peek() }

    /// Returns the salt of all fingerprints. Draws a salt if the file has none, and writes the salt before its use: a
    /// hold whose fingerprint has another salt than the file would look like a hold with a changed cause.
    mutating func salt(using generator: inout any RandomNumberGenerator) -> String {
        if let salt = ledger.salt { return salt }
        do throws(SpoolError) {
            try file.drawSalt(using: &generator)
            try read()
        } catch {
            // A lost salt costs a probe, and the next write reports the error.
        }
        ledger.drawSalt(using: &generator)
        return ledger.salt!
    }

    /// Adds events to the file, and adopts the result. Losing events costs a probe: returns only the first error, for
    /// the caller to report. `changed` gets the events of the log made true by the write.
    mutating func record(
        _ events: [(destination: String, event: DestinationEvent)], settings: (String) -> DestinationSettings,
        changed: (LogEvent) -> Void
    ) -> SpoolError? {
        let start = clock.instant()
        defer {
            let end = clock.instant()
            nextWrite = end + start.duration(to: end) * 20
        }
        do throws(SpoolError) {
            let written = try file.record(
                events, settings: settings, at: clock.now(), durable: false, knowing: content)
            (content, ledger) = (written, written.ledger)
            written.changes.forEach(changed)
            return nil
        } catch {
            defer { hasReportedError = true }
            return hasReportedError ? nil : error
        }
    }

    /// Records the beginning of a probe of a held destination. Returns false if none is due.
    func beginProbe(
        of destination: String, _ settings: DestinationSettings, at now: Timestamp, ignoringCircuitBreaker: Bool
    ) throws(SpoolError) -> Bool {
        try file.beginProbe(
            of: destination, settings, at: now, ignoringCircuitBreaker: ignoringCircuitBreaker)
    }

    /// Records since when this machine has no network; `nil` if there is a network.
    mutating func record(offline: DestinationLedger.Offline?) throws(SpoolError) {
        try file.record(offline: offline)
        ledger.offline = offline
    }
}
