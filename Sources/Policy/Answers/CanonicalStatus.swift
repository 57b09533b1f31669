/// The code of a callable function's error, in `error.status`: the canonical codes of Google's APIs (google.rpc.Code).
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

    /// The rule for a 2xx answer without a result, or with an error: not the function's, perhaps a captive portal's.
    static let unrecognisedAnswerRule = AnswerRule(
        .callable(nil), .statuses([AnswerRule.success]),
        content: AnswerContent(json: [
            JSONCondition(pointer: JSONPointer(tokens: ["result"]), test: .exists(true)),
            JSONCondition(pointer: JSONPointer(tokens: ["error"]), test: .unset),
        ]), sense: .fails, .deferred)

    private var defaultOutcome: Outcome {
        switch self {
        // The credential is at fault, as with 401 and 403.
        case .unauthenticated, .permissionDenied: .held
        // The client has to change the request, or the state of the system, before trying again (google.rpc.Code).
        case .invalidArgument, .notFound, .failedPrecondition, .outOfRange, .unimplemented: .failed
        // Another attempt does not help. Our own earlier attempt may have made it exist; a route whose function answers
        // repetitions with this code writes `"ALREADY_EXISTS": "deliver"`.
        case .alreadyExists: .failed
        // A conflict with a concurrent change: the client has to start over. A 409 under our own key means the same.
        case .aborted: .deferred
        case .resourceExhausted, .unavailable, .deadlineExceeded: .deferred
        // A failure on the server's side that may last for any time.
        case .internal, .unknown, .dataLoss, .cancelled: .deferred
        }
    }
}
