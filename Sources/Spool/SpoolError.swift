import CSystem
import Policy

/// A failure of the queue: the action, its path and the cause.
package struct SpoolError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        case noSuchQueue
        case permission
        /// The disk is full, or the file system failed.
        case io
        /// A path of the queue is something else, or a file too large to be read: the reason.
        case notTheFile(String)
        case notAQueue
        /// A file of `state/` has no content that drainq writes.
        case damaged
        /// The ledger of destinations was damaged. The ledger is moved aside, and its holds and pauses are lost.
        case lostLedger
        /// A newer drainq has written the queue, in this format.
        case newerFormat(Int)
        /// The server has accepted the operation, but its file cannot be removed: to go on would multiply duplicates.
        case notRemovedAfterDelivery
        /// A run no longer has its lock: other runs recover its claims.
        case lostLock
        /// A user who should not can write to the queue.
        case untrusted(Distrust)
    }

    package var kind: Kind
    /// The words between "cannot" and the path: `claim`, `accept into`.
    package var verb: String
    /// The path relative to the queue, or the queue's path as the caller gave it; control characters escaped.
    package var path: String
    package var code: Int32

    package init(kind: Kind, verb: String, path: String, code: Int32) {
        self.kind = kind
        self.verb = verb
        self.path = path
        self.code = code
    }

    init(_ error: Errno, _ verb: String, _ path: QueuePath) {
        let kind: Kind =
            switch error.code {
            case EACCES, EPERM: .permission
            default: .io
            }
        self.init(kind: kind, verb: verb, path: path.description, code: error.code)
    }

    /// Whether space or inodes ran out; work that needs neither can go on.
    package var isFullDisk: Bool { Errno(code).isFullDisk }

    /// Whether a newer drainq has written what could not be read.
    package var isOfNewerFormat: Bool { if case .newerFormat = kind { true } else { false } }

    /// Whether a wait for a lock timed out because another process has it.
    package var isLocked: Bool { Errno(code) == .wouldBlock }

    /// `cannot claim 'new/…': Permission denied`
    package var description: String {
        let reason =
            switch kind {
            case .notTheFile(let reason): reason
            case .notAQueue: "not a queue"
            case .damaged: "it is damaged"
            case .lostLedger: "it was damaged: the holds and pauses of destinations that it had are lost"
            case .newerFormat(let version): "a newer drainq has written it (format \(version))"
            case .lostLock: "its lock is lost: \(Errno(code))"
            case .untrusted(let distrust): distrust.reason
            case .noSuchQueue, .permission, .io, .notRemovedAfterDelivery: Errno(code).description
            }
        return "cannot \(verb) '\(path)': \(reason)"
    }

    /// A command or a fact that helps; `nil` if there is none.
    package var hint: String? {
        switch kind {
        case .noSuchQueue where !path.hasPrefix("/"):
            "the path starts in the working directory: go to the queue's, or give the path from / on"
        case .noSuchQueue: "drainq init --queue \(shellEscaped("\(path)"))"
        case .permission: "the queue must be writable by the user that runs drainq"
        case .notAQueue:
            "a queue has the directories new, deferred, claimed and tmp: drainq init makes them, drainq check examines them"
        case .lostLedger: "it is now '\(path).damaged'; hold or pause the destinations again that must get nothing"
        case .damaged: "drainq check --repair mends it or moves it aside"
        case .newerFormat: "use the drainq that wrote it, or a newer one"
        case .notRemovedAfterDelivery:
            "the operation has been delivered; the next run tries again to remove its file"
        case .lostLock: "this run stops and touches nothing more; the next run recovers its claims"
        case .untrusted(let distrust): distrust.hint(for: "\(path)")
        case .notTheFile: "move the file away: drainq did not make it"
        case .io:
            switch code {
            case ENOLCK, ENOTSUP, EOPNOTSUPP, ENOSYS:
                "without flock(2) drainq cannot tell which run is alive: put the queue on a file system that has it"
            case ENOTEMPTY: "a queue has its directory for itself: name a new one, or move the other files away"
            case ENOSPC, EDQUOT: "the disk is full, or has no inode left"
            case EFBIG: "a limit keeps files from growing: see ulimit -f, or LimitFSIZE= of the unit"
            case EROFS: "the file system is mounted read-only"
            case EWOULDBLOCK: "another process holds the lock; it may have been stopped: see lsof(8)"
            default: nil
            }
        }
    }
}
