/// What the receiver answers to which request.
package struct Script: Sendable {
    enum Source: Sendable {
        case rules([Rule])
        case decision(@Sendable (ReceivedRequest, Int) -> Answer)
    }

    let source: Source

    /// The same to everything.
    package static func always(_ answer: Answer) -> Script { sequence([answer]) }

    /// The nth to the nth request, the last to all that follow.
    package static func sequence(_ answers: [Answer]) -> Script { rules(answers.map { Rule($0) }) }

    /// The first rule that the request meets and that is not used up; else the last that it meets; else 404.
    /// No rules at all answer 204.
    package static func rules(_ rules: [Rule]) -> Script {
        Script(source: .rules(rules.isEmpty ? [Rule(Answer(204))] : rules))
    }

    /// What the closure says, given the request and how many came before it. Called on the receiver's thread.
    package static func deciding(_ decision: @escaping @Sendable (ReceivedRequest, Int) -> Answer) -> Script {
        Script(source: .decision(decision))
    }

    /// An answer for the requests that meet a condition, so many times.
    package struct Rule: Hashable, Sendable {
        package var condition: Condition
        package var answer: Answer
        package var times: Int

        package init(_ answer: Answer, when condition: Condition = Condition(), times: Int = 1) {
            self.condition = condition
            self.answer = answer
            self.times = times
        }
    }

    /// What a request has to be; what is `nil` asks for nothing.
    package struct Condition: Hashable, Sendable {
        package var method: String?
        /// The path without its query; with a `*` at the end, what it begins with.
        package var path: String?
        package var headers: [HeaderLine]

        package init(method: String? = nil, path: String? = nil, headers: [HeaderLine] = []) {
            self.method = method
            self.path = path
            self.headers = headers
        }

        var asksForNothing: Bool { method == nil && path == nil && headers.isEmpty }

        func isMet(by request: ReceivedRequest) -> Bool {
            if let method, method != request.method { return false }
            if let path {
                let fits = path.hasSuffix("*") ? request.path.hasPrefix(path.dropLast()) : request.path == path
                if !fits { return false }
            }
            return headers.allSatisfy { request.header($0.name) == $0.value }
        }
    }
}
