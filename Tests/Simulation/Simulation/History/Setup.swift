package import Policy

/// The subject of a history: the routes, the limits and the file system. The model reads a setup as a user reads
/// drainq.json; `Setup+Configuration` makes the configuration of Policy for runs.
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
            /// A newer operation of the key replaces older operations.
            case replace
            /// A request carries the changes of the newest operation of a key and of all older operations (RFC 7396).
            case merge
        }

        package var type: TypeName
        /// The host of the server: `one`, `two`.
        package var host: String
        package var order = Order.any
        package var coalescing = Coalescing.none
        /// Whether a dead letter holds the operations behind it (`onFailure: "hold"`).
        package var holdsBehindFailed = false
        /// The maximal number of operations of a request; `nil` sends each operation alone.
        package var batch: Int?
        /// Whether the answer to a batch has a result for each operation.
        package var hasResults = false
        /// Whether the answer leaves a value for later operations of the key (`keep`).
        package var keeps = false
        /// Whether a request needs a kept value (`{kept.…}`).
        package var needsKept = false
        /// The delays of the schedule. The schedule has one attempt more.
        package var delays: [Duration] = [.seconds(2), .seconds(5), .seconds(20), .seconds(60)]
        /// The largest random deviation of a delay, as a part of the delay.
        package var jitter = 0.0
        /// The age at which an unsent operation expires; `nil` for none.
        package var expiresAfter: Duration?
        /// Whether requests carry a secret. A server may refuse the secret.
        package var hasSecret = false

        package init(_ type: TypeName, host: String) {
            self.type = type
            self.host = host
        }

        /// Whether operations of the type wait for each other.
        package var isSequential: Bool { order == .key || order == .strict || coalescing != .none }
    }

    /// How much of the metadata a power cut keeps.
    package enum Journal: String, Hashable, Sendable, CaseIterable {
        /// A prefix of all changes of names, in their order; a rename is whole (ext4, xfs, btrfs). drainq-queue(5)
        /// makes its promises for these file systems.
        case ordered
        /// A prefix of the changes of each directory.
        case perDirectory
    }

    package var kinds: [Kind]
    package var journal = Journal.ordered
    /// The most waiting operations; `nil` for no limit.
    package var operations: Int?
    /// The most bytes of all files; `nil` for no limit. No sentence counts bytes.
    package var bytes: Int?
    package var dropsOldest = false
    /// The retention time of copies of delivered operations; zero keeps none.
    package var keepsDelivered: Duration = .zero
    /// The age at which retention removes a dead letter; `nil` keeps dead letters for ever.
    package var keepsFailed: Duration?
    /// The number of interruptions after which an operation goes to quarantine.
    package var interruptions = 5
    /// The maximal number of attempts of a destination in flight, over all processes; `nil` for no limit.
    package var concurrency: Int?
    /// Whether a destination has a circuit breaker, a storm guard and holds as by default. Always as by default today.
    package var holdProbe: Duration? = .seconds(3600)

    package init(kinds: [Kind]) {
        self.kinds = kinds
    }

    /// Whether the queue may have no room.
    package var isLimited: Bool { operations != nil || bytes != nil }

    package func kind(of type: TypeName) -> Kind { kinds.first { $0.type == type } ?? kinds[0] }
}
