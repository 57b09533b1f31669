/// A rule about answers: which answers it matches, and their outcome.
///
/// Every key of a route that judges answers becomes such rules, and so do the defaults. The first match decides.
package struct AnswerRule: Hashable, Sendable {
    /// The key that the rule comes from.
    package enum Origin: Hashable, Sendable {
        /// The element of `answers` at this index, from 0.
        case answers(Int)
        case classify(AnswerPattern)
        case accept
        /// `protocol: "callable"`: the default for this code; `nil` is for an answer with neither a result nor a code.
        case callable(CanonicalStatus?)
        case results(Results)
        case standard

        /// Whether two lines of `classify` have answers in common, and neither line is the narrower.
        package func isRival(of other: Origin) -> Bool {
            guard case .classify(.statuses(let mine)) = self, case .classify(.statuses(let theirs)) = other else {
                return false
            }
            return mine != theirs && mine.count == theirs.count && mine.overlaps(theirs)
        }

        /// Whether the user's rule names the answers that it matches. `accept` names the others: a refused answer may
        /// come from another server.
        package var namesAnswer: Bool {
            switch self {
            case .answers, .classify: true
            case .accept, .callable, .results, .standard: false
            }
        }
    }

    /// The rules that `batch.results` becomes.
    package enum Results: Hashable, Sendable {
        /// An element with an error fails.
        case error
        /// An element with a missing status is deferred.
        case noStatus(JSONPointer)
        /// An element without an error is delivered.
        case noError
        /// An element of a list of failures fails.
        case listed
    }

    /// The end of an attempt that a rule matches.
    package enum Subject: Hashable, Sendable {
        /// An answer with one of these statuses; `nil` is any answer.
        case statuses([ClosedRange<Int>]?)
        /// One of these errors, in the order of `NetworkError`.
        case errors([NetworkError])
    }

    /// Whether the rule matches the answers that meet its content, or the answers that do not.
    package enum Sense: Hashable, Sendable {
        case meets
        case fails
    }

    package var origin: Origin
    package var line: SourceLine
    package var subject: Subject
    package var content: AnswerContent
    package var sense: Sense
    package var outcome: Outcome
    /// The place of the time until which the destination gets no request, for a rule that defers or delivers.
    package var until: AnswerLimit?

    package init(
        _ origin: Origin, line: SourceLine = SourceLine(), _ subject: Subject, content: AnswerContent = AnswerContent(),
        sense: Sense = .meets, _ outcome: Outcome, until: AnswerLimit? = nil
    ) {
        self.origin = origin
        self.line = line
        self.subject = subject
        self.content = content
        self.sense = sense
        self.outcome = outcome
        self.until = until
    }

    /// Creates the rule for a line of `classify`.
    package static func classify(
        _ pattern: AnswerPattern, outcome: Outcome, line: SourceLine = SourceLine()
    ) -> AnswerRule {
        switch pattern {
        case .statuses(let range): AnswerRule(.classify(pattern), line: line, .statuses([range]), outcome)
        case .error(let error): AnswerRule(.classify(pattern), line: line, .errors([error]), outcome)
        case .canonical(let word):
            AnswerRule(.classify(pattern), line: line, .statuses(nil), content: AnswerContent(saying: word), outcome)
        }
    }

    /// Creates the rule for `accept`: a 2xx answer that does not meet this content gets the outcome `otherwise`.
    package static func accept(
        contentType: String? = nil, json: [JSONCondition] = [], otherwise: Outcome = .deferred
    ) -> AnswerRule {
        AnswerRule(
            .accept, .statuses([success]), content: AnswerContent(contentType: contentType, json: json), sense: .fails,
            otherwise)
    }

    static let success = 200...299
}

/// The line of a rule in the configuration file; 0 if no file contains the rule.
///
/// All values are equal, so that two rules are equal wherever they are written.
package struct SourceLine: Hashable, Sendable {
    package var number: Int

    package init(_ number: Int = 0) {
        self.number = number
    }

    package static func == (left: SourceLine, right: SourceLine) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
}

// MARK: - Matching

extension AnswerRule {
    enum Answer: Hashable {
        case matches(AnswerContent.Objection?)
        case differs
        /// The body is cut, and the rule depends on the rest.
        case cut
    }

    package func covers(status: Int) -> Bool {
        guard case .statuses(let ranges) = subject else { return false }
        return ranges.map { $0.contains { $0.contains(status) } } ?? true
    }

    func covers(_ error: NetworkError) -> Bool {
        if case .errors(let errors) = subject { errors.contains(error) } else { false }
    }

    /// Returns whether the rule's content matches an answer whose status the rule covers.
    func asks(_ answer: inout JudgedAnswer) -> Answer {
        if content.isEmpty { return .matches(nil) }
        let objection = content.objection(to: &answer)
        switch sense {
        case .meets: return objection == nil ? .matches(nil) : objection == .cut ? .cut : .differs
        case .fails: return objection.map { .matches($0) } ?? .differs
        }
    }
}

// MARK: - Words

extension AnswerRule: CustomStringConvertible {
    /// The rule in words: `answers[2]: status 409, /code equals "23505": deliver`. Without its line.
    package var description: String {
        switch origin {
        case .answers(let index): "answers[\(index)]: \(condition): \(meaning)"
        case .classify(let pattern): "classify \"\(pattern)\": \(outcome.verb)"
        case .accept: "accept: \(requirement): otherwise \(outcome.verb)"
        case .callable(let word?): "callable \(word.rawValue): default \(outcome.verb)s"
        case .callable(nil): "callable: \(requirement): otherwise \(outcome.verb)"
        case .results: "batch results: \(outcome.verb)s"
        case .standard: "default \(subjectWords) \(outcome.verb)s"
        }
    }

    /// The condition that an answer must meet to escape a rule of `accept` or `callable`: `/ok equals true`.
    package var requirement: String {
        origin == .callable(nil) ? "it has a result and no error" : content.words.joined(separator: " and ")
    }

    /// The condition that an answer must meet: `status 403, header x-ratelimit-remaining is '0'`.
    package var condition: String { ([subjectWords] + content.words).joined(separator: ", ") }

    /// `defer until x-ratelimit-reset`
    private var meaning: String { outcome.verb + (until.map { " until \($0)" } ?? "") }

    private var subjectWords: String {
        switch subject {
        case .statuses(nil): "any status"
        case .statuses(let ranges?): "status " + ranges.map(\.shortDescription).joined(separator: " or ")
        case .errors(let errors): "error " + errors.map(\.rawValue).joined(separator: " or ")
        }
    }
}
