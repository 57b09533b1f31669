package import Policy

/// What an operation must be to enter a queue, whichever way it comes: `add`, `send`, `import`, `retry` of a file in
/// quarantine, a file that another program dropped, or `SpoolWriter`.
///
/// The rule is the same before anything is promised (`send`) and when the file is written (`Admittance`). What else
/// decides, the room that is left and the ids that are there, is the queue's.
package final class AdmissionRule {
    /// How much later than now a time of creation may be. Clocks of two machines differ by that much.
    package static let skew: Duration = .seconds(60)
    /// Bytes of a key at most.
    package static let keyLimit = 1024

    package let configuration: Configuration
    private var forms: [TypeName: RequestForm] = [:]
    /// What stands in each sequence. Listed when the first operation comes whose order matters.
    private var clock: SequenceClock?

    package init(_ configuration: Configuration) {
        self.configuration = configuration
    }

    // MARK: - What it is

    /// Returns why an operation cannot enter; `nil` if it can. Nothing is changed.
    package func objection(to operation: Operation, in spool: SpoolDirectory) throws(SpoolError) -> AdmissionRefusal? {
        let headerLength = OperationFile.encode(operation.header, length: operation.body.count).count
        return try objection(to: operation, headerLength: headerLength, waits: true, spool)
    }

    /// `waits`: it may be sent. What is over is kept whatever its route would make of it today.
    func objection(
        to operation: Operation, headerLength: Int, waits: Bool, _ spool: SpoolDirectory
    ) throws(SpoolError) -> AdmissionRefusal? {
        let header = operation.header
        if let key = header.key, key.utf8.count > Self.keyLimit {
            return .defect("field 'key': longer than \(Self.keyLimit) bytes")
        }
        let limit = configuration.limits.operationBytes
        if operation.body.count > limit { return .limit(.operationBytes(limit)) }
        if headerLength > OperationFile.headerLimit { return .limit(.headerBytes(OperationFile.headerLimit)) }
        guard waits else { return nil }
        if let file = header.bodyFile, let refusal = spool.check(file, roots: configuration.bodyFileRoots) {
            if case .system(let error) = refusal { throw SpoolError(error, "read", QueuePath(file.path)) }
            return .defect("field 'bodyFile': \(refusal)")
        }
        return form(of: header.type).defect(of: operation).map { .defect("\($0)") }
    }

    private func form(of type: TypeName) -> RequestForm {
        if let form = forms[type] { return form }
        let form = RequestForm(configuration.route(of: type))
        forms[type] = form
        return form
    }

    // MARK: - Key and time of creation

    /// Gives an operation without a key that of its route, and its time of creation.
    ///
    /// A route's key that cannot be made of the payload is the operation's defect, which `objection` tells.
    package func complete(_ submission: inout Submission, in spool: SpoolDirectory) throws(SpoolError) {
        if submission.header.key == nil, !submission.isPortable {
            let form = form(of: submission.header.type)
            if let key = try? form.key(of: submission.operation), key.utf8.count <= Self.keyLimit {
                submission.setKey(key)
            }
        }
        try date(&submission, in: spool)
    }

    /// One that the submitter did not date, or dated later than now, is newer than all that stands in its sequence; else
    /// the newest value of a key could count as an old one, and one file could poison its key for ever.
    private func date(_ submission: inout Submission, in spool: SpoolDirectory) throws(SpoolError) {
        if submission.header.createdAt > submission.at + Self.skew { submission.undate() }
        let name = submission.entry.name
        guard QueueState.waiting.contains(submission.entry.state),
            configuration.route(of: name.type).isSequential
        else { return }
        if submission.isDated {
            // What comes after it in this input comes after it in the sequence.
            clock?.note(name)
            return
        }
        if clock == nil {
            var found = SequenceClock(configuration)
            try spool.forEachStandingName { name, _ in found.note(EntryName(name)) }
            clock = found
        }
        submission.date(clock!.creation(of: name))
        clock!.note(submission.entry.name)
    }
}

/// Why an operation cannot enter.
package enum AdmissionRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// It could never be sent.
    case defect(String)
    case limit(FullLimit)

    /// Whether it is the operation's own fault, and not the queue's limit.
    package var isDefect: Bool {
        if case .defect = self { true } else { false }
    }

    package var description: String {
        switch self {
        case .defect(let reason): reason
        case .limit(let limit): limit.description
        }
    }
}
