import Policy
import Spool

/// The ledger of destinations shared by all runs, as last seen by this process. Says when the file may be written
/// again; the caller obeys.
struct SharedLedger {
    private let file: DestinationsFile
    private let clock: RunClock
    private(set) var ledger = DestinationLedger()
    private var key: String?
    /// The file as last read or written; `nil` before.
    private var content: DestinationsFile.Content?
    /// The earliest time of the next write that can wait. Writing takes at most a twentieth of the time, because the
    /// file grows with the destinations.
    private(set) var nextWrite: ContinuousClock.Instant
    /// Whether an error in writing was returned, for the caller to report.
    private var hasReportedError = false
    /// The events that could not be written, the last ones at most. They count until another process can write.
    private var unwritten: [(destination: String, event: DestinationEvent)] = []
    private static let mostUnwritten = 256

    var hasUnwritten: Bool { !unwritten.isEmpty }

    /// Whether events of this process have been dropped that no write has recorded.
    private var hasDropped = false

    /// Whether the file has had every event of this process.
    var hasRecordedAll: Bool { unwritten.isEmpty && !hasDropped }

    init(_ spool: SpoolDirectory, _ clock: RunClock) {
        file = DestinationsFile(spool: spool)
        self.clock = clock
        nextWrite = clock.instant()
    }

    /// Returns the file's ledger, without adopting it.
    mutating func peek() throws(SpoolError) -> DestinationLedger {
        let read = try file.read(knowing: content)
        if read.bytes != content?.bytes {
            hasDropped = !hasRecordedAll
            unwritten = []
        }
        content = read
        return read.ledger
    }

    /// Moves the file aside if the last read found damage. Returns the error to report.
    func moveDamagedAside() throws(SpoolError) -> SpoolError? {
        if let content { try file.moveAside(content) } else { nil }
    }

    /// Adopts the file's ledger, unless this process knows more and cannot write it.
    mutating func read() throws(SpoolError) {
        let read = try peek()
        if !hasUnwritten { ledger = read }
    }

    static let noKey = "none"

    /// Returns the key of all fingerprints. Draws a key if the queue has none, and writes it before its use: a hold
    /// whose fingerprint has another key would look like a hold with a changed cause.
    mutating func key(using generator: inout any RandomNumberGenerator) -> String {
        if let key { return key }
        do throws(SpoolError) {
            let drawn = try StateFile.drawKey(in: file.spool, using: &generator)
            key = drawn
            return drawn
        } catch {
            // A key that cannot be written costs a probe, and the next write reports the error.
            return Self.noKey
        }
    }

    /// Adds events to the file, and adopts the result. Losing events costs a probe: returns only the first error, for
    /// the caller to report. `told` gets what has begun or ended by the write.
    mutating func record(
        _ new: [(destination: String, event: DestinationEvent)], settings: (String) -> DestinationSettings,
        told: (LogEvent) -> Void
    ) -> SpoolError? {
        let start = clock.instant()
        let events = unwritten + new
        defer {
            let end = clock.instant()
            nextWrite = end + start.duration(to: end) * 20
        }
        do throws(SpoolError) {
            let written = try file.record(
                events, settings: settings, at: clock.now(), durable: false, knowing: content)
            (content, ledger, unwritten) = (written, written.ledger, [])
            written.changes.forEach(told)
            return nil
        } catch {
            // Nothing has begun or ended: the write that tells it comes later, by this run or by another one.
            for (destination, event) in new {
                ledger.apply(event, to: destination, settings(destination), at: clock.now())
            }
            unwritten = events.suffix(Self.mostUnwritten)
            hasDropped = hasDropped || events.count > Self.mostUnwritten
            defer { hasReportedError = true }
            return hasReportedError ? nil : error
        }
    }

    /// Records the beginning of a probe of a held destination. Returns false if none is due.
    func beginProbe(
        of destination: String, _ settings: DestinationSettings, ignoringCircuitBreaker: Bool
    ) throws(SpoolError) -> Bool {
        try file.beginProbe(
            of: destination, settings, at: clock.now(), ignoringCircuitBreaker: ignoringCircuitBreaker)
    }

    /// Records since when this machine has no network; `nil` if there is a network.
    mutating func record(offline: DestinationLedger.Offline?) throws(SpoolError) {
        try file.record(offline: offline)
        ledger.offline = offline
    }
}
