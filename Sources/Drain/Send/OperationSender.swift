import Delivery
package import Policy
package import Spool

/// The treatment of operations by `send`: accepts each into a claim, as `add` accepts it into `new/`, and attempts it
/// at once by the code of a run (`SendRun`). Each operation goes by the configuration of its moment, like a pass.
package struct OperationSender: ~Copyable {
    package struct Options: Hashable, Sendable {
        /// The longest duration of each attempt, if shorter than the route's.
        package var timeout: Duration?
        /// The time after the start within which retries, by the route's schedule, may begin; `nil` for no retry.
        package var retryWithin: Duration?
        /// Whether the queue has the operation from the start. If not, it has no file, and therefore no order.
        package var queues: Bool

        package init(timeout: Duration? = nil, retryWithin: Duration? = nil, queues: Bool = true) {
            self.timeout = timeout
            self.retryWithin = retryWithin
            self.queues = queues
        }
    }

    package enum Result {
        /// An operation has the same id already. Nothing was sent.
        case exists(SpoolDirectory.Existing)
        /// The queue did not accept the operation. Nothing was sent.
        case refused(AdmissionRefusal)
        /// `answer` is the body; `nil` if it is cut. `isSettled` is false if an error keeps the operation's file in the
        /// queue: the file could not be removed, or a value of the answer could not be kept. The next run does it, if
        /// the file is marked.
        case delivered(AttemptEvent, answer: [UInt8]?, isSettled: Bool)
        /// The operation failed for good. It stays claimed until `haveTold`.
        case failed(AttemptEvent)
        /// The operation waits. It is in the queue, durably, if the options ask for that.
        case postponed(Postponement)
    }

    /// An operation neither delivered nor refused.
    package struct Postponement {
        package enum Cause: Hashable, Sendable {
            case deferred
            /// Its destination, or the operation itself, is held, or a dead letter holds the operation.
            case held
            /// This machine could not make the attempt, or not record it. No attempt is counted.
            case broken
        }

        package enum Reason: Hashable {
            case words(String)
            /// `.nothing`: a run settles older operations of its sequence first, and then may send this one.
            case wait(WaitReason, destination: String)
        }

        package var cause: Cause
        package var reason: Reason
        /// The record of the last attempt; `nil` if there was none.
        package var last: AttemptRecord?
        /// What was removed to make room; `nil` if the operation is not queued.
        package var displaced: Accepted?
    }

    private let spool: SpoolDirectory
    private var configuration: Configuration
    private let options: Options
    private var world: World
    private var sender: RequestSender
    private let deadline: ContinuousClock.Instant?
    private let report: (RunEvent) -> Void
    /// The run of a failed operation whose submitter has not been told.
    private var untold: SendRun?

    /// `report` is called with the events of each attempt.
    package init(
        spool: SpoolDirectory, configuration: Configuration, options: Options, world: World,
        report: @escaping (RunEvent) -> Void
    ) {
        self.spool = spool
        self.configuration = configuration
        self.options = options
        self.world = world
        self.report = report
        sender = Self.sender(spool, configuration, options, world)
        deadline = options.retryWithin.map { world.clock.instant() + $0 }
    }

    private static func sender(
        _ spool: SpoolDirectory, _ configuration: Configuration, _ options: Options, _ world: World
    ) -> RequestSender {
        RequestSender(spool, configuration, world, concurrency: 1) { $0.adjust(to: options) }
    }

    /// Takes over a changed configuration.
    private mutating func renew() {
        guard let renewal = world.renewal() else { return }
        (configuration, world) = renewal
        sender.close()
        sender = Self.sender(spool, configuration, options, world)
    }

    /// Sends an operation. Throws if the operation could not be accepted, and then has sent nothing.
    ///
    /// If the process dies meanwhile, the next run returns the operation to the queue, and sends it again under the
    /// same idempotency key. If the operation has failed by then, the next run moves it to `failed/`, and tells of it.
    package mutating func callAsFunction(_ submission: Submission) throws(SpoolError) -> Result {
        renew()
        let spoolRun = try spool.beginRun(now: nil)
        var control = AdmissionControl(configuration)
        let member: Member
        do throws(SpoolError) {
            switch try enter(submission, spoolRun, within: &control) {
            case .member(let entered): member = entered
            case .not(let result):
                try spoolRun.end()
                return result
            }
        } catch {
            // try?: the first error is thrown, and the next run recovers what this run leaves.
            try? spoolRun.end()
            throw error
        }
        var run = SendRun(
            of: member, spoolRun, spool, configuration, world, sender, timeout: options.timeout, deadline: deadline,
            report)
        var result = run()
        if case .postponed(var postponement) = result, member.claim != nil {
            var displaced = spool.makeRoom(for: member.name, within: &control, now: world.now())
            if case .wait(.older, _) = postponement.reason, !(displaced.evicted.isEmpty && displaced.superseded.isEmpty)
            {
                // The operation may have waited for one that made room.
                do throws(SpoolError) { postponement.reason = try run.reasonInOrder() } catch {
                    displaced.errors.append(error)
                }
            }
            postponement.displaced = displaced
            result = .postponed(postponement)
        }
        if run.isUntold { untold = consume run }
        return result
    }

    /// Removes a failed operation from the queue: its submitter has been told of the result. Returns false after an
    /// error, which it reports: the next recovery then moves the operation to `failed/`.
    package mutating func haveTold() -> Bool {
        guard let run = untold.take() else { return true }
        do throws(SpoolError) {
            try run.end()
            return true
        } catch {
            report(.inputOutputError(error))
            return false
        }
    }

    /// What the queue makes of a submission: an operation to attempt, or a result.
    private enum Entered {
        case member(Member)
        case not(Result)
    }

    /// Accepts an operation into a claim, or only checks an operation that is not to be queued.
    private func enter(
        _ submission: Submission, _ spoolRun: SpoolRun, within control: inout AdmissionControl
    ) throws(SpoolError) -> Entered {
        var submission = submission
        if options.queues {
            switch try spoolRun.accept(&submission, within: &control) {
            case .accepted(let claim):
                return .member(Member(operation: submission.operation, name: claim.name, claim: claim))
            case .exists(let existing): return .not(.exists(existing))
            case .refused(let refusal): return .not(.refused(refusal))
            }
        }
        if configuration.route(of: submission.header.type).isSequential {
            return .not(.refused(.defect("its route has an order, which needs the queue")))
        }
        if submission.hasOwnID, let existing = try spool.existing(submission.header.id) {
            return .not(.exists(existing))
        }
        try control.rule.complete(&submission, in: spool)
        if let refusal = try control.rule.objection(to: submission.operation, in: spool) {
            return .not(.refused(refusal))
        }
        return .member(Member(operation: submission.operation, name: submission.entry.name))
    }
}

extension OutgoingRequest {
    /// The most bytes read of an answer. `send` prints the answer, and so reads more than a run does.
    private static var longestAnswer: Int { 64 << 20 }

    fileprivate mutating func adjust(to options: OperationSender.Options) {
        answerLimit = max(answerLimit, Self.longestAnswer)
        guard let timeout = options.timeout else { return }
        timeouts.total = min(timeouts.total, timeout)
        timeouts.request = min(timeouts.request, timeout)
        timeouts.connect = min(timeouts.connect, timeout)
    }
}
