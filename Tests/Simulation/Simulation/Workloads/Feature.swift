/// An act or a fault of plans, or two that have to meet. A seed has most features off and two or three up (swarm
/// testing): `PlanMaker+Features` adds them to the plan of a workload.
package enum Feature: String, Hashable, Sendable, CaseIterable {
    // MARK: Operators
    /// Two operators act on the same operation at the same moment.
    case twoOperators = "two operators"
    /// `retry --as-newest`, by one operator or two.
    case asNewest = "retry --as-newest"
    /// `retry` and `drop` of files in quarantine, by file and by filter.
    case quarantine
    /// `export --then-drop`.
    case thenDrop = "export --then-drop"
    /// `import --replace` whose line was exported a while before.
    case slowEdit = "slow edit"

    // MARK: Runs that stay
    /// The configuration changes while runs stay.
    case renewal
    /// Another process keeps a lock of the queue for seconds.
    case keptLock = "kept lock"
    /// The disk is full for a moment while runs stay.
    case fullDisk = "full disk"
    /// A second signal, and answers that come in the grace time.
    case signals

    // MARK: Errors and damage
    /// Several calls of one kind fail, one after the other.
    case errors
    /// A call takes effect and fails.
    case lateErrors = "late errors"
    /// Every call on one file fails for a time.
    case refusedFile = "refused file"
    /// A flipped byte, a zeroed file, in every directory.
    case damage
    /// No process runs for a time.
    case standstill

    // MARK: Machines
    /// A file is moved by a link and an unlink.
    case links
    /// Two hosts share a file system whose clients remember names for a second.
    case sharedFileSystem = "shared file system"
    /// The machine has another name after each power cut.
    case renamedHosts = "renamed hosts"

    /// The machine has no network for a time.
    case noNetwork = "no network"

    // MARK: Credentials
    /// Tokens are renewed at the server, and later for runs.
    case tokens
    /// Runs that hold and release one destination, with answers in flight.
    case sharedHolds = "shared holds"

    // MARK: Ends
    /// The calm end releases nothing: holds of runs end by their probes.
    case unreleased

    // MARK: Pairs of older features
    case limitsAndSend = "limits and send"
    case interruptionsAndCuts = "interruptions and power cuts"
    case probesAndRuns = "probes and runs"
    case retentionAndKeys = "retention and keys"
    /// Limits by bytes, with `send`.
    case bytes

    // MARK: Long times
    /// A server takes nothing for an hour, with runs each few minutes.
    case longTrouble = "long trouble"
    /// No run comes for half a day.
    case noRuns = "no runs"

    // MARK: Fairness
    /// A destination that never answers has older operations.
    case silentNeighbour = "silent neighbour"
    /// A server limits each key by itself.
    case keyLimits = "limits by key"
    /// Runs find tokens before servers take them.
    case earlyTokens = "early tokens"

    /// The features of a history, each drawn by a chance of its own: a new feature changes no other feature's seeds.
    static func drawn(seed: UInt64, place: UInt64) -> [Feature] {
        allCases.filter { feature in
            var chance = Chance(seed: seed ^ place << 56 ^ feature.number &* 0xA076_1D64_78BD_642F)
            chance = Chance(seed: chance.next())
            return chance.happens(1 / 12)
        }
    }

    /// The place of the feature in the list, from 1.
    var number: UInt64 { UInt64(Self.allCases.firstIndex(of: self)!) + 1 }
}
