/// A receiver's position in its script. Used only from the receiver's thread.
struct ScriptReading {
    private let source: Script.Source
    private var used: [Int]
    /// The first rule that may not be used up: every rule before it is.
    private var firstLive = 0
    private var cached: (rule: Int, toHead: Bool, closing: Bool, bytes: AnswerBytes)?

    /// Whether the script's answers depend on requests.
    let needsRequest: Bool

    init(_ script: Script) {
        source = script.source
        switch source {
        case .rules(let rules):
            used = Array(repeating: 0, count: rules.count)
            needsRequest = !rules.allSatisfy(\.condition.asksForNothing)
        case .decision:
            used = []
            needsRequest = true
        }
    }

    mutating func bytes(for request: ReceivedRequest, toHead: Bool, closing: Bool) -> AnswerBytes {
        switch source {
        case .decision(let decision):
            return AnswerBytes(decision(request, request.number - 1), toHead: toHead, closing: closing)
        case .rules(let rules):
            guard let rule = choose(among: rules, for: request) else {
                return AnswerBytes(Answer(404), toHead: toHead, closing: closing)
            }
            if let cached, cached.rule == rule, cached.toHead == toHead, cached.closing == closing {
                return cached.bytes
            }
            let bytes = AnswerBytes(rules[rule].answer, toHead: toHead, closing: closing)
            cached = (rule, toHead, closing, bytes)
            return bytes
        }
    }

    private mutating func choose(among rules: [Script.Rule], for request: ReceivedRequest) -> Int? {
        while firstLive < rules.count, used[firstLive] >= rules[firstLive].times { firstLive += 1 }
        for index in firstLive..<rules.count
        where used[index] < rules[index].times && rules[index].condition.isMet(by: request) {
            used[index] += 1
            return index
        }
        return rules.lastIndex { $0.condition.isMet(by: request) }
    }
}
