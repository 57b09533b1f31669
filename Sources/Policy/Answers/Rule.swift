/// The rule that decided about an operation, as shown in reports: `status 503: default 500-599 defers`.
package indirect enum Rule: Hashable, Sendable, CustomStringConvertible {
    case answer(RuleMatch)
    /// A rule about the element for one operation of a batch.
    case member(Rule)
    /// A batch's answer does not show which of its results is about which operation.
    case misaligned(Batch.Results, members: Int, isCut: Bool = false)
    /// A batch's answer lists results, and this operation is not in the list.
    case unlisted(Batch.Results)
    /// This machine has no network, which explains the error.
    case noNetwork(NetworkError, NetworkAbsence)
    case attemptsUsedUp(allowed: Int, last: Rule)
    /// The age of the schedule is over. `last` is the rule that deferred the operation before; `nil` if it waited.
    case ageUsedUp(Duration, last: Rule?)
    case expired(at: Timestamp)
    /// No request could be made of the operation; nothing was sent.
    case request(RequestError)
    case interrupted(times: Int)
    /// `answers` answers in a row had this status, in this run and before: the destination is to blame.
    case storm(status: Int, answers: Int)
    /// A holding answer of a destination that accepts other operations: the answer is about the operation alone.
    case contradicted(Rule, Outcome)
    /// The server refused this operation. Whether the operation or the credentials are to blame is not known yet.
    case parked(Rule)
    /// The server refused an operation that is sent at once, and not queued.
    case refusedAlone(Rule)
    /// No earlier answer has left the value that the request needs.
    case notKept(String)
    /// The server may have received an attempt that began at `since`, or was interrupted after it, and no longer
    /// remembers its idempotency key.
    case ambiguous(since: Timestamp, wasInterrupted: Bool, keyTTL: Duration)
    /// A rule by which another process has decided, as it is recorded.
    case recorded(String, Code?)

    /// The kind of the rule, as stored in an attempt line; `nil` for a rule about answers.
    package enum Code: String, Hashable, Sendable, CaseIterable {
        case batch, network, attempts, age, expired, request, noURL, interrupted, storm
        case contradicted, parked, alone, kept, ambiguous
    }

    package var code: Code? {
        switch self {
        case .answer: nil
        case .member(let rule): rule.code
        case .misaligned, .unlisted: .batch
        case .noNetwork: .network
        case .attemptsUsedUp: .attempts
        case .ageUsedUp: .age
        case .expired: .expired
        case .request(.noURL): .noURL
        case .request: .request
        case .interrupted: .interrupted
        case .storm: .storm
        case .contradicted: .contradicted
        case .parked: .parked
        case .refusedAlone: .alone
        case .notKept: .kept
        case .ambiguous: .ambiguous
        case .recorded(_, let code): code
        }
    }

    /// The deciding rule about answers; `nil` if another rule decided.
    package var match: RuleMatch? {
        switch self {
        case .answer(let match): match
        case .member(let rule): rule.match
        default: nil
        }
    }

    /// Returns the reason that a hold stores: the rule, followed by the excerpt if there is one.
    package func reason(excerpt: String?) -> String {
        excerpt.flatMap { $0 == description ? nil : "\(self): \($0)" } ?? description
    }

    package var description: String {
        switch self {
        case .answer(let match): "\(match)"
        case .member(let rule): "batch results: \(rule)"
        case .misaligned(let results, let members, let isCut):
            "batch results: " + (isCut ? "\(AnswerContent.Objection.cut)" : results.defect(of: members)) + ": defers"
        case .unlisted(let results):
            "batch results: not in the list at '\(escapedForDisplay("\(results.pointer)"))': "
                + (results.listsFailures ? "delivers" : "defers")
        case .noNetwork(let error, let absence): "error \(error.rawValue): \(absence): defers"
        case .attemptsUsedUp(let allowed, let last): "attempts used up (\(allowed) of \(allowed)); last \(last)"
        case .ageUsedUp(let age, let last): "age used up (\(age.quantity))" + (last.map { "; last \($0)" } ?? "")
        case .expired(let moment): "expired at \(moment.rfc3339)"
        case .request(let error): "\(error)"
        case .interrupted(let times): "interrupted \(times) times without an outcome"
        case .storm(let status, let answers): "storm: \(answers) answers in a row were \(status): holds"
        case .contradicted(let rule, let outcome): "\(rule), but others were accepted: \(outcome.verb)s"
        case .parked(let rule): "\(rule); parked until another operation is delivered or refused"
        case .refusedAlone(let rule): "\(rule), but no other operation was refused: fails"
        case .notKept(let name): "no answer has left '{kept.\(name)}' for its key"
        case .ambiguous(let since, let wasInterrupted, let keyTTL):
            "ambiguous: \(wasInterrupted ? "an attempt interrupted after" : "the attempt at") \(since.rfc3339) "
                + "may have been received, and the server forgets keys after \(keyTTL.quantity); "
                + "drainq retry sends it again"
        case .recorded(let words, _): words
        }
    }
}
