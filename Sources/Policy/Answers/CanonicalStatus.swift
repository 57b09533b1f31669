/// The error of a callable function in `error.status`: the canonical codes of Google's APIs (google.rpc.Code).
package enum CanonicalStatus: String, Hashable, Sendable, CaseIterable {
    case cancelled = "CANCELLED"
    case unknown = "UNKNOWN"
    case invalidArgument = "INVALID_ARGUMENT"
    case deadlineExceeded = "DEADLINE_EXCEEDED"
    case notFound = "NOT_FOUND"
    case alreadyExists = "ALREADY_EXISTS"
    case permissionDenied = "PERMISSION_DENIED"
    case resourceExhausted = "RESOURCE_EXHAUSTED"
    case failedPrecondition = "FAILED_PRECONDITION"
    case aborted = "ABORTED"
    case outOfRange = "OUT_OF_RANGE"
    case unimplemented = "UNIMPLEMENTED"
    case `internal` = "INTERNAL"
    case unavailable = "UNAVAILABLE"
    case dataLoss = "DATA_LOSS"
    case unauthenticated = "UNAUTHENTICATED"

    /// The place of the code in an answer.
    static let pointer = JSONPointer(tokens: ["error", "status"])

    /// The default rule for this code.
    var rule: AnswerRule {
        AnswerRule(.callable(self), .statuses(nil), content: AnswerContent(saying: self), defaultOutcome)
    }

    /// An answer with 2xx that has no result, or has an error, is not the function's: a captive portal's, perhaps.
    static let ruleOfOthers = AnswerRule(
        .callable(nil), .statuses([AnswerRule.success]),
        content: AnswerContent(json: [
            JSONCondition(pointer: JSONPointer(tokens: ["result"]), test: .exists(true)),
            JSONCondition(pointer: JSONPointer(tokens: ["error"]), test: .unset),
        ]), sense: .fails, .deferred)

    private var defaultOutcome: Outcome {
        switch self {
        // The credential is at fault, as with 401 and 403.
        case .unauthenticated, .permissionDenied: .held
        // The client is to change the request, or the state of the system, before it tries again (google.rpc.Code).
        case .invalidArgument, .notFound, .failedPrecondition, .outOfRange, .unimplemented: .failed
        // Will not become true by trying. It may be our own earlier attempt that made it exist; a route whose function
        // says so of such repetitions writes `"ALREADY_EXISTS": "deliver"`.
        case .alreadyExists: .failed
        // A conflict with something at the same time: the client is to start over, which is what a 409 under our own
        // key means too.
        case .aborted: .deferred
        case .resourceExhausted, .unavailable, .deadlineExceeded: .deferred
        // Somebody else's failure, of which nobody knows how long it lasts.
        case .internal, .unknown, .dataLoss, .cancelled: .deferred
        }
    }
}
