/// A sentence of the contract. `Tests/Simulation/README.md` has the full sentence and its place in the manual.
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
    case attempts
    case dueTimes = "due times"
    case retryAfter = "retry after"
    case holds
    case limits
    case eviction
    case expiry
    case expired
    case notBefore = "not before"
    case keptValues = "kept values"
    case documentKeys = "one document a key"
    case replaced
    case interruptions
    case runStatus = "run status"
    case writtenTimes = "written times"
    case concurrency
    case choice
    case places
    case inFlight = "left in flight"
    case sentApart = "sent apart"
    case storms
    case credentials
    case deadLettersStay = "dead letters stay"
    case patchesStay = "patches stay"
    case evidence
    case settled
    case newestFirst = "newest first"
    case suspectsAlone = "suspects alone"
    case replacesPresent = "replaces what is there"
    case noNetwork = "no network"
    case staying
    case prompt
    case turns
    case figures
    case lastRuns = "last runs"
    case wellIsProven = "well is proven"
    case troubles
    case feed
    case calls

    /// Judges a history by the sentence alone.
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
        case .attempts: Contract.attempts
        case .dueTimes: Contract.dueTimes
        case .retryAfter: Contract.retryAfter
        case .holds: Contract.holds
        case .limits: Contract.limits
        case .eviction: Contract.eviction
        case .expiry: Contract.expiry
        case .expired: Contract.expired
        case .notBefore: Contract.notBefore
        case .keptValues: Contract.keptValues
        case .documentKeys: Contract.documentKeys
        case .replaced: Contract.replaced
        case .interruptions: Contract.interruptions
        case .runStatus: Contract.runStatus
        case .writtenTimes: Contract.writtenTimes
        case .concurrency: Contract.concurrency
        case .choice: Contract.choice
        case .places: Contract.places
        case .inFlight: Contract.inFlight
        case .sentApart: Contract.sentApart
        case .storms: Contract.storms
        case .credentials: Contract.credentials
        case .deadLettersStay: Contract.deadLettersStay
        case .patchesStay: Contract.patchesStay
        case .evidence: Contract.evidence
        case .settled: Contract.settled
        case .newestFirst: Contract.newestFirst
        case .suspectsAlone: Contract.suspectsAlone
        case .replacesPresent: Contract.replacesPresent
        case .noNetwork: Contract.noNetwork
        case .staying: Contract.staying
        case .prompt: Contract.prompt
        case .turns: Contract.turns
        case .figures: Contract.figures
        case .lastRuns: Contract.lastRuns
        case .wellIsProven: Contract.wellIsProven
        case .troubles: Contract.troubles
        case .feed: Contract.feed
        case .calls: Contract.calls
        }
    }
}
