package import Policy

/// What the outside world saw of one history, in one order, and what was on the disk at its end. The model judges this
/// and nothing else.
package struct History: Sendable {
    package var setup: Setup
    package var events: [Event] = []
    /// The files of the queue when every process had ended and the last runs had found nothing more to do.
    package var left: [LeftFile] = []
    /// Whether the history ended with a calm time: servers well, clocks right, no faults, no holds and no pauses, and
    /// runs until nothing changed any more. Only then liveness is judged.
    package var endsCalmly = false
    /// Whether the history had to be broken off, because something made no end.
    package var isEndless = false
    /// What a clock that is right shows at the start of the history.
    package var began = Timestamp(microseconds: 1_795_251_600_000_000)
    /// The host of each process; a process that is missing is on host 0.
    package var hosts: [ProcessID: Int] = [:]

    package init(setup: Setup) {
        self.setup = setup
    }
}

/// A file of the queue at the end of a history.
package struct LeftFile: Hashable, Sendable {
    /// The path relative to the queue: `deferred/2026…,a=1.json`.
    package var path: String
    package var bytes: [UInt8]

    package init(path: String, bytes: [UInt8]) {
        self.path = path
        self.bytes = bytes
    }
}

/// One process of a history; 0 is the world itself: servers, faults, clocks.
package struct ProcessID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package var number: Int

    package init(_ number: Int) {
        self.number = number
    }

    package static let world = ProcessID(0)
    package static func < (left: ProcessID, right: ProcessID) -> Bool { left.number < right.number }
    package var description: String { number == 0 ? "world" : "p\(number)" }
}

/// Something that happened.
package struct Event: Hashable, Sendable {
    /// The true time since the start of the history. Hosts' wall clocks may differ from it.
    package var time: Duration
    package var process: ProcessID
    package var what: What

    package init(time: Duration, process: ProcessID, what: What) {
        self.time = time
        self.process = process
        self.what = what
    }
}

/// The number of an operation's content in a history: it stands in the payload, so that a server's log tells which
/// operations it received, and is never used twice.
package typealias Label = Int

/// An operation as somebody hands it in.
package struct Offer: Hashable, Sendable {
    package enum Way: Hashable, Sendable {
        case add
        /// All of one batch, or none: `add --atomic`, `import --atomic`. The number tells batches apart.
        case atomic(batch: Int)
        case importing
        /// `import --replace`: takes the place of the operation with this id.
        case replacing
        case send
        /// `send --no-queue`: nothing of it is ever in the queue.
        case sendUnqueued
        /// A file that another program renames into `new/`, under a name that is not canonical.
        case foreign
        /// The library for programs that enqueue.
        case writer
    }

    package var label: Label
    package var way: Way
    package var type: TypeName
    package var key: String?
    /// The id that the submitter chose; `nil` lets drainq make one.
    package var id: OperationID?
    /// The time of creation that the submitter gave; for a foreign file without one, the file's mtime.
    package var createdAt: Timestamp?
    package var notBefore: Timestamp?
    package var expiresAt: Timestamp?
    /// The payload, `{"m3":17}`: a member that is the operation's own or shared with others of its key, and the label.
    package var payload: String
    /// Whether it takes the place of the operation with its id, also as one of an atomic batch.
    package var isReplacing = false
    /// Whether its submitter is not told which operations made room for it: the writer tells nobody.
    package var isQuiet = false
    /// Whether it enters as a dead letter: the edited export of one.
    package var isDeadLetter = false
    /// Whether the submitter is another user than the queue's owner.
    package var isStranger = false
    /// Whether the file was synced before it was renamed into `new/`, and `new/` after it. Else a power cut may lose it.
    package var isDurable = true

    package init(label: Label, way: Way, type: TypeName, payload: String) {
        self.label = label
        self.way = way
        self.type = type
        self.payload = payload
    }
}

/// What a submitter was told.
package enum Answer: Hashable, Sendable {
    /// It is in the queue under this name, durably if its offer is durable.
    case accepted(EntryName)
    /// An operation with its id is in the queue, or was a moment ago.
    case duplicate
    /// The queue has no room.
    case full
    /// It could never be sent.
    case refused
    /// Another operation of its batch kept it out.
    case notAttempted
    /// `import --replace`: the operation that it should replace is in flight.
    case inFlight
    /// An error of the machine; whether it is in the queue is not known.
    case error(String)
    /// `send`: delivered, not kept; with the part of the server's answer.
    case delivered
    /// `send`: refused for good, not kept.
    case failed
    /// `send`: in the queue for later, durably. `isHeld` says that its destination is held.
    case queued(isHeld: Bool)
    /// A foreign file has its name in `new/`: nothing is promised yet but that it stays.
    case placed
}

/// A request as the server received it.
package struct Request: Hashable, Sendable {
    /// Counts from 1 over the whole history.
    package var number: Int
    package var host: String
    /// The bodies: one, or several of a batch. Each has the labels of the operations in it, several if it is merged.
    package var bodies: [[Label]]
    /// The merged document or single payload, byte for byte; a batch's members one a line.
    package var text: String
    package var idempotencyKey: String?
    /// The header `drainq-attempt` or what stands for it; `nil` if the request has none.
    package var attempt: Int?
    package var secret: String?
    /// The path and query of its url.
    package var path = ""
    /// The process that sent it.
    package var sender: ProcessID?

    package init(number: Int, host: String, bodies: [[Label]], text: String) {
        self.number = number
        self.host = host
        self.bodies = bodies
        self.text = text
    }
}

