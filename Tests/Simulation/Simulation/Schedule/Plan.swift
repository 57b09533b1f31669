package import Drain
package import Policy

/// The complete input of a history. A workload makes a plan from a seed; the shrinker takes parts away; the same plan
/// gives the same history, byte for byte.
package struct Plan: Sendable {
    package var setup: Setup
    package var schedule = SchedulePlan()
    /// The hosts: how far each wall clock is ahead of the true time at the start, and the clock's steps.
    package var hosts: [HostPlan] = [HostPlan()]
    package var actors: [Actor] = []
    package var faults: [Fault] = []
    package var servers: [String: ServerPlan] = [:]
    /// Whether every user may put files into a sticky `new/`, as in a drop directory.
    package var isOpenToAll = false
    /// Whether the history ends with a calm time. The queue has to get empty in the calm time.
    package var endsCalmly = true
    /// Whether the calm end begins with the end of every hold and pause.
    package var endsReleased = true
    /// Whether the file system moves a file only by a link and an unlink (NFS).
    package var movesByLink = false
    /// Whether several hosts share the file system, whose clients remember names for a second (NFS, GlusterFS).
    package var isShared = false
    /// Whether the machine has another name after each power cut.
    package var renamesHost = false
    /// The times at which drainq.json gets a route more, which no operation has.
    package var renewals: [Duration] = []
    /// The times in which the machine has no network.
    package var absences: [AbsencePlan] = []
    /// The tokens after the first: when servers ask for each, and when runs can look it up.
    package var tokens: [TokenPlan] = []

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

    package struct AbsencePlan: Hashable, Sendable {
        package var from: Duration
        package var time: Duration
    }

    package struct TokenPlan: Hashable, Sendable {
        package var asked: Duration
        package var known: Duration
    }

    /// A process of the history.
    package struct Actor: Sendable {
        /// The actor's number; the process of the same number plays the actor. The number stays when the shrinker
        /// removes other actors.
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
        /// A process that keeps a lock of the queue for a time.
        case keepLock(path: String, time: Duration)
    }

    /// The options of a run that matter here.
    package struct RunPlan: Hashable, Sendable {
        package var limit = 100
        package var concurrency: Int? = 3
        package var maxTime: Duration?
        package var stay = RunOptions.Stay.no
        package var ignoresBackoff = false
        package var types: Set<TypeName> = []
        /// The target of the run; the run sends only operations that the target names at the run's start.
        package var target: Target?

        package init() {}
    }

    /// `add`, `import`, and programs that embed the writer.
    package struct EnterPlan: Sendable {
        package var offers: [PlannedOffer]
        /// The pauses of the input, by the number of offers before each pause: the program adds the offers read so far.
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

    /// An operation to hand in, without its content.
    package struct PlannedOffer: Sendable {
        package var label: Label
        package var type: TypeName
        package var key: String?
        package var hasOwnID = false
        /// The operation that gets the same own id.
        package var sharesIDWith: Label?
        /// The target whose id the operation gets; `nil` for none.
        package var idOf: Target?
        /// How much earlier than the moment of writing the operation's time of creation is; negative is the future.
        package var age: Duration?
        package var notBefore: Duration?
        package var expires: Duration?
        /// The member of the payload: a merge overwrites an equal member.
        package var member: String
        package var wait: Duration = .zero
        /// `import --replace`: the time between the export of the operation and the import.
        package var edit: Duration = .zero
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
        /// The preceding step of another process; `nil` for none.
        package var moment: Moment?
        /// The states of a filter; empty for the command's default states.
        package var states: Set<ShownState> = []
        package var limit: Int?
        /// `drop`: whether the command also drops the operations held behind the chosen failed operations.
        package var takesFollowers = false
        /// `retry`: the time between two operations that become due; `nil` makes all due at once.
        package var spacing: Duration?
        /// `retry`: whether a dead letter is created anew.
        package var asNewest = false

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

    /// The target of an operator, or of a run by id, chosen at the moment of the command from the events that the world
    /// has seen.
    package enum Target: Hashable, Sendable {
        /// An operation in flight; any operation of a batch or merge.
        case inFlight
        /// An older operation with the type and key of an operation in flight: a part of the same document, if the
        /// route merges.
        case olderPart
        /// The nth oldest waiting operation.
        case waiting(Int)
        /// The newest accepted operation.
        case newest
        case failed
        /// The nth file in quarantine.
        case quarantined(Int)
        case all(TypeName?)
        case host(String)
        case queue
    }

    package struct ServerPlan: Hashable, Sendable {
        package enum Mode: Hashable, Sendable {
            case well
            /// A random share of requests gets the status.
            case flaky(status: Int, share: Double)
            case down
            case unauthorized
            case limited(retryAfter: Int)
            /// Answers all requests with the status.
            case storm(Int)
        }

        package var latency: Duration = .milliseconds(20)
        /// The share of requests whose answer is lost after the effect, and before the effect.
        package var losesAfter = 0.0
        package var losesBefore = 0.0
        /// The share of requests at which the agent dies, and at which the agent hangs. The agent loses all its
        /// requests in flight.
        package var agentDies = 0.0
        package var agentHangs = 0.0
        /// The share of requests that take longer than the time-out.
        package var stalls = 0.0
        /// The share of requests whose answer arrives byte by byte, for up to the time of a whole attempt and longer.
        package var trickles = 0.0
        /// The time between two operations of a key that the server takes; `nil` limits no key. The server answers other
        /// operations of the key with 429 and a Retry-After of a second.
        package var keyPause: Duration?
        /// The labels of the operations that the server refuses for good.
        package var bad: Set<Label> = []
        /// The operation whose request kills the sender.
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
        /// The actor's process is stopped before its nth call, for this time.
        case stop(actor: Int, call: Int, time: Duration)
        /// The actor's process gets no processor for this time, before its nth call.
        case stall(actor: Int, call: Int, time: Duration)
        /// The actor's process gets a signal before its nth call.
        case interrupt(actor: Int, call: Int)
        /// The nth call of the actor's process fails with the code.
        case error(actor: Int, call: Int, code: Int32)
        /// The machine loses power at a time.
        case cutPower(at: Duration)
        /// The machine loses power after the nth promise (`Event.What.isPromise`) and a wait.
        case cutPowerAfter(promise: Int, wait: Duration)
        /// The file of a waiting operation, counted from the newest, loses its second half.
        case damage(at: Duration, place: Int)
        /// The disk has only `free` free bytes, for this time.
        case fillDisk(at: Duration, free: Int, time: Duration)
        /// Of the actor's calls of a kind, `count` from the nth on fail with the code.
        case errors(actor: Int, of: Call.Name, from: Int, count: Int, code: Int32)
        /// The actor's nth call of a kind takes effect and fails with the code.
        case lateError(actor: Int, of: Call.Name, nth: Int, code: Int32)
        /// Each call that opens or moves a waiting operation's file fails with the code, for this time.
        case refuseFile(at: Duration, place: Int, code: Int32, time: Duration)
        /// A file of a directory has a flipped bit, or zeros only.
        case spoil(at: Duration, directory: String, place: Int, zeros: Bool)
        /// The machine stands still for a time.
        case standStill(at: Duration, time: Duration)
    }
}
