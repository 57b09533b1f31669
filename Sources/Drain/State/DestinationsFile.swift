package import Policy
package import Spool

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// `state/destinations.json`: what runs remember of destinations.
///
/// Changed by events that are applied to what the file says at that moment, under the lock of `state/`: runs that share a
/// destination do not undo each other. A file that cannot be understood counts as empty, which costs a probe; a newer
/// drainq's is neither read nor replaced (`newerFormat`).
package struct DestinationsFile {
    private static let file = StateFile.destinations

    let spool: SpoolDirectory

    package init(spool: SpoolDirectory) {
        self.spool = spool
    }

    package func read() throws(SpoolError) -> DestinationLedger {
        try Self.decode(try Self.file.contents(in: spool)).get()
    }

    /// Applies the events in their order, and returns what stands there then. `durable` is for a person's own words, which
    /// have to survive a power cut.
    @discardableResult
    package func record(
        _ events: [(destination: String, event: DestinationEvent)], settings: (String) -> DestinationSettings,
        salt: String? = nil, at now: Timestamp, durable: Bool
    ) throws(SpoolError) -> DestinationLedger {
        var result: Result<DestinationLedger, SpoolError> = .success(DestinationLedger())
        try Self.file.update(in: spool, durable: durable) { old in
            result = Self.decode(old)
            guard case .success(var ledger) = result else { return nil }
            let before = ledger
            if let salt { ledger.adopt(salt: salt) }
            for (destination, event) in events {
                ledger.apply(event, to: destination, settings(destination), at: now)
            }
            ledger.forgetStale(at: now)
            result = .success(ledger)
            return ledger == before ? nil : StateFile.encode(ledger)
        }
        return try result.get()
    }

    /// Notes since when this machine has no network; `nil` where it has one again.
    func record(offline: DestinationLedger.Offline?) throws(SpoolError) {
        try Self.file.update(in: spool, durable: false) { old in
            guard case .success(var ledger) = Self.decode(old), (ledger.offline == nil) != (offline == nil) else {
                return nil
            }
            ledger.offline = offline
            return StateFile.encode(ledger)
        }
    }

    /// Notes that a probe of a held destination begins; false where it is not time for one, as where another process has
    /// just begun it.
    func beginProbe(
        of destination: String, _ settings: DestinationSettings, at now: Timestamp
    ) throws(SpoolError) -> Bool {
        var isDue = false
        try Self.file.update(in: spool, durable: false) { old in
            guard case .success(var ledger) = Self.decode(old),
                ledger[destination].availability(settings, at: now) == .probe
            else { return nil }
            isDue = true
            ledger.apply(.probed, to: destination, settings, at: now)
            return StateFile.encode(ledger)
        }
        return isDue
    }

    static func decode(_ bytes: [UInt8]?) -> Result<DestinationLedger, SpoolError> {
        guard let bytes else { return .success(DestinationLedger()) }
        do {
            return .success(try JSONDecoder().decode(DestinationLedger.self, from: Data(bytes)))
        } catch let newer as DestinationLedger.NewerVersion {
            return .failure(
                SpoolError(kind: .newerFormat(newer.version), verb: "read", path: "state/\(file.rawValue)", code: 0))
        } catch {
            return .success(DestinationLedger())
        }
    }
}
