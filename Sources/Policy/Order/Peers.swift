/// The runs that share a queue at one moment, as one run sees them. Says which operations that run sends first.
///
/// Rendezvous hashing (highest random weight): each run has a weight for each operation, and the run with the highest
/// weight is the first to send it. All runs compute the same weights from the same names, so they need no coordinator.
/// When a run ends, only its own operations get another first run.
///
/// A share is a preference: only the claim decides which run sends an operation. Runs that see different peers lose
/// some claims to each other, and nothing else.
package struct Peers: Hashable, Sendable {
    /// A run without peers.
    package static let none = Peers(of: "", others: [])

    private let own: UInt64
    private let others: [UInt64]

    /// Takes the names of runs under `claimed/`. No two runs have the same name.
    package init(of own: String, others: [String]) {
        self.own = Digest(of: own).first
        self.others = others.map { Digest(of: $0).first }
    }

    /// The number of runs, this run among them.
    package var count: Int { others.count + 1 }

    /// Returns the number of runs that come before this run for an operation: 0 if the operation is in this run's
    /// share. No two runs have the same rank for one operation.
    package func rank(of name: ListedName) -> Int { others.isEmpty ? 0 : rank(of: name.mark) }

    func rank(of mark: UInt64) -> Int {
        let weight = Self.weight(of: own, for: mark)
        return others.reduce(0) { rank, other in
            let rival = Self.weight(of: other, for: mark)
            return rank + ((rival, other) > (weight, own) ? 1 : 0)
        }
    }

    /// Mixes a run and a mark by the finalizer of SplitMix64: each bit of a mark changes each bit of the weight.
    private static func weight(of run: UInt64, for mark: UInt64) -> UInt64 {
        var mixed = run ^ mark
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
