package import Policy

/// The events of a history, as the outside world saw them, in order, and the files on the disk at the end. The model
/// judges only a `History`.
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
    /// The true time of day at the start of the history.
    package var began = Timestamp(microseconds: 1_795_251_600_000_000)
    /// The host of each process; a missing process is on host 0.
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

/// A process of a history; 0 is the world itself: servers, faults, clocks.
package struct ProcessID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package var number: Int

    package init(_ number: Int) {
        self.number = number
    }

    package static let world = ProcessID(0)
    package static func < (left: ProcessID, right: ProcessID) -> Bool { left.number < right.number }
    package var description: String { number == 0 ? "world" : "p\(number)" }
}

/// An event of a history.
package struct Event: Hashable, Sendable {
    /// The true time since the start of the history. The wall clocks of hosts may differ.
    package var time: Duration
    package var process: ProcessID
    package var what: What

    package init(time: Duration, process: ProcessID, what: What) {
        self.time = time
        self.process = process
        self.what = what
    }
}

/// The number of an operation's content in a history. The payload has the label, so a server's log tells which
/// operations the server received. No label is used twice.
package typealias Label = Int

/// An operation as a submitter hands it in.
package struct Offer: Hashable, Sendable {
    package enum Way: Hashable, Sendable {
        case add
        /// All of a batch, or none: `add --atomic`, `import --atomic`. Batches have different numbers.
        case atomic(batch: Int)
        case importing
        /// `import --replace`: replaces the operation with the same id.
        case replacing
        case send
        /// `send --no-queue`: the operation never enters the queue.
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
    /// The id chosen by the submitter; `nil` lets drainq make an id.
    package var id: OperationID?
    /// The time of creation given by the submitter; for a foreign file without a time, the file's mtime.
    package var createdAt: Timestamp?
    package var notBefore: Timestamp?
    package var expiresAt: Timestamp?
    /// The payload, `{"m3":17}`: a member of this operation alone or of several operations of the key, and the label.
    package var payload: String
    /// Whether the content replaces the operation with the same id, also within an atomic batch.
    package var isReplacing = false
    /// Whether the submitter is not told of evictions in favour of the operation: SpoolWriter reports no evictions.
    package var isQuiet = false
    /// Whether the operation enters as a dead letter: the edited export of a dead letter.
    package var isDeadLetter = false
    /// Whether the submitter is another user than the queue's owner.
    package var isStranger = false
    /// Whether the program synced the file before the rename into `new/`, and `new/` after the rename. Otherwise a
    /// power cut may lose the file.
    package var isDurable = true

    package init(label: Label, way: Way, type: TypeName, payload: String) {
        self.label = label
        self.way = way
        self.type = type
        self.payload = payload
    }
}

/// The answer to a submitter.
package enum Answer: Hashable, Sendable {
    /// The operation is in the queue under this name, durably if the offer is durable.
    case accepted(EntryName)
    /// An operation with the same id is in the queue, or was a moment ago.
    case duplicate
    /// The queue has no room.
    case full
    /// No run could ever send the operation.
    case refused
    /// Another operation of the batch kept the operation out.
    case notAttempted
    /// `import --replace`: the operation to replace is in flight.
    case inFlight
    /// An error of the machine. The submitter does not know whether the operation is in the queue.
    case error(String)
    /// `send`: delivered, not kept; with the part of the server's answer.
    case delivered
    /// `send`: refused for good, not kept.
    case failed
    /// `send`: in the queue for later, durably. `isHeld` says whether the destination is held.
    case queued(isHeld: Bool)
    /// A foreign file has a name in `new/`. The only promise so far: the file stays.
    case placed
}

/// A request as the server received it.
package struct Request: Hashable, Sendable {
    /// Counts from 1 over the whole history.
    package var number: Int
    package var host: String
    /// The bodies: one, or several for a batch. Each has the labels of its operations: several if the body is merged.
    package var bodies: [[Label]]
    /// The merged document or the single payload, byte for byte; for a batch, a line for each member.
    package var text: String
    package var idempotencyKey: String?
    /// The header `drainq-attempt` or its substitute; `nil` if the request has neither.
    package var attempt: Int?
    package var secret: String?
    /// The path and query of the url.
    package var path = ""
    /// The process that sent the request.
    package var sender: ProcessID?

    package init(number: Int, host: String, bodies: [[Label]], text: String) {
        self.number = number
        self.host = host
        self.bodies = bodies
        self.text = text
    }
}

/// A server's treatment of a request.
package struct Reply: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case status(Int)
        /// No answer: the connection ends before the client has an answer.
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

/// A run's report on an operation or a destination.
package enum Report: Hashable, Sendable {
    case delivered(OperationID)
    /// `counted` says whether the attempt counts.
    case deferred(OperationID, counted: Bool)
    case putBack(OperationID)
    case failed(OperationID, isExpired: Bool)
    /// Held alone: nobody knows whether the server received the operation.
    case ambiguous(OperationID)
    case superseded(OperationID, by: OperationID?)
    case parked(OperationID)
    /// Put back untried although it is due, or refused again; `status` tells it.
    case withheld(OperationID)
    case quarantined(OperationID?, path: String)
    case evicted(OperationID)
    case recovered([OperationID])
    case destinationHeld(String)
    case holdEnded(String)
    case tells(Told)
    case error(String)
}

/// The options of a run that choose operations and times.
package struct RunChoice: Hashable, Sendable {
    /// The operations named on the command line; `nil` for all.
    package var ids: Set<OperationID>?
    /// The types named on the command line; empty for all.
    package var types: Set<TypeName> = []
    package var limit = 100
    /// The most attempts in flight; `nil` lets the run choose.
    package var concurrency: Int?
    /// `--now`: attempts deferred operations before their time.
    package var isNow = false
    package var maxTime: Duration?
    /// Whether the run stays until the queue is empty, or for a time.
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
        /// `export --then-drop`.
        case exportAndDrop
    }

    package var verb: Verb
    /// The ids on the command line; `nil` for a filter or for none.
    package var ids: [OperationID]?
    /// The type of a filter; `nil` for `--all`.
    package var type: TypeName?
    /// The host of the destination on the command line; `nil` for the queue.
    package var host: String?
    /// `drop`: whether the command also drops the operations held behind a failed operation.
    package var takesFollowers = false
    /// `retry`: whether the command sends an older value again after a newer value.
    package var insists = false

    package init(_ verb: Verb) {
        self.verb = verb
    }
}

