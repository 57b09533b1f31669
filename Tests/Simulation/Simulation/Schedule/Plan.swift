package import Drain
package import Policy

/// Everything that a history is made of. A workload makes it from a seed; the shrinker takes parts away; the same plan
/// gives the same history, byte for byte.
package struct Plan: Sendable {
    package var setup: Setup
    package var schedule = SchedulePlan()
    /// How far each host's wall clock is ahead of the true time at the start, and its steps.
    package var hosts: [HostPlan] = [HostPlan()]
    package var actors: [Actor] = []
    package var faults: [Fault] = []
    package var servers: [String: ServerPlan] = [:]
    /// Whether every user may put files into `new/`, which is sticky, as in a drop directory.
    package var isOpenToAll = false
    /// Whether the history ends with a calm time in which the queue has to get empty.
    package var endsCalmly = true

    package init(setup: Setup) {
        self.setup = setup
    }

    package struct HostPlan: Hashable, Sendable {
        package var ahead: Duration = .zero
        package var steps: [(at: Duration, by: Duration)] = []

        package init() {}

        package static func == (left: HostPlan, right: HostPlan) -> Bool {
            left.ahead == right.ahead && left.steps.elementsEqual(right.steps, by: ==)
        }

        package func hash(into hasher: inout Hasher) { hasher.combine(ahead) }
    }

    /// A process of the history.
    package struct Actor: Sendable {
        /// Its number; the process of the same number plays it. Stays when the shrinker removes others.
        package var number: Int
        package var start: Duration
        package var host = 0
        package var user: UInt32 = 0
        package var role: Role
    }

    package enum Role: Sendable {
        case run(RunPlan)
        case enter(EnterPlan)
        case foreign([PlannedOffer])
        case send([PlannedOffer], SendPlan)
        case command([PlannedCommand])
    }

    /// The options of a run that matter here.
    package struct RunPlan: Hashable, Sendable {
        package var limit = 100
        package var concurrency: Int? = 3
        package var maxTime: Duration?
        package var stay = RunOptions.Stay.no
        package var ignoresBackoff = false
        package var types: Set<TypeName> = []
        /// Sends only operations that this target names when the run begins.
        package var target: Target?

        package init() {}
    }

    /// `add`, `import`, and programs that embed the writer.
    package struct EnterPlan: Sendable {
        package var offers: [PlannedOffer]
        /// The pauses of the input, by the number of offers before each: then what was read is added.
        package var pauses: [Int: Duration] = [:]
        package var isAtomic = false
        package var way = EnterWay.add

        package init(_ offers: [PlannedOffer]) {
            self.offers = offers
        }
    }

    package enum EnterWay: Hashable, Sendable {
        case add
        case importing(replaces: Bool)
        case writer
    }

    package struct SendPlan: Hashable, Sendable {
        package var isQueued = true
        package var timeout: Duration?
        package var retryWithin: Duration?

        package init() {}
    }

    /// An operation that somebody hands in, before it has its content.
    package struct PlannedOffer: Sendable {
        package var label: Label
        package var type: TypeName
        package var key: String?
        package var hasOwnID = false
        /// The operation whose own id it is given, too.
        package var sharesIDWith: Label?
        /// The id that is given, if it is one of another operation.
        package var idOf: Target?
        /// How much earlier than the moment of writing it says that it was created; negative is the future.
        package var age: Duration?
        package var notBefore: Duration?
        package var expires: Duration?
        /// The member of the payload: a merge overwrites an equal one.
        package var member: String
        package var wait: Duration = .zero
        /// For foreign files: whether the writer syncs.
        package var isDurable = true

        package init(_ label: Label, _ type: TypeName, key: String?, member: String) {
            self.label = label
            self.type = type
            self.key = key
            self.member = member
        }
    }

    package struct PlannedCommand: Hashable, Sendable {
        package var verb: Command.Verb
        package var target: Target
        package var wait: Duration = .zero
        /// What another process has to do first; `nil` for nothing.
        package var moment: Moment?
        /// The states that a filter names; empty for those that the command chooses by itself.
        package var states: Set<ShownState> = []
        package var limit: Int?
        /// `drop`: whether it drops those that are held behind the chosen failed ones, too.
        package var takesFollowers = false
        /// `retry`: the time between two operations that become due; `nil` makes all due at once.
        package var spacing: Duration?

        package init(_ verb: Command.Verb, _ target: Target) {
            self.verb = verb
            self.target = target
        }
    }

    /// A moment of other processes.
    package enum Moment: Hashable, Sendable {
        /// A run begins to list the queue.
        case listing
        /// A server has a request.
        case request
        /// A server has decided, and no run knows yet.
        case reply

        func isNow(_ what: Event.What) -> Bool {
            switch what {
            case .lists: self == .listing
            case .receives: self == .request
            case .replies: self == .reply
            default: false
            }
        }
    }

    /// What an operator, or a run by id, acts on, chosen at that moment from what the world has seen.
    package enum Target: Hashable, Sendable {
        /// An operation that is in flight, one of its batch or merge.
        case inFlight
        /// An older operation of the type and key of one that is in flight: a part of its document, if the route merges.
        case olderPart
        /// An operation that waits, the nth oldest.
        case waiting(Int)
        /// The newest accepted operation.
        case newest
        case failed
        case all(TypeName?)
        case host(String)
        case queue
    }

    package struct ServerPlan: Hashable, Sendable {
        package enum Mode: Hashable, Sendable {
            case well
            /// Every nth request gets this status, by chance.
            case flaky(status: Int, share: Double)
            case down
            case unauthorized
            case limited(retryAfter: Int)
            /// Answers with this status to all.
            case storm(Int)
        }

        package var latency: Duration = .milliseconds(20)
        /// The share of requests whose answer is lost after the effect, and before it.
        package var losesAfter = 0.0
        package var losesBefore = 0.0
        /// The share of requests at which the agent dies, and at which it hangs: with it all that it has in flight.
        package var agentDies = 0.0
        package var agentHangs = 0.0
        /// The share of requests that take longer than the time-out.
        package var stalls = 0.0
        /// The share of requests whose answer arrives byte by byte, for up to the time of a whole attempt and longer.
        package var trickles = 0.0
        /// The labels that are refused for good.
        package var bad: Set<Label> = []
        /// The operation whose request kills the process that sends it.
        package var culprit: Label?
        /// The modes from each time on, in order.
        package var modes: [Phase] = []

        package struct Phase: Hashable, Sendable {
            package var from: Duration
            package var mode: Mode
        }

        package init() {}
    }

    package enum Fault: Hashable, Sendable {
        /// The actor's process dies before its nth call.
        case kill(actor: Int, call: Int)
        /// It is stopped before its nth call, for this time.
        case stop(actor: Int, call: Int, time: Duration)
        /// It does not get a processor for this time, before its nth call.
        case stall(actor: Int, call: Int, time: Duration)
        /// It gets a signal before its nth call.
        case interrupt(actor: Int, call: Int)
        /// Its nth call fails so.
        case error(actor: Int, call: Int, code: Int32)
        /// The machine loses power at a time.
        case cutPower(at: Duration)
        /// The machine loses power so long after the nth time that a process has answered, or has learned an answer.
        case cutPowerAfter(promise: Int, wait: Duration)
        /// The file of an operation that waits, counted from the newest, loses its second half.
        case damage(at: Duration, place: Int)
        /// The disk has only so many free bytes, for this time.
        case fillDisk(at: Duration, free: Int, time: Duration)
    }
}
