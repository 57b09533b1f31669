import Policy

/// A condition as written: it may have no test or several.
struct ConditionDraft: Hashable, Sendable {
    var pointer = JSONPointer(tokens: [])
    var tests: [JSONCondition.Test] = []
}

extension ConfigurationValue<JSONCondition> {
    static let condition = object("condition", of: ConfigurationKeys.condition, from: ConditionDraft()) {
        draft, position, findings in
        guard draft.tests.count == 1 else {
            return findings.refuse(
                draft.tests.isEmpty ? "this condition has no test" : "this condition has several tests",
                at: position, hint: "give it exactly one of exists, equals, contains and notEmpty")
        }
        return JSONCondition(pointer: draft.pointer, test: draft.tests[0])
    }
}

extension ConfigurationValue<[JSONCondition]> {
    /// One condition, or a list of them, which may be empty.
    static let conditions = ConfigurationValue(
        "condition or list",
        .oneOf([
            ConfigurationValue<JSONCondition>.condition.shape(),
            .list(ConfigurationValue<JSONCondition>.condition.shape(), atLeast: 0),
        ])
    ) { value, findings in
        let one = ConfigurationValue<JSONCondition>.condition
        guard case .array(let elements) = value.content else { return one.read(value, &findings).map { [$0] } }
        let conditions = elements.map { one.read($0, &findings) }
        return conditions.contains(nil) ? nil : conditions.compactMap(\.self)
    }
}

extension ConfigurationValue<JSONPointer> {
    static let pointer = ConfigurationValue(
        "JSON Pointer", .text(pattern: "^(/|$)"),
        hint: "a pointer is \"\", or begins with a slash: \"/result/success\" (RFC 6901)"
    ) { value in
        value.string.flatMap { JSONPointer($0) }
    }
}

extension ConfigurationValue<Bool> {
    /// The value of `after`.
    static let earlierRequest = word(among: [true]) { _ in "unknown" }

    /// The only value of a key whose presence is its meaning.
    static let onlyTrue = ConfigurationValue(
        "true", .boolean, article: "the word", hint: "write true, or leave the key out"
    ) {
        $0.content == .boolean(true) ? true : nil
    }
}

extension ConfigurationValue<JSONValue> {
    /// Any JSON value, `null` too.
    static let json = ConfigurationValue("JSON", .any, readsNull: true) { value, findings in
        jsonValue(of: value, &findings)
    }

    private static func jsonValue(of value: JSON5Value, _ findings: inout ConfigurationFindings) -> JSONValue? {
        switch value.content {
        case .null: return .null
        case .boolean(let truth): return .bool(truth)
        case .string(let text): return .string(text)
        case .number(let text):
            if let number = jsonNumber(text) { return .number(number) }
            return findings.refuse(value, "is not a JSON number", hint: "JSON has decimal numbers only")
        case .array(let elements):
            let values = elements.map { jsonValue(of: $0, &findings) }
            return values.contains(nil) ? nil : .array(values.compactMap(\.self))
        case .object:
            guard let members = findings.members(of: value) else { return nil }
            let values = members.map { member in (member.name, jsonValue(of: member.value, &findings)) }
            if values.contains(where: { $0.1 == nil }) { return nil }
            return .object(Dictionary(uniqueKeysWithValues: values.map { (JSONName($0), $1!) }))
        }
    }

    /// Returns a number as JSON writes it; `nil` if JSON cannot express it.
    private static func jsonNumber(_ text: String) -> String? {
        var digits = Substring(text.utf8.drop { "+-".utf8.contains($0) })
        let sign = text.begins(with: "-") ? "-" : ""
        if digits.begins(with: "0x") || digits.begins(with: "0X") {
            return UInt64(digits.dropFirst(2), radix: 16).map { sign + String($0) }
        }
        guard digits.first == "." || digits.first?.isASCII == true && digits.first?.isNumber == true else { return nil }
        if digits.first == "." { digits = "0" + digits }
        if let dot = digits.utf8.firstIndex(of: UInt8(ascii: ".")), digits[dot...].dropFirst().first?.isNumber != true {
            digits.remove(at: dot)
        }
        return sign + digits
    }
}
