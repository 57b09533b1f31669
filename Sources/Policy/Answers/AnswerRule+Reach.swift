extension AnswerRule {
    /// Returns an earlier rule because of which this rule never decides; `nil` if this rule can decide. `rules` are the
    /// earlier rules. If several of them together match all answers of this rule, returns the last of the several.
    package func ruleBefore(in rules: [AnswerRule]) -> AnswerRule? {
        if let one = rules.first(where: { $0.content.isImplied(by: content) && $0.covers(allOf: subject) }) {
            return one
        }
        let open = rules.filter(\.content.isEmpty)
        switch subject {
        case .statuses(nil): return nil
        case .statuses(let ranges?):
            let statuses = ranges.flatMap(\.self)
            let isTaken = statuses.allSatisfy { status in open.contains { $0.covers(status: status) } }
            return isTaken ? open.last { statuses.contains(where: $0.covers(status:)) } : nil
        case .errors(let errors):
            let isTaken = errors.allSatisfy { error in open.contains { $0.covers(error) } }
            return isTaken ? open.last { errors.contains(where: $0.covers) } : nil
        }
    }

    private func covers(allOf other: Subject) -> Bool {
        switch (subject, other) {
        case (.statuses(nil), .statuses): true
        case (.statuses, .statuses(nil)): false
        case (.statuses, .statuses(let ranges?)): ranges.allSatisfy { $0.allSatisfy(covers(status:)) }
        case (.errors, .errors(let errors)): errors.allSatisfy(covers)
        case (.statuses, .errors), (.errors, .statuses): false
        }
    }
}
