import Policy

/// What the frames of one direction of a connection have said, so that the next ones need not say it again. Both ends
/// note each frame.
package struct FrameHistory: Sendable {
    /// The base of the last attempt.
    private(set) var base: RequestBase?
    /// The header fields of the last attempt, or of the last answer.
    private(set) var fields: [HeaderField] = []

    package init() {}

    package mutating func note(_ frame: Frame) {
        switch frame {
        case .attempt(_, let request): (base, fields) = (request.base, request.headers)
        case .report(_, let report): if case .answer(let answer) = report.result { fields = answer.headers }
        case .setup, .cancel, .ready, .opened: break
        }
    }
}
