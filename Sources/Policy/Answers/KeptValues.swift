/// The values that a delivery leaves for later operations of its key: the parts of the answer that the route keeps.
package struct KeptValues: Hashable, Sendable {
    package var values: [String: KeptValue] = [:]
    /// The parts that cannot be kept, and why. Operations that need them wait.
    package var unkept: [String: KeepError] = [:]

    package static let none = KeptValues()

    package var isEmpty: Bool { values.isEmpty && unkept.isEmpty }
}

/// The values that a delivery leaves for its chain. The record of the attempt has them until they are in `state/keys/`.
package struct ChainValues: Hashable, Sendable {
    package var chain: String
    package var kept: KeptValues

    package init(chain: String, kept: KeptValues) { (self.chain, self.kept) = (chain, kept) }
}

/// The answer to a delivery, up to `answerLimit`, as the copy in `delivered/` contains it.
package struct KeptAnswer: Hashable, Sendable {
    package var contentType: String?
    /// The body, without the secrets of its request.
    package var body: [UInt8]
    /// Whether the answer was cut, and the rest is not there.
    package var isCut: Bool

    package init(contentType: String? = nil, body: [UInt8], isCut: Bool = false) {
        self.contentType = contentType
        self.body = body
        self.isCut = isCut
    }
}

extension SealedReport {
    /// Returns the parts of the answer that a route keeps; none if there is no answer.
    ///
    /// A part with a secret of the request is not kept: the secret would stand in a file, and without the secret the
    /// value would be another.
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
            value = try KeptValue(text: field.utf8.trimmedText)
        case .pointer(let pointer):
            guard let document = answer.document else { throw answer.isCut ? .cut : .notJSON }
            guard let range = document.range(at: pointer) else { throw .missing }
            value = try KeptValue(valid: document.bytes[range])
        }
        // The value is complete: with a byte after it, its end is not taken for the beginning of a secret.
        let bytes = Array(value.json.utf8) + [UInt8(ascii: "\n")]
        if redacted(bytes) != bytes { throw .secret }
        return value
    }

    /// The answer without the secrets of its request; `nil` if there is none.
    var keptAnswer: KeptAnswer? {
        guard case .answer(let answer) = original.result else { return nil }
        let type = answer.header("Content-Type").map { String(decoding: redacted(Array($0.utf8)), as: UTF8.self) }
        return KeptAnswer(contentType: type, body: redacted(answer.body), isCut: answer.isCut)
    }
}
