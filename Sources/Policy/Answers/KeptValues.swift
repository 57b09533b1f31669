/// The values that a delivery leaves for later operations of its key: the parts of its answer that its route keeps.
package struct KeptValues: Hashable, Sendable {
    package var values: [String: KeptValue] = [:]
    /// The parts that cannot be kept, and why. Operations that need them wait.
    package var unkept: [String: KeepError] = [:]

    package static let none = KeptValues()

    package init(values: [String: KeptValue] = [:], unkept: [String: KeepError] = [:]) {
        self.values = values
        self.unkept = unkept
    }

    package var isEmpty: Bool { values.isEmpty && unkept.isEmpty }
}

/// The whole answer to a delivery, as its copy in `delivered/` has it.
package struct KeptAnswer: Hashable, Sendable {
    package var contentType: String?
    /// Without the secrets of its request.
    package var body: [UInt8]

    package init(contentType: String? = nil, body: [UInt8]) {
        self.contentType = contentType
        self.body = body
    }
}

extension SealedReport {
    /// Returns the parts of the answer that a route keeps; none where there is no answer.
    ///
    /// A part that has a secret of the request in it is not kept: it would stand in a file, and without the secret it would
    /// be another value.
    func kept(of route: Route) -> KeptValues {
        guard !route.keep.isEmpty, case .answer(let head) = original.result else { return .none }
        var answer = JudgedAnswer(head, in: self, limit: route.answerLimit)
        var kept = KeptValues()
        for (name, place) in route.keep {
            do throws(KeepError) {
                kept.values[name] = try value(at: place, of: &answer)
            } catch {
                kept.unkept[name] = error
            }
        }
        return kept
    }

    private func value(at place: AnswerPlace, of answer: inout JudgedAnswer) throws(KeepError) -> KeptValue {
        let value: KeptValue
        switch place {
        case .header(let name):
            guard let field = answer.head.header(name) else { throw .missing }
            value = try KeptValue(text: field.trimmingBlanks)
        case .pointer(let pointer):
            guard let document = answer.document else { throw answer.isCut ? .cut : .notJSON }
            guard let range = document.range(at: pointer) else { throw .missing }
            value = try KeptValue(JSONValue(valid: document.bytes[range]), as: document.bytes[range])
        }
        // The value is whole: with a byte behind it, its end is not the beginning of a secret that was cut.
        let bytes = Array(value.json.utf8) + [UInt8(ascii: "\n")]
        if redacted(bytes) != bytes { throw .secret }
        return value
    }

    /// Returns the answer, without the secrets of its request; `nil` where there is none.
    var keptAnswer: KeptAnswer? {
        guard case .answer(let answer) = original.result else { return nil }
        let type = answer.header("Content-Type").map { String(decoding: redacted(Array($0.utf8)), as: UTF8.self) }
        return KeptAnswer(contentType: type, body: redacted(answer.body))
    }
}
