import Policy

/// A kind of value: its name in messages, its shape in the schema, and its reader.
struct ConfigurationValue<Value>: Sendable {
    let name: String
    /// Whether `null` is one of the values.
    let readsNull: Bool
    /// The entries of its members, if it is an object.
    let members: @Sendable () -> [ConfigurationEntry]
    /// The values that may be written, for `drainq schema`.
    let shape: @Sendable () -> ConfigurationShape
    /// Reads a value. `nil` always comes with an error in the findings.
    let read: @Sendable (JSON5Value, inout ConfigurationFindings) -> Value?

    init(
        _ name: String, _ shape: @autoclosure @escaping @Sendable () -> ConfigurationShape,
        readsNull: Bool = false, members: @escaping @Sendable () -> [ConfigurationEntry] = { [] },
        read: @escaping @Sendable (JSON5Value, inout ConfigurationFindings) -> Value?
    ) {
        self.name = name
        self.readsNull = readsNull
        self.members = members
        self.shape = shape
        self.read = read
    }

    /// Makes a kind of value whose only error is `'…' is not a …`.
    init(
        _ name: String, _ shape: @autoclosure @escaping @Sendable () -> ConfigurationShape, article: String = "a",
        hint: String, parse: @escaping @Sendable (JSON5Value) -> Value?
    ) {
        self.init(name, shape()) { value, findings in
            if let parsed = parse(value) { return parsed }
            return findings.refuse(value, "is not \(article) \(name)", hint: hint)
        }
    }

    /// Returns a kind of value for which `holds` must be true as well.
    func checked(_ reason: String, hint: String? = nil, _ holds: @escaping @Sendable (Value) -> Bool) -> Self {
        ConfigurationValue(name, shape(), members: members) { value, findings in
            guard let parsed = read(value, &findings) else { return nil }
            if holds(parsed) { return parsed }
            return findings.refuse(value, "is \(reason)", hint: hint)
        }
    }
}

extension ConfigurationValue<Duration> {
    static let duration = ConfigurationValue(
        "duration", .text(), hint: "durations are written 500ms 90s 5m 2h 3d"
    ) { value in
        value.string.flatMap { Duration(quantity: $0) }
    }

    /// A duration that is not zero.
    static let positiveDuration = duration.checked("too short", hint: "it must be greater than zero") { $0 > .zero }
}

extension ConfigurationValue<[Duration]> {
    /// The delays of a fixed schedule.
    static let durations = ConfigurationValue<Duration>.positiveDuration.list(
        hint: "a schedule is written [\"5s\", \"30s\", \"2m\"]")
}

extension ConfigurationValue<Int> {
    /// A size in bytes.
    static let size = ConfigurationValue(
        "size", .oneOf([.text(), .integer(0...Int.max)]), hint: "sizes are written 512B 64KiB 10MB 1.5GB"
    ) { value in
        (value.string ?? value.integer.map(String.init)).flatMap { ByteCount(quantity: $0)?.bytes }
    }

    static let positiveSize = size.checked("too small", hint: "it must be greater than zero") { $0 > 0 }

    static func count(_ range: ClosedRange<Int>) -> ConfigurationValue {
        ConfigurationValue(
            "count", .integer(range),
            hint: "a count is a whole number from \(range.lowerBound) to \(range.upperBound)"
        ) {
            $0.integer.flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension ConfigurationValue<Double> {
    static func number(_ range: ClosedRange<Double>) -> ConfigurationValue {
        let hint = "a number from \(range.lowerBound) to \(range.upperBound)"
        return ConfigurationValue("number", .number(range), hint: hint) { value in
            value.number.flatMap { Double($0) }.flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension ConfigurationValue where Value: Sendable {
    /// One of the words for these values.
    static func word(among values: [Value], _ word: (Value) -> String) -> ConfigurationValue {
        let words = values.map(word)
        return ConfigurationValue("word", .words(words)) { value, findings in
            if let index = words.firstIndex(where: { $0 == value.string }) { return values[index] }
            findings.addUnlisted(value, words: words)
            return nil
        }
    }
}

extension ConfigurationValue where Value: RawRepresentable & Sendable, Value.RawValue == String {
    /// One of the words of an enumeration.
    static func word(among values: [Value]) -> ConfigurationValue { word(among: values, \.rawValue) }
}

extension ConfigurationValue where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String {
    /// One of the words of an enumeration.
    static var word: ConfigurationValue { word(among: Array(Value.allCases)) }
}

extension ConfigurationValue {
    /// The same kind of value, or `null`.
    var orNull: ConfigurationValue<Value?> {
        ConfigurationValue<Value?>(name, .oneOf([shape(), .null]), readsNull: true, members: members) {
            value, findings in
            value.isNull ? .some(nil) : read(value, &findings).map(Optional.some)
        }
    }

    /// Returns a list of at least this number of values of this kind.
    func list(of plural: String? = nil, atLeast least: Int = 1, hint: String) -> ConfigurationValue<[Value]> {
        let listName = "list of \(plural ?? name + "s")"
        return ConfigurationValue<[Value]>(listName, .list(shape(), atLeast: least)) { value, findings in
            guard case .array(let elements) = value.content, elements.count >= least else {
                let what = if case .array = value.content { "an empty list" } else { value.quoted }
                return findings.refuse("\(what) is not a \(listName)", at: value.position, hint: hint)
            }
            let values = elements.map { read($0, &findings) }
            return values.contains { $0 == nil } ? nil : values.compactMap(\.self)
        }
    }
}

extension ConfigurationValue<Bool> {
    static let truth = ConfigurationValue(
        "true or false", .boolean, article: "either", hint: "without quotes"
    ) { value in
        if case .boolean(let truth) = value.content { truth } else { nil }
    }
}

extension ConfigurationFindings {
    /// Adds the error that a value is none of the allowed words.
    mutating func addUnlisted(_ value: JSON5Value, words: [String]) {
        add(
            "\(value.quoted) is not one of \(words.joined(separator: ", "))", at: value.position,
            hint: didYouMean(value.string, among: words))
    }
}

extension ConfigurationValue<String> {
    static let method = ConfigurationValue(
        "method", .text(pattern: "^[A-Z-]{1,32}$"), hint: "methods are written in capitals: POST PUT PATCH DELETE"
    ) { value in
        guard let text = value.string, RequestMethod.isMethod(text), text != "CONNECT", text != "TRACE" else {
            return nil
        }
        return text
    }

    static let urlTemplate = ConfigurationValue("URL", .text()) { value, findings in
        guard let text = value.string else {
            return findings.refuse(value, "is not a URL", hint: "a URL is text in quotes")
        }
        guard let problem = URLTemplateSyntax.problem(in: text) else {
            findings.check(text, as: .url, at: value.position)
            return text
        }
        return findings.refuse(
            "\(quote(withoutUserInformation(text))) \(problem.reason)", at: value.position, hint: problem.hint)
    }
}
