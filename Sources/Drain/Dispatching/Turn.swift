/// An operation removed from the dispatch order, with the right to begin its attempt.
struct Turn {
    let position: Int
    let candidate: Candidate
}
