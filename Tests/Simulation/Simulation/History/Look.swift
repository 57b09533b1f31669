package import Policy

/// What `status` says of the queue at a moment, and what the disk has at that moment.
package struct Look: Hashable, Sendable {
    /// What an operator reads first; the words of the states are those of drainq(1).
    package enum Finding: String, Hashable, Sendable {
        case unreadable
        case paused
        case neverRun = "never run"
        case notRunning = "nobody runs it"
        case full
        case offline
        case trouble
        case failed
        case quarantined
        case unsent = "not sent"
        case unserved = "waiting in vain"
        case failing = "runs fail"
        case heldAlone = "held one by one"
        case heldBehind = "held behind failed ones"
        case working = "well, a run is at work"
        case well
        case fresh = "nothing sent yet"

        /// Whether the queue needs nobody, by this finding.
        package var isWell: Bool { self == .working || self == .well || self == .fresh }
    }

    package struct Destination: Hashable, Sendable {
        package enum State: String, Hashable, Sendable {
            case held
            case down
            case paused
            case missed
            case asked
            case well
            case fresh
            case unnamed
        }

        package var state: State
        /// The beginning of the state, by a wall clock; `nil` if it is not known.
        package var since: Timestamp?
        package var waiting = 0

        package init(_ state: State, since: Timestamp? = nil, waiting: Int = 0) {
            (self.state, self.since, self.waiting) = (state, since, waiting)
        }

        package var isTrouble: Bool { state == .held || state == .down }
    }

    /// Numbers of operations, or of files.
    package struct Figures: Hashable, Sendable {
        package var waiting = 0
        package var failed = 0
        package var quarantined = 0

        package init(waiting: Int = 0, failed: Int = 0, quarantined: Int = 0) {
            (self.waiting, self.failed, self.quarantined) = (waiting, failed, quarantined)
        }
    }

    package var findings: [Finding]
    /// The destinations, by host.
    package var destinations: [String: Destination] = [:]
    package var due = 0
    /// The time of the last run, by a wall clock; `nil` if no run is known.
    package var lastRun: Timestamp?
    package var figures = Figures()
    /// The same figures, counted on the disk.
    package var files = Figures()

    package init(_ findings: [Finding]) { self.findings = findings }

    /// Whether the first sentence says that the queue needs nobody.
    package var isWell: Bool { findings.first?.isWell ?? false }
}

/// A change that a run has told: what began or ended at a destination.
package struct Told: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable {
        case down
        case up
        /// It is known no more whether the destination is down.
        case forgotten = "up, unknown why"
    }

    package var kind: Kind
    package var host: String

    package init(_ kind: Kind, _ host: String) { (self.kind, self.host) = (kind, host) }
}
