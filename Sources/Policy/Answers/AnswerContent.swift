/// The conditions of a rule on an answer besides its status. All must hold; without conditions every answer matches.
///
/// A new condition belongs in `isEmpty`, `objection(to:)`, `isImplied(by:)`, `words` and perhaps `looksIntoBody`.
package struct AnswerContent: Hashable, Sendable {
    /// A condition on the header fields of one name.
    package struct Header: Hashable, Sendable {
        package enum Test: Hashable, Sendable {
            /// One of the fields has exactly this value.
            case equals(String)
            case exists(Bool)
        }

        /// The name, compared without case (RFC 9110 §5.1).
        package var name: String
        package var test: Test

        package init(name: String, test: Test) {
            self.name = name
            self.test = test
        }
    }

    /// The media type without its parameters, compared without case; `application/*` matches every subtype.
    package var contentType: String?
    package var headers: [Header]
    /// Conditions on the body as JSON. A body that is not JSON meets none of them.
    package var json: [JSONCondition]
    /// A text that the body must contain.
    package var text: String?
    /// Whether an earlier request of the operation must possibly have arrived (`Operation.mayHaveArrived`).
    package var isAfterUnknown: Bool

    package init(
        contentType: String? = nil, headers: [Header] = [], json: [JSONCondition] = [], text: String? = nil,
        isAfterUnknown: Bool = false
    ) {
        self.contentType = contentType
        self.headers = headers
        self.json = json
        self.text = text
        self.isAfterUnknown = isAfterUnknown
    }

    /// Creates the condition that a callable function returns this code.
    init(saying word: CanonicalStatus) {
        self.init(json: [JSONCondition(pointer: CanonicalStatus.pointer, test: .equals(.string(word.rawValue)))])
    }

    package var isEmpty: Bool { contentType == nil && headers.isEmpty && !looksIntoBody && !isAfterUnknown }

    package var looksIntoBody: Bool { !json.isEmpty || text != nil }

    /// The first condition that an answer does not meet.
    package enum Objection: Hashable, Sendable {
        /// The answer's media type, safe to show; `nil` if it has none.
        case contentType(found: RedactedText?, wanted: String)
        case header(Header)
        /// `found` is the value, safe to show, at a place where the condition wants none; `nil` for other conditions.
        case condition(JSONCondition, found: RedactedText?)
        case notJSON
        case text
        /// No earlier request of the operation can have arrived.
        case firstRequest
        /// The body is cut, so the condition cannot be checked.
        case cut

        /// Whether another server may have answered, such as a captive portal.
        var mayBeFromAnotherServer: Bool {
            switch self {
            case .contentType, .notJSON: true
            case .header, .condition, .text, .firstRequest, .cut: false
            }
        }
    }

    func objection(to answer: inout JudgedAnswer) -> Objection? {
        if isAfterUnknown, !answer.mayHaveArrived { return .firstRequest }
        if let wanted = contentType {
            let found = answer.head.header("Content-Type")
            guard found?.isMediaType(wanted) == true else {
                return .contentType(
                    found: found.flatMap { answer.report.excerpt(of: $0.utf8, limit: 60) },
                    wanted: escapedForDisplay(wanted))
            }
        }
        if let header = headers.first(where: { !$0.holds(in: answer.head) }) { return .header(header) }
        if let text, !answer.contains(text) { return answer.isCut ? .cut : .text }
        if json.isEmpty { return nil }
        guard let document = answer.document else { return answer.isCut ? .cut : .notJSON }
        return json.first { !$0.holds(in: document) }.map { condition in
            let found = condition.test == .unset ? document.value(at: condition.pointer) : nil
            let text = found.flatMap { answer.report.excerpt(of: $0.description.utf8, limit: 80) }
            return .condition(condition, found: text)
        }
    }

    /// Returns whether every answer that meets `other` also meets this content, as far as their texts show it.
    func isImplied(by other: AnswerContent) -> Bool {
        let ofHeaders = headers.allSatisfy { mine in
            other.headers.contains { theirs in
                guard mine.name.lowercased() == theirs.name.lowercased() else { return false }
                if case .equals = theirs.test, mine.test == .exists(true) { return true }
                return mine.test == theirs.test
            }
        }
        let ofText = text.map { mine in other.text.map { $0.contains(mine) } ?? false } ?? true
        return ofHeaders && ofText && (other.isAfterUnknown || !isAfterUnknown) && json.allSatisfy(other.json.contains)
            && (contentType == nil || contentType == other.contentType)
    }

    /// The conditions in words.
    package var words: [String] {
        (contentType.map { ["its content type is \(escapedForDisplay($0))"] } ?? []) + headers.map(\.description)
            + (text.map { ["the body has '\(escapedForDisplay($0))' in it"] } ?? []) + json.map(\.description)
            + (isAfterUnknown ? ["an earlier request may have arrived"] : [])
    }
}

