import Policy

/// The rules of drainq-config(5) and drainq(1) about an answer, sentence by sentence, without the program's code.
///
/// The oracle reads the configuration as written: a line of `classify` is a text and an outcome. A comment quotes the
/// sentence that a step follows.
struct RuleOracle {
    /// A rule of `answers`, with one condition at most on the body.
    struct WrittenRule {
        var statuses: ClosedRange<Int>?
        /// The value of `/kind` required by the rule.
        var kind: String?
        var outcome: Outcome
    }

    struct Accept {
        var contentType: String?
        /// Whether `/success` has to be true.
        var asksForSuccess: Bool
        var otherwise: Outcome
    }

    /// The facts of an answer, or of an element of a batch's answer.
    struct Facts {
        var status: Int
        var contentType: String?
        var isJSON = true
        var kind: String?
        var succeeds: Bool?
        var hasResult = false
        /// The text of `error.status`; `nil` without an `error`.
        var name: String?
    }

    var answers: [WrittenRule] = []
    var classify: [(pattern: String, outcome: Outcome)] = []
    var isCallable = false
    var accept: Accept?

    func outcome(of facts: Facts) -> Outcome {
        // ANSWERS: "A run tests the rules of a route in order, and the first rule that matches decides. Behind the rules
        // of answers come these short forms" …
        if let outcome = outcome(byAnswers: facts) { return outcome }
        let name = isCallable && facts.isJSON ? facts.name.flatMap { name in Self.names[name].map { (name, $0) } } : nil
        if let (name, usual) = name {
            // CALLABLE FUNCTIONS: "In any other answer the name in error.status decides, whatever the HTTP status is",
            // "The HTTP status decides only if classify lists the status and not the name."
            return line(named: name) ?? outcome(byClassify: facts.status) ?? usual
        }
        // … "classify, by status or error alone, the narrowest entry first";
        if let outcome = outcome(byClassify: facts.status) { return outcome }
        guard (200...299).contains(facts.status) else { return Self.usual(facts.status) }
        // CALLABLE FUNCTIONS: "An answer with 2xx and result without error is a delivery that accept may still refuse. If
        // an answer has neither form, drainq assumes another server: the HTTP status decides, and with 2xx the operation
        // is deferred."
        if isCallable, !facts.isJSON || !facts.hasResult || facts.name != nil { return .deferred }
        // ANSWERS: "an answer with 2xx that does not meet its conditions has the outcome otherwise".
        if let accept {
            if let wanted = accept.contentType, wanted != facts.contentType { return accept.otherwise }
            if accept.asksForSuccess, !facts.isJSON || facts.succeeds != true { return accept.otherwise }
        }
        return .delivered
    }

    /// Returns the outcome of an operation in a batch whose whole answer is a delivery.
    ///
    /// `status` is the element's own; `.some(nil)` if `results` has the key and the element has no status there. `fails`
    /// is whether the element has an error; `nil` if `results` lacks that key. `facts` has the status of the whole answer.
    func outcome(ofElement facts: Facts, status: Int??, fails: Bool?, isListed: Bool) -> Outcome {
        var facts = facts
        // BATCHES and ANSWERS: "the rules then see each element as the answer to one operation: its status, the header
        // of the whole answer, and the element as the body."
        if let status { facts.status = status ?? 0 }
        if let outcome = outcome(byAnswers: facts) { return outcome }
        // "error fails the operation if the element has a value there that is neither null nor false. If results has
        // both, the error counts if the status is 2xx or missing."
        let isClear = status.map { $0.map { (200...299).contains($0) } ?? true } ?? true
        if fails == true, isClear { return .failed }
        // "It also defers an operation whose status is missing."
        if let status, status == nil { return .deferred }
        // "An operation in the array fails, unless a status other than 2xx or a rule of answers says otherwise."
        if isListed, isClear { return .failed }
        // "drainq judges status like an HTTP status, by answers, classify and the defaults."
        if let status, let status { return outcome(byClassify: status) ?? Self.usual(status) }
        return .delivered
    }

    private func outcome(byAnswers facts: Facts) -> Outcome? {
        answers.first { rule in
            (rule.statuses.map { $0.contains(facts.status) } ?? true)
                && (rule.kind.map { facts.isJSON && $0 == facts.kind } ?? true)
        }?.outcome
    }

    private func line(named name: String) -> Outcome? { classify.last { $0.pattern == name }?.outcome }

    /// "A key is a status such as "404", a range such as "500-599" or "5xx"", "The narrowest match decides". The last
    /// of equally narrow lines decides.
    private func outcome(byClassify status: Int) -> Outcome? {
        var best: (width: Int, outcome: Outcome)?
        for line in classify {
            guard let range = Self.range(line.pattern), range.contains(status) else { continue }
            if best.map({ range.count <= $0.width }) ?? true { best = (range.count, line.outcome) }
        }
        return best?.outcome
    }

    private static func range(_ pattern: String) -> ClosedRange<Int>? {
        if pattern.hasSuffix("xx"), let class_ = Int(pattern.prefix(1)) { return class_ * 100...class_ * 100 + 99 }
        let ends = pattern.split(separator: "-").compactMap { Int($0) }
        return ends.isEmpty ? nil : ends[0]...ends[ends.count - 1]
    }

    /// OUTCOMES in drainq(1).
    private static func usual(_ status: Int) -> Outcome {
        switch status {
        case 200...299: .delivered
        case 100...199, 408, 409, 421, 423, 425, 429, 500, 502...504, 506...599: .deferred
        case 300...399, 401, 403, 407: .held
        default: .failed
        }
    }

    /// The table of CALLABLE FUNCTIONS.
    static let names: [String: Outcome] = [
        "CANCELLED": .deferred, "UNKNOWN": .deferred, "INVALID_ARGUMENT": .failed, "DEADLINE_EXCEEDED": .deferred,
        "NOT_FOUND": .failed, "ALREADY_EXISTS": .failed, "PERMISSION_DENIED": .held, "RESOURCE_EXHAUSTED": .deferred,
        "FAILED_PRECONDITION": .failed, "ABORTED": .deferred, "OUT_OF_RANGE": .failed, "UNIMPLEMENTED": .failed,
        "INTERNAL": .deferred, "UNAVAILABLE": .deferred, "DATA_LOSS": .deferred, "UNAUTHENTICATED": .held,
    ]
}
