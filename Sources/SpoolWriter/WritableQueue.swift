internal import Policy
internal import Spool
private import Synchronization

/// A queue directory to which a program adds operations, as `drainq add` does from a shell.
///
/// ```swift
/// import SpoolWriter
///
/// let queue = try WritableQueue(at: "/var/spool/drainq/orders")
/// let id = try queue.add(NewOperation(json: #"{"user": 7, "plan": "pro"}"#, type: "upgrade", key: "u7"))
/// ```
///
/// This library sends nothing: `drainq run`, from a timer, does that. Any number of programs and threads may write to a
/// queue at once. Keep a queue open rather than opening it for each operation. The queue's configuration
/// (drainq-config(5)) sets the limits, and what a type asks of its operations, such as the `key` that is made of the
/// payload. It is read again when its file has changed.
public final class WritableQueue: Sendable {
    private let spool: Mutex<Writer>

    private struct Writer {
        let directory: SpoolDirectory
        let surroundings: WriterSurroundings
        var configuration: ConfigurationSource
        var control: AdmissionControl
        var logLimits: LogLimits
        var times = SubmissionClock()

        func newID() -> OperationID {
            var generator = surroundings.system.generator
            return .random(using: &generator)
        }
    }

    /// Opens a queue that `drainq init` has made.
    ///
    /// - Parameter configuration: the file that `drainq run --config` names. `nil` is `drainq.json` in the queue, or
    ///   the defaults if there is none.
    public convenience init(at path: String, configuration: String? = nil) throws(WriteError) {
        try self.init(at: path, configuration: configuration, in: .ofProcess)
    }

    /// Opens a queue in other surroundings than those of this process.
    package init(
        at path: String, configuration: String? = nil, in surroundings: sending WriterSurroundings
    ) throws(WriteError) {
        let directory: SpoolDirectory
        do throws(SpoolError) {
            directory = try SpoolDirectory(opening: path, system: surroundings.system)
        } catch {
            throw WriteError(error)
        }
        var source = ConfigurationSource(configuration, ofQueue: path, in: surroundings)
        let read = try source.readIfChanged() ?? Configuration()
        spool = Mutex(
            Writer(
                directory: directory, surroundings: surroundings, configuration: source,
                control: AdmissionControl(read), logLimits: read.log))
    }

    /// Adds one operation and returns its id. Once it returns, the operation survives a power cut. If it throws,
    /// nothing was added, unless a run had already claimed the operation when a sync failed.
    @discardableResult
    public func add(_ operation: NewOperation) throws(WriteError) -> String {
        try add([operation])[0]
    }

    /// Adds all operations or none, and returns their ids. Throws as `add(_:)` of one does. They are delivered in this
    /// order if nothing else decides. Operations added together share their syncs: a thousand take little longer than
    /// one.
    @discardableResult
    public func add(_ operations: [NewOperation]) throws(WriteError) -> [String] {
        if operations.isEmpty { return [] }
        let result: Result<[String], WriteError> = spool.withLock { writer in
            do throws(WriteError) {
                return .success(try Self.add(operations, &writer))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private static func add(_ operations: [NewOperation], _ writer: inout Writer) throws(WriteError) -> [String] {
        if let changed = try writer.configuration.readIfChanged() {
            (writer.control, writer.logLimits) = (AdmissionControl(changed), changed.log)
        }
        var taken: [Submission] = []
        for operation in operations {
            let now = writer.times.next(now: writer.surroundings.now())
            let added = try operation.operation(createdAt: now, newID: writer.newID())
            taken.append(Submission(added, hasOwnID: operation.id != nil, at: now, isDated: false))
        }
        let accepted: Accepted
        do throws(SpoolError) {
            accepted = try writer.directory.accept(taken, within: &writer.control, allOrNone: true)
        } catch {
            throw WriteError(error)
        }
        for result in accepted.results {
            switch result {
            case .rejected(let limit): throw WriteError(limit)
            case .refused(let reason): throw WriteError(reason)
            case .isBeingSent: throw WriteError(inFlight: ())
            case .accepted, .duplicate, .inFlight, .isGone, .notAttempted: break
            }
        }
        let now = writer.surroundings.now()
        // try?: the operations are accepted whether or not the log tells what made room for them.
        try? writer.directory.log(
            LogEvent.evictions(accepted.evicted.map(\.name), at: now), upTo: writer.logLimits, at: now)
        return taken.map(\.header.id.description)
    }
}
