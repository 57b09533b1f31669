/// An operation removed from the dispatch order, with the right to begin its attempt.
struct DequeuedOperation {
    let position: Int
    let candidate: Candidate
    let destination: RunDestination
}
