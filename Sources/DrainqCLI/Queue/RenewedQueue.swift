import CSystem
import Configuration
import Policy
import Spool

/// The queue of a command that goes on for long: a run that stays, or `add`, `import` and `send` with a pipe. The
/// command asks for its configuration again before each pass, batch or operation of `send`. While the file is not
/// valid, the configuration read before stays in force.
final class RenewedQueue {
    private let options: GlobalOptions
    private let check: (OpenQueue) throws -> Void
    /// Whether the configuration cannot be read again: no regular file has it.
    private let isReadOnce: Bool
    private(set) var queue: OpenQueue
    /// Why the file cannot be used now; `nil` if it is in force.
    private(set) var failure: CommandFailure?

    /// `check` throws if the file of the configuration may not be used, whatever it says.
    init(_ queue: OpenQueue, _ options: GlobalOptions, check: @escaping (OpenQueue) throws -> Void = { _ in }) {
        self.queue = queue
        self.options = options
        self.check = check
        var status = stat()
        let isFile = options.configuration.map {
            stat($0.rawCString, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        }
        isReadOnce = isFile == false
    }

    /// Returns the queue with the configuration that its file has now.
    func renewed() -> OpenQueue {
        _ = renew()
        return queue
    }

    /// Reads the configuration again. Returns whether `queue` has a new one. Reports a failure once.
    func renew() -> Bool {
        guard !isReadOnce, var source = queue.source else { return false }
        do throws(CommandFailure) {
            return try failing {
                try check(queue)
                let bytes = try configurationBytes(at: options.configuration, queue: queue.spool.path)
                let hasChanged = try source.follow(bytes)
                failure = nil
                if !hasChanged { return false }
                var configuration = source.configuration
                configuration.transportOfEnvironment = queue.configuration.transportOfEnvironment
                (queue.source, queue.configuration) = (source, configuration)
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
}
