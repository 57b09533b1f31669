import Policy

extension ConfigurationValue<String> {
    static let mediaType = ConfigurationValue(
        "media type", .text(), hint: "a media type is written application/json, without parameters"
    ) { value in
        guard let parts = value.string?.pieces(at: "/"), parts.count == 2,
            parts.allSatisfy({ HeaderField(name: String($0), value: "").defect != .name })
        else { return nil }
        return value.string
    }
}

extension ConfigurationValue<Outcome> {
    static let outcome = word(among: Outcome.allCases, \.verb)
    /// The outcomes of an answer that is no delivery.
    static let refusal = word(among: Outcome.allCases.filter { $0 != .delivered }, \.verb)
}

extension ConfigurationValue<AnswerRule.Subject> {
    /// A status, a range, a list of these, or any. `any` is `nil`, because an answer may have a status outside 100–599.
    static let statuses = ConfigurationValue(
        "status", .oneOf([.integer(100...599), .text(), .list(.oneOf([.integer(100...599), .text()]), atLeast: 1)])
    ) { value, findings in
        if value.string == "any" { return .statuses(nil) }
        let ranges = values(of: value).map { range($0, &findings) }
        return ranges.contains(nil) ? nil : .statuses(ranges.compactMap(\.self))
    }

    private static func range(_ value: JSON5Value, _ findings: inout ConfigurationFindings) -> ClosedRange<Int>? {
        if case .statuses(let range) = (value.string ?? value.integer.map(String.init)).flatMap({ AnswerPattern($0) }) {
            return range
        }
        return findings.refuse(
            value, "is not a status",
            hint: didYouMean(value.string, among: ["any"])
                ?? "a status is 409, a range \"500-599\", several [408, \"5xx\"], all of them \"any\"")
    }

    /// The name of a network error, a list of these, or any: every network error except `cancelled`. Errors are a
    /// closed set, so `any` is the list of them.
    static let errors = ConfigurationValue("error", .oneOf([.text(), .list(.text(), atLeast: 1)])) { value, findings in
        let all = NetworkError.allCases.filter { AnswerPattern($0.rawValue) != nil }
        if value.string == "any" { return .errors(all) }
        let names = values(of: value).map { element -> NetworkError? in
            if let error = all.first(where: { $0.rawValue == element.string }) { return error }
            findings.addUnlisted(element, words: all.map(\.rawValue) + ["any"])
            return nil
        }
        return names.contains(nil) ? nil : .errors(all.filter(names.contains))
    }

    /// Returns the elements of a list, or the value itself. An empty list stays itself and is reported as wrong.
    private static func values(of value: JSON5Value) -> [JSON5Value] {
        if case .array(let elements) = value.content, !elements.isEmpty { elements } else { [value] }
    }
}

extension ConfigurationValue<[AnswerContent.Header]> {
    /// Header fields by name, each with its exact value, or with whether it must be present.
    static let answerHeaders = ConfigurationValue("header fields", .map(.oneOf([.text(), .boolean]))) {
        value, findings in
        let hint = "fields are written { \"x-ratelimit-remaining\": \"0\", \"retry-after\": true }"
        return findings.members(of: value, hint: hint).map { members in
            members.compactMap { member in
                findings.within(member.name) { findings in
                    if HeaderField(name: member.name, value: "").defect == .name {
                        findings.addBadHeaderName(member.name, at: member.position)
                    }
                    switch member.value.content {
                    case .string(let text): return AnswerContent.Header(name: member.name, test: .equals(text))
                    case .boolean(let truth): return AnswerContent.Header(name: member.name, test: .exists(truth))
                    default: return findings.refuse(member.value, "is neither text nor true or false", hint: hint)
                    }
                }
            }
        }
    }
}

extension ConfigurationValue<AnswerPlace> {
    /// The name of a header field, or a JSON Pointer.
    static let answerPlace = ConfigurationValue(
        "header field or JSON Pointer", .text(pattern: ".")
    ) { value, findings in
        if let text = value.string, !text.isEmpty {
            // Compares bytes, as `JSONPointer` does.
            if text.utf8.first == UInt8(ascii: "/") {
                return ConfigurationValue<JSONPointer>.pointer.read(value, &findings).map { .pointer($0) }
            }
            if HeaderField(name: text, value: "").defect != .name { return .header(text) }
        }
        return findings.refuse(
            value, "is neither the name of a header field nor a JSON Pointer",
            hint: "write \"x-ratelimit-reset\" or \"/retry_after\"")
    }
}

extension ConfigurationValue<AnswerLimit> {
    /// The place of a time, or those of a cost, of what is left, and of the rate at which that is restored.
    static let answerLimit = ConfigurationValue(
        "place or three places", .oneOf([.text(pattern: "."), .list(.text(pattern: "."), atLeast: 3)])
    ) { value, findings in
        let place = ConfigurationValue<AnswerPlace>.answerPlace
        guard case .array(let elements) = value.content else { return place.read(value, &findings).map { .time($0) } }
        let places = elements.compactMap { place.read($0, &findings) }
        if places.count < elements.count { return nil }
        if places.count == 3 { return .restored(cost: places[0], left: places[1], rate: places[2]) }
        return findings.refuse(
            "a list of \(places.count) is not a cost, what is left, and a rate", at: value.position,
            hint: "write [\"/cost\", \"/available\", \"/restoreRate\"], or one place of a time")
    }
}

extension ConfigurationFindings {
    mutating func addBadHeaderName(_ name: String, at position: SourcePosition) {
        add(
            "\(quote(name)) is not the name of a header field", at: position,
            hint: "letters, digits and -, without a colon")
    }
}
