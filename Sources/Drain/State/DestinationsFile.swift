import CSystem
package import Policy
package import Spool

/// `state/destinations.json`: what runs remember about destinations.
///
/// A change applies events to the file's present content, under the lock of `state/`: runs with a common destination do
/// not undo each other's changes. A newer drainq's file is neither read nor replaced (`newerFormat`).
///
/// While the file has an operator's hold or pause, each change is synced: a power cut must not end what was answered.
/// Otherwise a change is not synced. A power cut may then bring back the old file, or leave a file without its end.
/// Such a file had no operator's stop and counts as none. Any other file that is no ledger counts as empty too; the
/// next run moves such a file aside and says so, since it may have had a hold.
package struct DestinationsFile {
    private static let file = StateFile.destinations

    /// The file's bytes at one moment, and their ledger. Reading the bytes costs a hundredth of decoding them, so known
    /// bytes are not decoded again.
    struct Content {
        fileprivate(set) var bytes: [UInt8]?
        fileprivate(set) var ledger = DestinationLedger()
        /// Whether the bytes are no ledger, and not what a power cut leaves. They may have had a hold.
        fileprivate(set) var isDamaged = false
        /// The events of the log made true by the write; empty if the content was only read.
        fileprivate(set) var changes: [LogEvent] = []
    }

    let spool: SpoolDirectory

    package init(spool: SpoolDirectory) {
        self.spool = spool
    }

    package func read() throws(SpoolError) -> DestinationLedger {
        try read(knowing: nil).ledger
    }

    /// Reads the file. `known` is the content of the last read or write, if any.
    func read(knowing known: Content?) throws(SpoolError) -> Content {
        try Self.decode(try Self.file.contents(in: spool), knowing: known)
    }

    /// Applies events in order, and returns the resulting ledger. `durable` is for an operator's changes, also for the
    /// end of a hold or pause: they must survive a power cut. Asks `now` under the lock: what another process has
    /// written before is not from the future.
    @discardableResult
    package func record(
        _ events: [(destination: String, event: DestinationEvent)], settings: (String) -> DestinationSettings,
        at now: @autoclosure () -> Timestamp, durable: Bool
    ) throws(SpoolError) -> DestinationLedger {
        try record(events, settings: settings, at: now(), durable: durable, knowing: nil).ledger
    }

    /// Like the other `record`, with the content of the last read or write.
    func record(
        _ events: [(destination: String, event: DestinationEvent)], settings: (String) -> DestinationSettings,
        at clock: @autoclosure () -> Timestamp, durable: Bool, knowing known: Content?
    ) throws(SpoolError) -> Content {
        var result: Result<Content, SpoolError> = .success(Content())
        var stopsAny = false
        try Self.file.update(in: spool, durable: durable || stopsAny) { old in
            result = Result { () throws(SpoolError) in try Self.decode(old, knowing: known) }
            guard case .success(let content) = result else { return nil }
            if content.isDamaged {
                result = .failure(
                    SpoolError(kind: .damaged, verb: "write", path: "state/\(Self.file.rawValue)", code: 0))
                return nil
            }
            var ledger = content.ledger
            let now = clock()
            for (destination, event) in events {
                ledger.apply(event, to: destination, settings(destination), at: now)
            }
            ledger.forgetStale(at: now)
            guard ledger != content.ledger, let bytes = StateFile.encode(ledger) else { return nil }
            stopsAny = ledger.stopsAny
            let changes = content.ledger.changes(to: ledger, of: Set(events.map(\.destination)), at: now)
            result = .success(Content(bytes: bytes, ledger: ledger, changes: changes))
            return bytes
        }
        return try result.get()
    }

    /// Records since when this machine has no network; `nil` if there is a network.
    func record(offline: DestinationLedger.Offline?) throws(SpoolError) {
        try change { ledger in
            if (ledger.offline == nil) != (offline == nil) { ledger.offline = offline }
        }
    }

    /// Records the beginning of a probe of a held destination. Returns false if none is due, for example because
    /// another process has just begun one.
    func beginProbe(
        of destination: String, _ settings: DestinationSettings, at clock: @autoclosure () -> Timestamp,
        ignoringCircuitBreaker: Bool
    ) throws(SpoolError) -> Bool {
        var isDue = false
        try change { ledger in
            let now = clock()
            isDue =
                ledger[destination].availability(
                    settings, at: now, ignoringCircuitBreaker: ignoringCircuitBreaker) == .probe
            if isDue { ledger.apply(.probed, to: destination, settings, at: now) }
        }
        return isDue
    }

    /// Changes the ledger, unless its file must stay unchanged.
    private func change(_ body: (inout DestinationLedger) -> Void) throws(SpoolError) {
        var stopsAny = false
        try Self.file.update(in: spool, durable: stopsAny) { old in
            guard let ledger = Self.changeable(old) else { return nil }
            var changed = ledger
            body(&changed)
            stopsAny = changed.stopsAny
            return changed == ledger ? nil : StateFile.encode(changed)
        }
    }

    /// Moves a damaged file aside, and returns the error to report: the next process finds no file, so the damage is
    /// told once. Returns `nil` if the file is not damaged.
    func moveAside(_ content: Content) throws(SpoolError) -> SpoolError? {
        guard content.isDamaged, let bytes = content.bytes else { return nil }
        try spool.moveStateAside(Self.file.rawValue, having: bytes)
        return SpoolError(
            kind: .lostLedger, verb: "read", path: "state/\(Self.file.rawValue)", code: 0)
    }

    /// Returns the ledger in these bytes, to be changed; `nil` if the file must stay unchanged: the file is damaged, or
    /// a newer drainq wrote it.
    private static func changeable(_ bytes: [UInt8]?) -> DestinationLedger? {
        do throws(SpoolError) {
            let content = try decode(bytes, knowing: nil)
            return content.isDamaged ? nil : content.ledger
        } catch {
            return nil
        }
    }

    private static func decode(_ bytes: [UInt8]?, knowing known: Content?) throws(SpoolError) -> Content {
        if let known, known.bytes == bytes { return known }
        guard let bytes else { return Content() }
        if let ledger = try decode(bytes) { return Content(bytes: bytes, ledger: ledger) }
        return Content(bytes: bytes, isDamaged: !StateFile.isCutOff(bytes))
    }

    /// Returns the ledger in these bytes; `nil` if they are none.
    static func decode(_ bytes: [UInt8]) throws(SpoolError) -> DestinationLedger? {
        do {
            return try JSONDecoder().decode(DestinationLedger.self, from: Data(bytes))
        } catch let newer as NewerVersion {
            throw SpoolError(kind: .newerFormat(newer.version), verb: "read", path: "state/\(file.rawValue)", code: 0)
        } catch {
            return nil
        }
    }
}