extension Event.What {
    /// Whether somebody may rely on the event from now on.
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
        /// A process begins. The text is the command as an operator would write it.
        case begins(String)
        /// The process is a run with these options.
        case runs(RunChoice)
        /// The process ends by itself with an exit status: 0 if all due operations are delivered or none was due.
        case ends(status: Int32)
        /// A run ends, with the operations left.
        case endsRun(status: Int32, leftDue: Int, waits: Bool)

        // MARK: Faults
        case killed
        case stopped
        /// The process gets no processor for a while.
        case stalled
        /// The process continues after a stop or a time without a processor.
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
        /// A process begins to hand an operation in. No part of the operation exists before.
        case offers(Offer)
        case answers(Label, Answer)
        /// The operation's file has its canonical name for the first time. Tells the id and the time of creation of
        /// operations whose answers do not: `send` and foreign files.
        case names(Label, EntryName)
        /// The process begins to list `new/` or `deferred/`.
        case lists
        /// The process renames a file without a lock that the rename needs.
        case movesUnlocked(from: String, to: String, lacks: String)

        // MARK: Servers
        /// The process gives a request with these operations to its agent.
        case submits([Label])
        /// A server receives a whole request.
        case receives(Request)
        /// A server has decided; effects happen now.
        case replies(request: Int, Reply)
        /// The sender has the answer, or knows that no answer comes.
        case learns(request: Int)
        /// The sender takes the answer in.
        case takesIn(request: Int)
        /// The sender knows that no answer comes: the agent has died or was killed.
        case loses(request: Int)
        /// The server changes its mode: `well`, `401`, `down`.
        case serverTurns(host: String, String)
        /// The machine loses its network, or has the network again.
        case network(isThere: Bool)
        /// Runs find a new token from now on.
        case renewsToken
        /// The calm end begins.
        case calm

        // MARK: Runs and operators
        case reports(Report)
        /// What `status` says after a process has ended.
        case looks(Look)
        /// A run calls the hook of an event for a host.
        case calls(String, host: String)
        /// An operator's command begins.
        case commands(Command)
        /// The command has answered that the operation is changed, durably.
        case changed(OperationID)
        /// The command has answered that the file in quarantine, whose name has no id, is changed.
        case changedFile(Label)
        /// The command has answered that the operation is unchanged.
        case leftAlone(OperationID)
        /// The command has saved the operation's line, durably.
        case exports(Label)
        /// The command has changed the queue or a destination.
        case done
    }
}
