import CSystem
import Policy
import Spool

/// The configuration of a run that stays, read again before each pass. While the file is not valid, the configuration
/// read before stays in force.
struct RenewedQueue {
    private let options: QueueOptions
    private(set) var queue: OpenQueue
    /// The bytes in force, `nil` without a file; `nil` as a whole before the first call.
    private var bytes: [UInt8]??
    /// Why the file cannot be used now; `nil` if it is in force.
    private(set) var failure: CommandFailure?

    /// Returns `nil` for a configuration that is read only once: one that no regular file has.
    init?(_ queue: OpenQueue, _ options: QueueOptions) {
        self.queue = queue
        self.options = options
        var status = stat()
        let file = options.configuration ?? "\(queue.spool.path)/drainq.json"
        let isFile = stat(file.rawCString, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        guard isFile || options.configuration == nil else { return nil }
    }

    /// Reads the configuration again. Returns whether `queue` has a new one. Reports a failure once.
    mutating func renew() -> Bool {
        do throws(CommandFailure) {
            let bytes = try read()
            if self.bytes == .some(bytes), failure == nil { return false }
            return try failing {
                var new = queue
                new.configuration = try parseConfiguration(bytes, at: options.configuration, queue: queue.spool.path)
                try new.applyTransport(of: queue.environment)
                try new.checkTrustOfConfiguration(options)
                (self.bytes, failure) = (.some(bytes), nil)
                if new.configuration == queue.configuration { return false }
                new.configurationDigest = bytes.map(OpenQueue.digest(ofConfiguration:))
                queue = new
                return true
            }
        } catch {
            if error != failure {
                for message in error.messages { Messages.error(message.text, hint: message.hint) }
            }
            failure = error
            return false
        }
    }

    private func read() throws(CommandFailure) -> [UInt8]? {
        try failing { try configurationBytes(at: options.configuration, queue: queue.spool.path) }
    }
}
