package import Policy

/// What one history is about: the routes, the limits and the file system. The model reads it as a user reads
/// drainq.json; `Setup+Configuration` makes the value of Policy that runs get.
package struct Setup: Hashable, Sendable {
    /// A type of operation and its route.
    package struct Kind: Hashable, Sendable {
        package enum Order: String, Hashable, Sendable, CaseIterable {
            case any
            case newest
            case key
            case strict
        }

        package enum Coalescing: String, Hashable, Sendable, CaseIterable {
            case none
            /// A newer operation of the key replaces older ones.
            case replace
            /// One request carries the changes of the newest operation of a key and of all older ones (RFC 7396).
            case merge
        }

        package var type: TypeName
        /// The host of the server: `one`, `two`.
        package var host: String
        package var order = Order.any
        package var coalescing = Coalescing.none
        /// Whether operations behind a dead letter are held with it (`onFailure: "hold"`).
        package var holdsBehindFailed = false
        /// The most operations of one request; `nil` sends each alone.
        package var batch: Int?
        /// Whether the answer to a batch has a result for each operation.
        package var hasResults = false
        /// Whether the answer leaves a value for later operations of the key (`keep`).
        package var keeps = false
        /// Whether a request needs that value (`{kept.…}`).
        package var needsKept = false
        /// The delays of the schedule; the attempts are one more.
        package var delays: [Duration] = [.seconds(2), .seconds(5), .seconds(20), .seconds(60)]
        /// The part by which a delay is randomly shorter or longer.
        package var jitter = 0.0
        /// The age at which an operation expires unsent; `nil` for none.
        package var expiresAfter: Duration?
        /// Whether requests carry a secret, which a server may refuse.
        package var hasSecret = false

        package init(_ type: TypeName, host: String) {
            self.type = type
            self.host = host
        }

        /// Whether operations of this type wait for each other.
        package var isSequential: Bool { order == .key || order == .strict || coalescing != .none }
    }

    /// How much of the metadata a power cut keeps.
    package enum Journal: String, Hashable, Sendable, CaseIterable {
        /// A prefix of all changes of names, in their order; a rename is whole (ext4, xfs, btrfs). The promise of
        /// drainq-queue(5) is made for these file systems.
        case ordered
        /// For each directory a prefix of its own changes.
        case perDirectory
    }

    package var kinds: [Kind]
    package var journal = Journal.ordered
    /// The most waiting operations; `nil` for no limit.
    package var operations: Int?
    package var dropsOldest = false
    /// The time for which copies of delivered operations are kept; zero keeps none.
    package var keepsDelivered: Duration = .zero
    /// The age at which dead letters go; `nil` keeps them for ever.
    package var keepsFailed: Duration?
    /// Interruptions of one operation after which it goes to quarantine.
    package var interruptions = 5
    /// The attempts that one destination may have in flight, over all processes; `nil` for no limit.
    package var concurrency: Int?
    /// Whether a destination has a circuit breaker, a storm guard and holds as by default. Always as by default today.
    package var holdProbe: Duration? = .seconds(3600)

    package init(kinds: [Kind]) {
        self.kinds = kinds
    }

    package func kind(of type: TypeName) -> Kind { kinds.first { $0.type == type } ?? kinds[0] }
}
