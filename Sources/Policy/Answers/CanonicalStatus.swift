/// What a callable function says went wrong, in `error.status`: the canonical codes of Google's APIs (google.rpc.Code).
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

    /// What it means unless a route's `classify` says otherwise.
    var defaultOutcome: Outcome {
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

/// The answer of a callable function, as far as it decides.
enum CallableAnswer: Hashable {
    /// It has a `result`.
    case result
    case error(CanonicalStatus)
    /// Neither, or an error without a status that is known: not from the function itself.
    case foreign

    init(_ answer: AttemptReport.Answer) {
        guard let document = try? JSONDocument(answer.body) else {
            self = .foreign
            return
        }
        if case .string(let name) = document.value(at: JSONPointer(tokens: ["error", "status"])),
            let status = CanonicalStatus(rawValue: name)
        {
            self = .error(status)
        } else if [nil, .null].contains(document.value(at: JSONPointer(tokens: ["error"]))),
            document.range(at: JSONPointer(tokens: ["result"])) != nil
        {
            self = .result
        } else {
            self = .foreign
        }
    }
}
