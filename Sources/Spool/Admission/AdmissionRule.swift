package import Policy

/// The conditions that an operation must meet to enter a queue from any source: `add`, `send`, `import`, `retry` of a
/// file in quarantine, a foreign file, or `SpoolWriter`.
///
/// The rule is the same before anything is promised (`send`) and when the file is written (`AdmissionControl`). The
/// rule does not cover the remaining room and the ids in use, which the queue checks.
package final class AdmissionRule {
    /// How far in the future a time of creation may be: clocks of two machines may differ by that much.
    package static let skew: Duration = .seconds(60)
    /// The most bytes of a key.
    package static let keyLimit = 1024

    package let configuration: Configuration
    private let destinations: DestinationTable
    private var forms: [TypeName: RequestForm] = [:]
    /// The times of creation in the batch, in the queue, in failed/ and in quarantine/, except times from the past.
    private var clock: SequenceClock
    /// The time from which on `clock` has the operations listed in the queue; `nil` before the listing.
    private var listed: Timestamp?
    /// The latest time given to an operation by another process since the listing; `nil` without additions.
    private var others: Timestamp?
    /// The latest time of creation in any sequence, as far as this process knows.
    private(set) var latest = Timestamp(microseconds: 0)

    package init(_ configuration: Configuration) {
        self.configuration = configuration
        destinations = DestinationTable(configuration)
        clock = SequenceClock(configuration)
    }

    /// Returns the key of an operation that is one request with the others of its key; `nil` if it is one by itself.
    func keyOfRequest(of name: EntryName) -> SequenceKey? {
        let order = configuration.route(of: name.type).order
        return order.coalesces ? order.group(of: name, to: destinations.destination(of: name)) : nil
    }

    /// Forgets the listing.
    func forget() { listed = nil }

    /// Begins a batch. `others` is the latest time of creation in the queue if another process has added operations
    /// since the last batch, else `nil`.
    func beginBatch(at now: Timestamp, after others: Timestamp?) {
        clock.forget(before: now)
        guard let others else { return }
        latest = max(latest, others)
        self.others = others
    }

    // MARK: - What it is

    /// Returns why an operation cannot enter; `nil` if it can. Changes nothing.
    package func objection(to operation: Operation, in spool: SpoolDirectory) throws(SpoolError) -> AdmissionRefusal? {
        let headerLength = OperationFile.encode(operation.header, length: operation.body.count).count
        return try objection(to: operation, headerLength: headerLength, waits: true, spool)
    }

    /// Returns why an operation cannot enter. `waits` says whether the operation may be sent; a finished operation may
    /// enter even if its route could not send it today.
    func objection(
        to operation: Operation, headerLength: Int, waits: Bool, _ spool: SpoolDirectory
    ) throws(SpoolError) -> AdmissionRefusal? {
        let header = operation.header
        if !header.id.canBeNamed {
            return .defect("field 'id': '-' is no id, because on a command line it means standard input")
        }
        if let method = header.method, !RequestMethod.isMethod(method) {
            return .defect("field 'method': \(RequestMethod.rule)")
        }
        if let key = header.key, key.utf8.count > Self.keyLimit {
            return .defect("field 'key': longer than \(Self.keyLimit) bytes")
        }
        let limit = configuration.limits.operationBytes
        if operation.body.count > limit { return .limit(.operationBytes(limit)) }
        if headerLength > OperationFile.headerLimit { return .limit(.headerBytes(OperationFile.headerLimit)) }
        guard waits else { return nil }
        if let file = header.bodyFile,
            case .failure(let refusal) = spool.current(file, roots: configuration.bodyFileRoots)
        {
            if let error = refusal.fault { throw SpoolError(error, "read", QueuePath(file.path)) }
            return .defect("field 'bodyFile': \(refusal)")
        }
        if header.url == nil, let reason = configuration.refusal(ofType: header.type) { return .defect(reason) }
        return form(of: header.type).defect(of: operation).map { .defect("\($0)") }
    }

    /// Whether an operation has expired before it enters: it enters if there is room, and a run fails it unsent.
    func hasExpired(_ submission: Submission) -> Bool {
        let route = configuration.route(of: submission.header.type)
        return Settlement.decide(onExpiryOf: submission.operation, route: route, now: submission.at) != nil
    }

    /// Returns why no operation with the options of a command can enter, whatever its body; `nil` if one may, or if the
    /// bodies choose the route.
    package func objection(toOptions reading: Reading) -> AdmissionRefusal? {
        guard let type = reading.fixedType else { return nil }
        var header = OperationHeader(
            id: OperationID("0")!, type: type, createdAt: Timestamp(microseconds: 0), contentType: reading.contentType)
        (header.url, header.method, header.headers) = (reading.url, reading.method, reading.headers)
        let limit = OperationFile.headerLimit
        if OperationFile.encode(header, length: 0).count > limit { return .limit(.headerBytes(limit)) }
        if header.url == nil, !reading.hasOwnFields, let reason = configuration.refusal(ofType: type) {
            return .defect(reason)
        }
        return form(of: type).defect(ofFields: header).map { .defect("\($0)") }
    }

    private func form(of type: TypeName) -> RequestForm {
        if let form = forms[type] { return form }
        let form = RequestForm(configuration.route(of: type), sources: configuration.secrets)
        forms[type] = form
        return form
    }

    // MARK: - Key and time of creation

    /// Gives an operation without a key the key of its route, and sets its time of creation.
    ///
    /// If the route's key cannot be made of the payload, the key stays absent, and `objection` reports the defect.
    package func complete(_ submission: inout Submission, in spool: SpoolDirectory) throws(SpoolError) {
        setKey(of: &submission)
        try date(&submission, in: spool)
    }

    func setKey(of submission: inout Submission) {
        if submission.header.key != nil || submission.isPortable { return }
        // try?: `objection` says why there is no key.
        if let key = try? form(of: submission.header.type).key(of: submission.operation) { submission.setKey(key) }
    }

    /// Dates an operation that the submitter did not date, or dated later than now + `skew` or before 1970. If the
    /// newest operation of its sequence is not from the past, the dated operation comes after the newest. Otherwise the
    /// newest value of a key could count as old, and a file from the future could supersede every later file.
    ///
    /// The time of a foreign file is the time of its writing. So the file stands before every operation added later,
    /// whenever a run admits the file.
    private func date(_ submission: inout Submission, in spool: SpoolDirectory) throws(SpoolError) {
        let created = submission.header.createdAt
        if created > submission.at + Self.skew || !Timestamp.inNames.contains(created) {
            submission.useSubmissionTime()
        }
        let name = submission.entry.name
        guard QueueState.waiting.contains(submission.entry.state),
            configuration.route(of: name.type).isSequential
        else { return }
        if !submission.isDated {
            if isOutdated(at: submission.at) { try list(spool, from: submission.at) }
            submission.setCreation(clock.creation(of: name, at: submission.at))
        }
        // A later operation must come after this operation in the sequence.
        clock.note(submission.entry.name)
        latest = max(latest, submission.header.createdAt)
    }

    /// Whether the queue may have an operation unknown to `clock` that is not from the past.
    private func isOutdated(at now: Timestamp) -> Bool {
        guard let listed, listed <= now else { return true }
        return others.map { $0 >= now } ?? false
    }

    /// Lists the queue, and what can come back into the queue. The latest time may then be earlier than before, since
    /// operations leave; not while files have no name, because a run may be about to name a file with the former latest
    /// time.
    private func list(_ spool: SpoolDirectory, from now: Timestamp) throws(SpoolError) {
        var newest = Timestamp(microseconds: 0)
        func note(_ name: ListedName) {
            newest = max(newest, name.createdAt)
            if name.createdAt >= now { clock.note(EntryName(name)) }
        }
        for state in [QueueState.failed, .quarantine] { try spool.forEachName(in: state) { name, _ in note(name) } }
        let unnamed = try spool.forEachStandingName { name, _ in note(name) }
        latest = unnamed == (0, 0) ? newest : max(newest, latest)
        (listed, others) = (now, nil)
    }
}

/// The reason why an operation cannot enter.
package enum AdmissionRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The operation could never be sent.
    case defect(String)
    case limit(FullLimit)

    /// Whether the operation itself is at fault, not a limit of the queue.
    package var isDefect: Bool {
        switch self {
        case .defect: true
        case .limit(let limit): !limit.isOfQueue
        }
    }

    package var description: String {
        switch self {
        case .defect(let reason): reason
        case .limit(let limit): limit.description
        }
    }
}
