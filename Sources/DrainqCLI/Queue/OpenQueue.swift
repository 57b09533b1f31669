import CSystem
import Configuration
import Delivery
import Drain
import Policy
import Spool

/// The queue and its configuration, found by the options and the environment.
struct OpenQueue {
    var spool: SpoolDirectory
    var configuration: Configuration
    /// The file of the configuration, as it was read last; `nil` for a queue that has its configuration from elsewhere.
    var source: FollowedConfiguration?
    /// The directory of the configuration: its relative paths start there.
    var directory: String
    var environment: [String: String]
    /// Why the configuration cannot be read, of a queue that is only shown and then has the defaults; `nil` if it can.
    var configurationFailure: CommandFailure?

    init(spool: SpoolDirectory, configuration: Configuration) {
        self.spool = spool
        self.configuration = configuration
        directory = spool.path
        environment = [:]
    }

    init(_ options: GlobalOptions, _ environment: [String: String]) throws {
        let path = try queuePath(option: options.path, environment: environment)
        spool = try SpoolDirectory(opening: path)
        let bytes = try configurationBytes(at: options.configuration, queue: path)
        let read = try parseConfiguration(bytes, at: options.configuration, queue: path)
        (source, configuration) = (read, read.configuration)
        directory = absoluteDirectory(of: options.configuration ?? "\(path)/drainq.json")
        self.environment = environment
    }

    /// Opens a queue to show it. It is shown also if its configuration is broken.
    static func showing(_ options: GlobalOptions, _ environment: [String: String]) throws -> OpenQueue {
        let failure: CommandFailure
        do {
            return try OpenQueue(options, environment)
        } catch let errors as ConfigurationErrors {
            failure = CommandFailure(errors)
        } catch let error as CommandFailure {
            failure = error
        }
        let path = try queuePath(option: options.path, environment: environment)
        var queue = OpenQueue(spool: try SpoolDirectory(opening: path), configuration: Configuration())
        (queue.environment, queue.configurationFailure) = (environment, failure)
        return queue
    }

    /// Names a broken configuration on standard error.
    func reportBrokenConfiguration() {
        guard let message = configurationFailure?.messages.first else { return }
        Messages.error("runs send nothing: \(message.text)", hint: message.hint)
    }

    /// Throws if others could have written the queue's own configuration. Trusts one that `--config` names.
    func checkTrustOfConfiguration(_ options: GlobalOptions) throws(SpoolError) {
        if options.configuration == nil { try spool.checkTrustOfConfiguration() }
    }

    /// Uses `DRAINQ_TRANSPORT` in place of `auto`.
    mutating func applyTransport(of environment: [String: String]) throws(UsageError) {
        configuration.transportOfEnvironment = try transport(of: environment)
    }

    /// Returns the destinations, with what runs remember of them at this moment.
    func knownDestinations() throws(SpoolError) -> KnownDestinations {
        try KnownDestinations(of: spool, configuration, at: .now())
    }

    /// Returns the destinations, also with what keeps this machine from sending to them now.
    func destinationsOfThisMachine() throws(SpoolError) -> KnownDestinations {
        var known = try knownDestinations()
        let asked = configuration.conditions
        if !asked.asksNothing {
            known.refusals = asked.refusals(in: Surroundings.read(for: asked, environment: programEnvironment))
        }
        if let offline = known.offline { known.absence = NetworkState.read().absence(behind: offline.error) }
        return known
    }
}

/// Reads the configuration at `path`, else that of the queue; a queue without one has the defaults.
func readConfiguration(at path: String?, queue: String) throws -> Configuration {
    try parseConfiguration(try configurationBytes(at: path, queue: queue), at: path, queue: queue).configuration
}

private func parseConfiguration(
    _ bytes: [UInt8]?, at path: String?, queue: String
) throws(ConfigurationErrors) -> FollowedConfiguration {
    let file = path ?? "\(queue)/drainq.json"
    return try FollowedConfiguration(bytes, of: file, directory: absoluteDirectory(of: file))
}

/// Returns the bytes of the configuration; `nil` if the queue has none.
func configurationBytes(at path: String?, queue: String) throws -> [UInt8]? {
    let file = path ?? "\(queue)/drainq.json"
    // A pipe that `--config` names has a writer. A read of one in the queue could block without end.
    var status = stat()
    let kinds: [mode_t] = [S_IFREG, S_IFDIR]
    if path == nil, stat(file.rawCString, &status) == 0, !kinds.contains(status.st_mode & S_IFMT) {
        throw CommandFailure(
            .configuration, "cannot read '\(file)': it is not a regular file",
            hint: "remove it; '\(pasted("init"))' writes a new one")
    }
    do throws(Errno) {
        return try contents(of: file, upTo: ConfigurationFile.maximumBytes + 1)
    } catch {
        // A symbolic link to nothing is a configuration that is missing, and not a queue without one.
        if path == nil, error.code == ENOENT, lstat(file.rawCString, &status) != 0 {
            guard SpoolDirectory.hasHadConfiguration(at: queue) else { return nil }
            throw CommandFailure(
                .configuration, "'\(file)' is gone: the queue has had a configuration",
                hint: "put it back; '\(pasted("init"))' writes a new one")
        }
        let status = ExitStatus(ofReading: error)
        throw CommandFailure(status, "cannot read '\(file)': \(error)", hint: status.hint(forConfigurationAt: file))
    }
}

extension ExitStatus {
    /// Makes the status of an unreadable configuration: an input/output failure, no permission, or a wrong name.
    fileprivate init(ofReading error: Errno) {
        self =
            switch error.code {
            case EACCES, EPERM: .permission
            case ENOENT, ENOTDIR, EISDIR, ELOOP, ENAMETOOLONG: .configuration
            default: .inputOutput
            }
    }

    fileprivate func hint(forConfigurationAt file: String) -> String? {
        switch self {
        case .permission: "the configuration must be readable by the user that runs drainq"
        case .configuration where !file.hasPrefix("/"): "the file is looked up in '\(absolutePath("."))'"
        case .configuration: "name a file that is there, or none: then drainq.json of the queue is read"
        default: nil
        }
    }
}
