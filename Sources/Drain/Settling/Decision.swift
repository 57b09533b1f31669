import Policy
import Spool

extension Settling {
    /// An outcome noted by this run, and not told yet.
    struct Decision {
        let settlement: Settlement
        let member: Member
        let attempt: Attempt
        let isSent: Bool
        /// The evidence of a delivery; `nil` for any other outcome.
        let receipt: Receipt?
        /// Where the file is; `nil` before the outcome is applied to it.
        var settled: Settled?
        /// The status that counts towards a storm.
        var stormStatus: Int?
        /// Whether an operation behind it has had an effect, or may have had one.
        var isOvertaken = false
    }
}
