import Policy
package import Spool

/// `state/metrics.json`:
///
/// ```
/// { "version": 1, "runs": { "0": 12 }, "quarantined": 0, "delivered": 38, "lastDelivery": time,
///   "destinations": { "https://api.example.com": { "at": time, "counts": { "attempts": 40, "delivered": 38 } } } }
/// ```
/// A run that did something writes it once; `send` writes it once a second. It is not synced. A file that is lost or
/// cannot be decoded begins at 0 again, so a new field must not be `required`.
extension Counters {
    package static func read(from spool: SpoolDirectory) throws(SpoolError) -> Counters {
        decode(try StateFile.metrics.contents(in: spool))
    }

    static func decode(_ bytes: [UInt8]?) -> Counters { StateFile.decode(Counters.self, bytes) ?? Counters() }

    /// Adds these counts to the file, under its lock, so that runs at the same time add up.
    package func addToFile(in spool: SpoolDirectory) throws(SpoolError) {
        try StateFile.metrics.update(Counters(), in: spool) { $0.add(self) }
    }
}
