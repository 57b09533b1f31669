import Drain
import Policy
import Spool

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The queue and its configuration, as the options and the environment name them.
struct OpenQueue {
    var spool: SpoolDirectory
    var configuration: Configuration
    /// Where the configuration is: what is relative in it starts from there.
    var directory: String
    var environment: [String: String]

    init(spool: SpoolDirectory, configuration: Configuration) {
        self.spool = spool
        self.configuration = configuration
        directory = spool.path
        environment = [:]
    }

    init(_ command: ParsedCommand, _ environment: [String: String]) throws {
        let path = try queuePath(option: command.text(.queue), environment: environment)
        spool = try SpoolDirectory(opening: path)
        configuration = try readConfiguration(at: command.text(.config), queue: path)
        directory = configurationDirectory(command.text(.config) ?? "\(path)/drainq.json")
        self.environment = environment
    }

    /// Throws where the queue's own configuration could be another's; one that `--config` names is trusted as it is.
    func checkTrustOfConfiguration(_ command: ParsedCommand) throws(SpoolError) {
        if command.text(.config) == nil { try spool.checkTrustOfConfiguration() }
    }

    /// With what runs remember of destinations at this moment.
    func knownDestinations() throws -> KnownDestinations {
        KnownDestinations(configuration, try LedgerFile(spool: spool).read())
    }
}

/// The path from the root, without symbolic links: the same queue by any name.
func absolutePath(_ path: String) -> String {
    URL(filePath: path).resolvingSymlinksInPath().path
}

/// What is relative in a configuration starts from where the file is, wherever the process is.
private func configurationDirectory(_ file: String) -> String {
    URL(filePath: file).deletingLastPathComponent().path
}

/// Reads the configuration that was asked for, else the queue's own; a queue without one has the defaults.
func readConfiguration(at path: String?, queue: String) throws -> Configuration {
    let file = path ?? "\(queue)/drainq.json"
    do {
        let data = try uninterrupted { try Data(contentsOf: URL(filePath: file)) }
        return try ConfigurationFile.read(
            Array(data), name: path ?? "drainq.json", directory: configurationDirectory(file))
    } catch let error as ConfigurationErrors {
        throw error
    } catch {
        if path == nil, access(file, F_OK) != 0, errno == ENOENT { return Configuration() }
        let status = ExitStatus(ofReading: error)
        throw CommandFailure(
            status, "cannot read '\(file)': \(readable(error))",
            hint: status == .inputOutput ? nil : "the configuration must be readable by the user that runs drainq")
    }
}

/// Foundation does not begin again what a signal has interrupted.
private func uninterrupted<Result>(_ body: () throws -> Result) throws -> Result {
    while true {
        do { return try body() } catch  where posixCode(of: error) == .EINTR { continue }
    }
}

private func posixCode(of error: any Error) -> POSIXErrorCode? {
    ((error as? CocoaError)?.underlying as? POSIXError)?.code
}

extension ExitStatus {
    /// A configuration that cannot be read: the file system's failure, a lack of permission, or a mistake in naming it.
    fileprivate init(ofReading error: any Error) {
        self =
            switch posixCode(of: error) {
            case .EACCES, .EPERM: .permission
            case .ENOENT, .ENOTDIR, .EISDIR, .ELOOP, .ENAMETOOLONG, nil: .configuration
            default: .inputOutput
            }
    }
}

/// The system's words for an error of Foundation's, without its domain and codes.
func readable(_ error: any Error) -> String {
    guard let error = error as? CocoaError else { return "\(error)" }
    if let posix = error.underlying as? POSIXError { return String(cString: strerror(posix.code.rawValue)) }
    switch error.code {
    case .fileNoSuchFile, .fileReadNoSuchFile: return "No such file or directory"
    case .fileReadNoPermission, .fileWriteNoPermission: return "Permission denied"
    case .fileWriteOutOfSpace: return "No space left on device"
    default: return "\(error.code)"
    }
}

extension Timestamp {
    /// The wall clock, read here and passed on: no room below asks for the time itself.
    static func now() -> Timestamp {
        // A Double holds microseconds exactly until the year 2255.
        Timestamp(microseconds: Int64((Date().timeIntervalSince1970 * 1_000_000).rounded(.down)))
    }
}
