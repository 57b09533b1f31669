import CSystem
internal import Configuration
internal import Spool

/// The error of opening a queue, or of adding to it. Nothing was added; `WritableQueue.add` names the exception.
public struct WriteError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of errors, on which a program can decide.
    public enum Kind: Hashable, Sendable {
        /// The path has no queue.
        case noQueue
        /// A newer drainq has written the queue: use its library.
        case newerFormat
        /// The system does not let this user write there, or other users could meddle with the queue.
        case permission
        /// The configuration cannot be read, or is wrong: `drainq check` tells where.
        case configuration
        /// The operation could never be sent.
        case invalid
        /// The operation would exceed a limit.
        case full
        /// `drainq send` has an operation of the same id in flight, and may keep nothing of it: add it again later.
        case inFlight
        /// The disk is full, or the file system failed.
        case inputOutput
    }

    /// The kind of the error.
    public var kind: Kind
    /// One line such as `cannot accept into 'new': No space left on device`.
    public var description: String
    /// A command or a fact that helps; `nil` if there is none.
    public var hint: String?
    /// `errno`, if a system call failed.
    public var code: Int32?

    init(_ reason: String) {
        kind = .invalid
        description = "cannot add: \(reason)"
    }

    init(_ field: String, _ reason: String) {
        self.init("\(field): \(reason)")
    }

    init(inFlight: Void) {
        kind = .inFlight
        description = "cannot add: another process sends or drops an operation of the same id"
        hint = "add it again when that process has ended"
    }

    init(_ limit: FullLimit) {
        kind = .full
        description = "cannot add: \(limit)"
    }

    /// The first error in the configuration.
    init(_ errors: ConfigurationErrors) {
        kind = .configuration
        description = errors.errors.first?.description ?? errors.description
        hint = errors.errors.first?.hint
    }

    init(reading file: String, _ error: Errno) {
        kind = .configuration
        description = "cannot read '\(file)': \(error)"
        code = error.code
    }

    init(_ error: SpoolError) {
        kind =
            switch error.kind {
            case .noSuchQueue, .notAQueue: .noQueue
            case .newerFormat: .newerFormat
            case .permission, .untrusted: .permission
            case .io, .notTheFile, .damaged, .lostLedger, .notRemovedAfterDelivery, .lostLock: .inputOutput
            }
        description = error.description
        hint = error.hint
        code = error.code == 0 ? nil : error.code
    }
}