extension AnswerContent.Header: CustomStringConvertible {
    package func holds(in answer: AttemptReport.Answer) -> Bool {
        let values = answer.headers.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        return switch test {
        case .equals(let value): values.contains { $0.utf8.trimmedText.utf8.elementsEqual(value.utf8) }
        case .exists(let wanted): values.isEmpty != wanted
        }
    }

    package var description: String {
        switch test {
        case .equals(let value): "header \(name) is '\(escapedForDisplay(value))'"
        case .exists(true): "header \(name) is there"
        case .exists(false): "header \(name) is not there"
        }
    }
}

extension AnswerContent.Objection: CustomStringConvertible {
    package var description: String {
        switch self {
        case .contentType(let found?, let wanted): "content type is '\(found)', not '\(wanted)'"
        case .contentType(nil, let wanted): "no content type, not '\(wanted)'"
        case .header(let header): "not: \(header)"
        case .condition(let condition, _): condition.opposite
        case .notJSON: "the answer is not JSON"
        case .text: "the body does not have the text in it"
        case .firstRequest: "no earlier request can have arrived"
        case .cut: "the answer is longer than answerLimit, or cannot be read whole"
        }
    }
}

/// An answer as rules see it: a whole answer, or an element about a single operation of a batch.
struct JudgedAnswer {
    /// The whole answer, for its header fields, and for its body if there is no element.
    let head: AttemptReport.Answer
    /// The status; 0 for an element with a missing status.
    let status: Int
    let report: SealedReport
    /// Whether an earlier request of the operation may have arrived.
    let mayHaveArrived: Bool
    /// Whether the body is cut, or longer than the route's `answerLimit`: `send` reads more of a body than a run does.
    let isCut: Bool
    /// The element about a single operation; `nil` for the whole answer.
    let element: JSONDocument?

    /// The body as JSON; `nil` if it is not JSON, or cut: the rest may make it no JSON. Parsed once, on first use.
    lazy var document: JSONDocument? = element ?? (isCut ? nil : try? JSONDocument(answer: head.body))

    /// The code that a callable function returned.
    lazy var word: CanonicalStatus? = {
        guard case .string(let name) = document?.value(at: CanonicalStatus.pointer) else { return nil }
        return CanonicalStatus(rawValue: name)
    }()

    /// Returns whether the body contains the text; false if the body is cut.
    func contains(_ text: String) -> Bool {
        if isCut { return false }
        let body = element.map { $0.bytes[$0.range] } ?? head.body[...]
        return body.contains(Array(text.utf8))
    }
}

extension JudgedAnswer {
    /// Makes a whole answer.
    init(_ answer: AttemptReport.Answer, in report: SealedReport, limit: Int, mayHaveArrived: Bool = false) {
        self.init(
            head: answer, status: answer.status, report: report, mayHaveArrived: mayHaveArrived,
            isCut: answer.isCut || answer.body.count > limit, element: nil)
    }
}

extension ArraySlice<UInt8> {
    fileprivate func contains(_ text: [UInt8]) -> Bool {
        guard let first = text.first else { return true }
        var rest = self
        while let start = rest.firstIndex(of: first) {
            rest = rest[start...]
            if rest.starts(with: text) { return true }
            rest = rest.dropFirst()
        }
        return false
    }
}

extension String {
    /// Whether this Content-Type is the wanted one, whatever its parameters; `application/*` matches any subtype.
    fileprivate func isMediaType(_ wanted: String) -> Bool {
        let type = String(upTo(";")).utf8.trimmedText.lowercased()
        let wanted = wanted.utf8.trimmedText.lowercased()
        if wanted == "*/*" { return true }
        return wanted.ends(with: "/*") ? type.begins(with: wanted.upTo("*")) : type == wanted
    }
}