/// What a server does with a request.
package struct Reply: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case status(Int)
        /// No answer: the connection ends before the client has one.
        case lost
        /// The delivery agent dies.
        case agentDied
    }

    package var kind: Kind
    /// The labels whose operations took effect.
    package var applied: [Label]
    /// The status of each body of a batch, where the answer has results by item.
    package var results: [Int]?
    /// Retry-After in seconds.
    package var retryAfter: Int?

    package init(kind: Kind, applied: [Label]) {
        self.kind = kind
        self.applied = applied
    }
}

/// What a run says about one operation, or about a destination.
package enum Report: Hashable, Sendable {
    case delivered(OperationID)
    /// `counted` says whether the attempt counts.
    case deferred(OperationID, counted: Bool)
    case putBack(OperationID)
    case failed(OperationID, isExpired: Bool)
    /// Held by itself: it is not known whether the server received it.
    case ambiguous(OperationID)
    case superseded(OperationID, by: OperationID?)
    case parked(OperationID)
    case quarantined(OperationID?, path: String)
    case evicted(OperationID)
    case recovered([OperationID])
    case destinationHeld(String)
    case holdEnded(String)
    case error(String)
}

/// The options of a run that say what it sends, and when.
package struct RunChoice: Hashable, Sendable {
    /// The operations that the command line names; `nil` for all.
    package var ids: Set<OperationID>?
    /// The types that the command line names; empty for all.
    package var types: Set<TypeName> = []
    package var limit = 100
    /// `--now`: attempts deferred operations before their time.
    package var isNow = false
    package var maxTime: Duration?
    /// Whether it stays until the queue is empty, or for a time.
    package var stays = false
    package var isUntilEmpty = false

    package init() {}
}

/// An operator's command.
package struct Command: Hashable, Sendable {
    package enum Verb: String, Hashable, Sendable, CaseIterable {
        case retry
        case hold
        case release
        case drop
        case pause
        case resume
        case holdDestination
        case releaseDestination
        case repair
    }

    package var verb: Verb
    /// The ids on the command line; `nil` for a filter or for none.
    package var ids: [OperationID]?
    /// The type that a filter names, `--all` if `nil`.
    package var type: TypeName?
    /// The host of the destination that the command names; `nil` for the queue.
    package var host: String?
    /// `drop`: whether the option is given that drops what is held behind a failed operation, too.
    package var takesFollowers = false
    /// `retry`: whether the option is given that sends an older value again after a newer one.
    package var insists = false

    package init(_ verb: Verb) {
        self.verb = verb
    }
}

extension Event.What {
    /// Whether somebody may rely on it from now on.
    var isPromise: Bool {
        switch self {
        case .answers, .changed, .done, .learns, .reports: true
        default: false
        }
    }
}

extension Event {
    package enum What: Hashable, Sendable {
        // MARK: Processes
        /// A process begins; the text says as what, as a person would write the command.
        case begins(String)
        /// The process is a run with these options.
        case runs(RunChoice)
        /// It ends by itself, with this exit status: 0 if all that was due is delivered or nothing was due.
        case ends(status: Int32)
        /// A run ends: what it left.
        case endsRun(status: Int32, leftDue: Int, waits: Bool)

        // MARK: Faults
        case killed
        case stopped
        /// It gets no processor for a while.
        case stalled
        /// It goes on, after it was stopped or had no processor for a while.
        case woken
        case interrupted
        case cutPower
        /// The disk has lost a part of the operation's file.
        case damaged(Label)
        /// A host's wall clock steps.
        case clockStepped(host: Int, by: Duration)
        /// An injected error of a system call.
        case refusedCall(String, path: String, Int32)

        // MARK: Handing in
        /// A process begins to hand an operation in. Nothing of it is anywhere before.
        case offers(Offer)
        case answers(Label, Answer)
        /// The operation's file has its canonical name for the first time. Tells the id and the time of creation where no
        /// answer does: of a `send`, and of a foreign file.
        case names(Label, EntryName)
        /// The process begins to list `new/` or `deferred/`.
        case lists
        /// The process renames a file and lacks a lock that the rename needs.
        case movesUnlocked(from: String, to: String, lacks: String)

        // MARK: Servers
        /// The process gives a request to its agent.
        case submits
        /// A server receives a whole request.
        case receives(Request)
        /// A server has decided; effects happen now.
        case replies(request: Int, Reply)
        /// The process that sent it has the answer, or knows that none comes.
        case learns(request: Int)
        /// The process that sent it takes the answer in.
        case takesIn(request: Int)
        /// The process that sent it knows that no answer comes: its agent has died or was killed.
        case loses(request: Int)
        /// What a server does from now on: `well`, `401`, `down`.
        case serverTurns(host: String, String)
        /// The calm end begins.
        case calm

        // MARK: Runs and operators
        case reports(Report)
        /// An operator's command begins.
        case commands(Command)
        /// The command has answered that it changed this operation, durably.
        case changed(OperationID)
        /// The command has answered that it did not.
        case leftAlone(OperationID)
        /// The command has done what it does to the queue or a destination.
        case done
    }
}
