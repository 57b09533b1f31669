import CSystem

internal import Configuration
internal import Spool

/// The error of an addition. Nothing was added.
public struct WriteError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of an error, for a program to decide by.
    public enum Kind: Hashable, Sendable {
        /// There is no queue at that path, or what is there is none.
        case noQueue
        /// A newer drainq has written the queue: use its library.
        case newerFormat
        /// The system does not let this user write there, or others could meddle with the queue.
        case permission
        /// The configuration cannot be read, or is wrong: `drainq check` tells where.
        case configuration
        /// The operation is none that could be sent.
        case invalid
        /// A limit would be passed.
        case full
        /// The disk is full, or the file system failed.
        case inputOutput
    }

    /// The kind of the error.
    public var kind: Kind
    /// One line such as `cannot accept into 'new': No space left on device`.
    public var description: String
    /// The hint: a command or a fact.
    public var hint: String?
    /// `errno`, where a system call failed.
    public var code: Int32?

    init(_ reason: String) {
        kind = .invalid
        description = "cannot add: \(reason)"
    }

    init(_ field: String, _ reason: String) {
        self.init("\(field): \(reason)")
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
            case .full: .full
            case .io, .notTheFile, .notRemovedAfterDelivery, .lostHold: .inputOutput
            }
        description = error.description
        hint = error.hint
        code = error.code == 0 ? nil : error.code
    }
}
