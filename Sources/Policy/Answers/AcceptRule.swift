/// What a 2xx answer must look like to be a delivery: a captive portal's page and `{"success": false}` are none.
package struct AcceptRule: Hashable, Sendable {
    /// The media type without its parameters, compared without case; `application/*` is any of a kind.
    package var contentType: String?
    /// All of them must hold; an answer that is not JSON meets none.
    package var json: [JSONCondition]
    /// What an answer is that does not agree: `deferred` unless the configuration says otherwise.
    package var otherwise: Outcome

    package init(contentType: String? = nil, json: [JSONCondition] = [], otherwise: Outcome = .deferred) {
        self.contentType = contentType
        self.json = json
        self.otherwise = otherwise
    }
}

extension AcceptRule {
    /// Why an answer is no delivery although its status says so.
    package enum Objection: Hashable, Sendable, CustomStringConvertible {
        /// What it is instead, shown safely; `nil` where the answer has no type.
        case contentType(found: RedactedText?, wanted: String)
        case condition(JSONCondition)
        case notJSON
        /// It went on behind the route's `answerLimit`, and what was read of it is no JSON.
        case cut
        /// Neither `result` nor a known `error.status` is in it.
        case notCallable

        package var description: String {
            switch self {
            case .contentType(let found?, let wanted): "accept: content type is '\(found)', not '\(wanted)'"
            case .contentType(nil, let wanted): "accept: no content type, not '\(wanted)'"
            case .condition(let condition): "accept: \(condition.opposite)"
            case .notJSON: "accept: the answer is not JSON"
            case .cut: "accept: the answer is longer than answerLimit, and cut it is not JSON"
            case .notCallable: "callable: neither 'result' nor a known 'error.status' in the answer"
            }
        }

        /// Whether somebody else than the server may have answered, such as a captive portal.
        var isFromStranger: Bool {
            switch self {
            case .contentType, .notJSON, .notCallable: true
            case .condition, .cut: false
            }
        }
    }

    /// What of a 2xx answer does not agree with the rule; `nil` if all does. `limit` is how much was read of it at most.
    func objection(to answer: AttemptReport.Answer, in report: SealedReport, limit: Int) -> Objection? {
        if let wanted = contentType {
            let found = answer.header("Content-Type")
            guard found?.isMediaType(wanted) == true else {
                return .contentType(
                    found: found.flatMap { report.excerpt(of: $0.utf8, limit: 60) }, wanted: escapedForDisplay(wanted))
            }
        }
        if json.isEmpty { return nil }
        guard let document = try? JSONDocument(answer.body) else { return answer.isCut(at: limit) ? .cut : .notJSON }
        return json.first { !$0.holds(in: document) }.map(Objection.condition)
    }
}

extension AttemptReport.Answer {
    /// Whether there may have been more of the body than was read.
    func isCut(at limit: Int) -> Bool { body.count >= limit && !body.isEmpty }
}

extension String {
    /// Whether the value of a Content-Type is that type, whatever its parameters; `application/*` is any of a kind.
    fileprivate func isMediaType(_ wanted: String) -> Bool {
        let type = String(prefix { $0 != ";" }).trimmingBlanks.lowercased()
        let wanted = wanted.trimmingBlanks.lowercased()
        if wanted == "*/*" { return true }
        return wanted.hasSuffix("/*") ? type.hasPrefix(wanted.dropLast()) : type == wanted
    }
}
