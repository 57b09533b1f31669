import Policy
import Spool

/// The ledger of destinations that all runs share, as this process last saw it, and how often it is written.
struct SharedLedger {
    private let file: DestinationsFile
    private let clock: RunClock
    private(set) var ledger = DestinationLedger()
    /// The file as it was read or written last; `nil` before that.
    private var content: DestinationsFile.Content?
    /// Before this moment nothing that can wait is written: writing takes no more than a twentieth of the time. The file
    /// grows with the destinations.
    private(set) var pauseEnd: ContinuousClock.Instant
    /// Whether the file could not be written.
    private var isLost = false

    init(_ spool: SpoolDirectory, _ clock: RunClock) {
        file = DestinationsFile(spool: spool)
        self.clock = clock
        pauseEnd = clock.instant()
    }

    /// Returns the file's ledger without taking it over.
    mutating func peek() throws(SpoolError) -> DestinationLedger {
        let read = try file.read(knowing: content)
        content = read
        return read.ledger
    }

    /// Takes over what the file says.
    mutating func read() throws(SpoolError) { ledger = try peek() }

    /// The salt of all fingerprints; a new one where there is none.
    mutating func salt(using generator: inout any RandomNumberGenerator) -> String {
        ledger.salt(using: &generator)
    }

    /// Adds events to the file, and takes over what it says then. Losing them costs a probe: the error is returned, once,
    /// for the caller to tell.
    mutating func record(
        _ events: [(destination: String, event: DestinationEvent)], settings: (String) -> DestinationSettings
    ) -> SpoolError? {
        let start = clock.instant()
        defer {
            let end = clock.instant()
            pauseEnd = end + start.duration(to: end) * 20
        }
        do throws(SpoolError) {
            let written = try file.record(
                events, settings: settings, salt: ledger.salt, at: clock.now(), durable: false, knowing: content)
            (content, ledger) = (written, written.ledger)
            return nil
        } catch {
            defer { isLost = true }
            return isLost ? nil : error
        }
    }

    /// Notes that a probe of a held destination begins; false where it is not time for one.
    func beginProbe(
        of destination: String, _ settings: DestinationSettings, at now: Timestamp
    ) throws(SpoolError) -> Bool {
        try file.beginProbe(of: destination, settings, at: now)
    }

    /// Notes since when this machine has no network; `nil` where it has one again.
    mutating func record(offline: DestinationLedger.Offline?) throws(SpoolError) {
        try file.record(offline: offline)
        ledger.offline = offline
    }
}
