/// The receiver's answers: which request gets which.
package struct Script: Sendable {
    /// Gives one answer, and returns what becomes of the connection.
    package typealias Play = @Sendable (Connection, ReceivedRequest) -> Connection.Ending

    /// Returns the answer to a request. Requests ask in order of their numbers.
    private let answer: @Sendable (ReceivedRequest, inout Uses) -> Play

    /// The number of answers that each rule has given.
    typealias Uses = [Int: Int]

    func play(for request: ReceivedRequest, _ uses: inout Uses) -> Play { answer(request, &uses) }

    /// Returns a script with one answer to all requests.
    package static func always(_ answer: Answer) -> Script { sequence([answer]) }

    /// Returns a script that gives the nth answer to the nth request, and the last answer to all that follow.
    package static func sequence(_ answers: [Answer]) -> Script { rules(answers.map { Rule($0) }) }

    /// Returns a script of rules. A request gets the first rule that it meets and that is not used up, else the last
    /// rule that it meets, else 404. Without rules it gets 204.
    package static func rules(_ rules: [Rule]) -> Script {
        let rules = rules.isEmpty ? [Rule(Answer(204))] : rules
        return Script { request, uses in
            let met = rules.indices.filter { rules[$0].condition.isMet(by: request) }
            guard let rule = met.first(where: { uses[$0, default: 0] < rules[$0].times }) ?? met.last else {
                return Answer(404).play
            }
            uses[rule, default: 0] += 1
            return rules[rule].answer.play
        }
    }

    /// Returns a script that calls a closure with the request and the number of those before it, one after the other.
    package static func deciding(_ decision: @escaping @Sendable (ReceivedRequest, Int) -> Answer) -> Script {
        Script { request, _ in decision(request, request.number - 1).play }
    }

    /// As `deciding`, for answers that are not an `Answer`.
    package static func playing(_ decision: @escaping @Sendable (ReceivedRequest) -> Play) -> Script {
        Script { request, _ in decision(request) }
    }

    /// An answer for requests that meet a condition. After `times` answers the rule is used up.
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

    /// The properties that a request must have; `nil` allows any.
    package struct Condition: Hashable, Sendable {
        package var method: String?
        /// The path without its query. With a `*` at the end, its beginning.
        package var path: String?
        package var headers: [HeaderLine]

        package init(method: String? = nil, path: String? = nil, headers: [HeaderLine] = []) {
            self.method = method
            self.path = path
            self.headers = headers
        }

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
