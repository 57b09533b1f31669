/// A sentence of the contract. `Tests/Simulation/README.md` has each one in full, with its place in the manual.
package enum Property: String, Hashable, Sendable, CaseIterable {
    case kept
    case nothingFromNowhere = "nothing from nowhere"
    case byteForByte = "byte for byte"
    case repeats
    case oneKey = "one idempotency key"
    case order
    case deadLetterHolds = "dead letter holds"
    case newestValueWins = "newest value wins"
    case oneInFlight = "one in flight"
    case oneClaim = "one claim"
    case superseded
    case atomic
    case liveness
    case locks

    /// Judges a history by this sentence alone.
    var judge: (Record) -> [Breach] {
        switch self {
        case .kept: Contract.kept
        case .nothingFromNowhere: Contract.nothingFromNowhere
        case .byteForByte: Contract.byteForByte
        case .repeats: Contract.repeats
        case .oneKey: Contract.oneKey
        case .order: Contract.order
        case .deadLetterHolds: Contract.deadLetterHolds
        case .newestValueWins: Contract.newestValueWins
        case .oneInFlight: Contract.oneInFlight
        case .oneClaim: Contract.oneClaim
        case .superseded: Contract.superseded
        case .atomic: Contract.atomic
        case .liveness: Contract.liveness
        case .locks: Contract.locks
        }
    }
}
