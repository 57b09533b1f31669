package import Policy
package import Spool

/// The way of operations into a queue, as `add` and `import` give them: gathers them into batches with shared syncs,
/// and reports what became of each. Values that are no operations go to quarantine.
///
/// The reported operations (`report`) are durable, if the options ask for that. After a crash an unreported operation
/// may be in the queue too. With `isAtomic` the queue then has all of them or none.
package struct Adder {
    package struct Options: Hashable, Sendable {
        /// Whether all operations enter or none. Refused values then stay with the caller: none goes to quarantine.
        package var isAtomic = false
        /// Whether an operation of an export replaces the operation of the same id in the queue.
        package var replaces = false
        package var isDurable = true
        /// How the command reads its input. Quarantine keeps it beside a refused value.
        package var reading: Reading

        package init(_ reading: Reading, isAtomic: Bool = false, replaces: Bool = false, isDurable: Bool = true) {
            self.reading = reading
            self.isAtomic = isAtomic
            self.replaces = replaces
            self.isDurable = isDurable
        }

        /// Whether the whole input is read before anything is written: an export that replaces may be of this queue.
        fileprivate var gathersAll: Bool { isAtomic || replaces }
    }

    /// The most operations and refused values, and bytes of them, that share the syncs.
    private static let batchSize = 1000
    private static let batchBytes = 16 << 20

    private let spool: SpoolDirectory
    private let configuration: () -> Configuration
    private let options: Options
    private let clock: RunClock
    private let report: (AdderEvent) -> Void
    private var control: AdmissionControl
    private var batch: [(submission: Submission, given: GivenValue)] = []
    private var refused: RefusedValues
    /// The bytes of the batch.
    private var bytes = 0
    private var times = SubmissionClock()
    private var hasRefused = false
    /// Whether a batch is in the queue.
    package private(set) var hasAdded = false

    /// `configuration` returns the configuration of the moment: each batch goes by it.
    package init(
        to spool: SpoolDirectory, _ configuration: @escaping () -> Configuration, _ options: Options, clock: RunClock,
        report: @escaping (AdderEvent) -> Void
    ) {
        self.spool = spool
        self.configuration = configuration
        self.options = options
        self.clock = clock
        self.report = report
        control = AdmissionControl(configuration())
        refused = RefusedValues(spool, options, control.rule, clock)
    }

    // MARK: - Input

    /// Takes an operation.
    package mutating func take(_ submission: Submission, _ given: GivenValue) throws(AdderError) {
        batch.append((submission, given))
        bytes += given.text.count
        try flushIfFull()
    }

    /// Takes an operation of an export. It is submitted now, and later than the operations before it.
    package mutating func take(_ operation: PortableOperation, _ given: GivenValue) throws(AdderError) {
        try take(Submission(operation, at: times.next(now: clock.now())), given)
    }

    /// Takes a value that is no operation, and why.
    package mutating func refuse(_ given: GivenValue, reason: String) throws(AdderError) {
        hasRefused = true
        refused.append(given, reason, at: clock.now())
        try flushIfFull()
    }

    /// Notes an unusable part of the input, with nothing to keep.
    package mutating func refuseFile() { hasRefused = true }

    /// Adds what has been gathered, because the next part of the input may come late or not at all.
    package mutating func pause() throws(AdderError) {
        if options.gathersAll { tellRefused() } else { try flush() }
    }

    /// Ends the input. Returns false if nothing was added because a part of the input was refused, and all or none had
    /// to enter.
    package mutating func end() throws(AdderError) -> Bool {
        tellRefused()
        if options.isAtomic, hasRefused { return false }
        while !batch.isEmpty { try flush() }
        return !(options.isAtomic && hasRefused)
    }

    private mutating func flushIfFull() throws(AdderError) {
        if !options.gathersAll {
            let isFull = batch.count + refused.count >= Self.batchSize || bytes + refused.bytes >= Self.batchBytes
            if isFull { try flush() }
        } else if refused.count >= Self.batchSize || refused.bytes >= Self.batchBytes {
            tellRefused()
        }
    }

    private mutating func tellRefused() {
        refused.tell(report)
        report(.batchEnded)
    }

    // MARK: - Queue

    /// Takes over a changed configuration. The queue is then counted again.
    private mutating func renew() {
        let configuration = configuration()
        if configuration == control.rule.configuration { return }
        control = AdmissionControl(configuration)
        refused.rule = control.rule
    }

    /// Gives the batch to the spool, and reports the results.
    private mutating func flush() throws(AdderError) {
        if batch.isEmpty, refused.count == 0 { return }
        defer { report(.batchEnded) }
        renew()
        refused.tell(report)
        if batch.isEmpty { return }
        let taken = options.isAtomic ? batch : Array(batch.prefix(Self.batchSize))
        batch.removeFirst(taken.count)
        bytes = batch.reduce(0) { $0 + $1.given.text.count }
        var refused = refused
        let result = Result { () throws(SpoolError) in
            try spool.accept(
                taken.map(\.submission), within: &control, durable: options.isDurable, allOrNone: options.isAtomic,
                replacing: options.replaces
            ) { dated, results in
                refused.append(results, of: zip(dated, taken.map(\.given)))
                refused.keep()
            }
        }
        if refused.count > 0 { hasRefused = true }
        let accepted: Accepted
        do throws(SpoolError) { accepted = try result.get() } catch {
            refused.tell(report)
            throw AdderError(error: error, place: taken[0].given.place, hasAdded: hasAdded)
        }
        let replaced = Set(accepted.replaced.map(\.name.id))
        for ((submission, given), result) in zip(taken, accepted.results) where result.refusal == nil {
            report(.answered(submission, result, given.place, replaces: replaced.contains(submission.header.id)))
        }
        refused.tell(report)
        hasAdded = true
        report(.added(accepted))
    }
}
