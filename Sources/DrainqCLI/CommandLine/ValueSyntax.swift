import Drain
import Policy
import Spool

/// The syntax of an option's value: its kind, and how text becomes a value and back.
struct ValueSyntax<Value>: Sendable {
    let kind: ValueKind
    /// Reads a value. Throws the reason if the bytes are none.
    let read: @Sendable (RawText) throws(ValueDefect) -> Value
    /// Returns the text that `read` reads as the value. Documents show defaults by it.
    let text: @Sendable (Value) -> String

    init(
        _ placeholder: String, _ candidates: Completion.Candidates = .none,
        text: @escaping @Sendable (Value) -> String = { "\($0)" },
        read: @escaping @Sendable (String) throws(ValueDefect) -> Value
    ) {
        let kind = ValueKind(placeholder: placeholder, candidates: candidates)
        self.kind = kind
        self.text = text
        // What is sent, stored or compared is text. Only a path may be other bytes.
        self.read = { given throws(ValueDefect) in
            guard let text = kind.takesAnyBytes ? given.path : given.text else { throw ValueDefect("it is not UTF-8") }
            return try read(text)
        }
    }

    /// Makes a syntax that reads text with `value`, and throws `defect` if that returns `nil`.
    init(
        _ placeholder: String, _ candidates: Completion.Candidates = .none,
        text: @escaping @Sendable (Value) -> String = { "\($0)" }, else defect: ValueDefect,
        _ value: @escaping @Sendable (String) -> Value?
    ) {
        self.init(placeholder, candidates, text: text) { text throws(ValueDefect) in
            guard let value = value(text) else { throw defect }
            return value
        }
    }
}

/// The reason why a text is not a value of its kind.
struct ValueDefect: Error {
    var reason: String
    var hint: String?

    init(_ reason: String, hint: String? = nil) {
        self.reason = reason
        self.hint = hint
    }
}

// MARK: - Texts

extension ValueSyntax<String> {
    /// Any text that is not empty and has no NUL.
    static func text(_ placeholder: String) -> Self { nonempty(placeholder) }
    static func file(_ placeholder: String) -> Self { nonempty(placeholder, .files) }
    static func directory(_ placeholder: String) -> Self { nonempty(placeholder, .directories) }
    static var destination: Self { nonempty("DESTINATION", .destinations) }
    static var example: Self { nonempty("NAME", .examples) }
    /// A method as in the configuration (RFC 9110 §9.1: methods are case-sensitive).
    static var method: Self {
        Self("METHOD", else: ValueDefect("methods are written in capitals", hint: "POST PUT PATCH DELETE")) {
            text in
            RequestMethod.isMethod(text) ? text : nil
        }
    }

    /// The URL of a request.
    static var url: Self {
        Self(
            "URL",
            else: ValueDefect("not a URL that can be requested", hint: "URLs are absolute: https://example.com/x")
        ) { text in Origin(url: text) == nil ? nil : text }
    }

    /// The value of a Content-Type field.
    static var mediaType: Self {
        Self("MEDIATYPE") { text throws(ValueDefect) in
            try checkText(text)
            let defect = HeaderField(name: "Content-Type", value: text).defectInRequest
            if let defect { throw ValueDefect("it \(defect)") }
            return text
        }
    }

    private static func nonempty(_ placeholder: String, _ candidates: Completion.Candidates = .none) -> Self {
        Self(placeholder, candidates) { text throws(ValueDefect) in
            try checkText(text)
            return text
        }
    }
}

/// Throws if a text is empty, or has a NUL: no system call takes a NUL.
private func checkText(_ text: String) throws(ValueDefect) {
    if text.isEmpty { throw ValueDefect("it is empty") }
    if text.utf8.contains(0) { throw ValueDefect("it contains a NUL character") }
}

extension ValueSyntax<Template> {
    /// A type or a key, or a template that makes one from each payload.
    static func template(_ use: TemplateUse, _ placeholder: String) -> Self {
        Self(placeholder, use == .type ? .types : .none) { text throws(ValueDefect) in
            let template: Template
            do throws(RouteProblem) {
                template = try Template(text, for: use)
            } catch {
                throw ValueDefect(error.reason, hint: error.hint)
            }
            if template.isFixed {
                if use == .type {
                    _ = try ValueSyntax<TypeName>.typeName.read(RawText(text))
                } else {
                    try checkText(text)
                    if text.utf8.count > AdmissionRule.keyLimit {
                        throw ValueDefect("it is longer than \(AdmissionRule.keyLimit) bytes")
                    }
                }
            }
            return template
        }
    }
}

// MARK: - Words

extension ValueSyntax where Value: RawRepresentable<String> & CaseIterable & SendableMetatype {
    /// One of the words of an enumeration.
    static var choice: Self {
        let words = Value.allCases.map(\.rawValue)
        return Self(words.joined(separator: "|"), .words(words), text: \.rawValue) { text throws(ValueDefect) in
            guard let value = Value(rawValue: text) else {
                throw ValueDefect(
                    "not one of " + words.joined(separator: ", "),
                    hint: nearest(to: text, in: words).map { "did you mean \($0)?" })
            }
            return value
        }
    }
}

extension ValueSyntax {
    static var typeName: ValueSyntax<TypeName> {
        .init(
            "TYPE", .types,
            else: ValueDefect(
                "not a type", hint: "types are 1 to 64 of A-Z a-z 0-9 _ - and . but do not begin with a dot")
        ) { TypeName($0) }
    }

    static var operationID: ValueSyntax<OperationID> {
        .init(
            "ID",
            else: ValueDefect("not an id", hint: "ids are 1 to 64 of A-Z a-z 0-9 _ -; - alone means standard input")
        ) { text in OperationID(text).flatMap { $0.canBeNamed ? $0 : nil } }
    }

    static var pointer: ValueSyntax<JSONPointer> {
        .init(
            "POINTER", else: ValueDefect("not a JSON Pointer", hint: "a pointer is, for example, /result/items")
        ) { JSONPointer($0) }
    }

    static var header: ValueSyntax<HeaderField> {
        .init(
            "HEADER",
            else: ValueDefect("not a header", hint: "headers are 'Name: value'")
        ) { HeaderField(argument: $0) }
    }

    static var answer: ValueSyntax<AnswerPattern> {
        .init("STATUS|ERROR", .words(["4xx", "5xx"] + Completion.answers)) { text throws(ValueDefect) in
            guard let pattern = AnswerPattern(text) else {
                throw ValueDefect(
                    "neither a status nor an error",
                    hint: nearest(to: text, in: AnswerPattern.errorNames).map { "did you mean \($0)?" }
                        ?? "statuses are 503, 500-599 or 5xx; 'drainq explain' names the errors")
            }
            return pattern
        }
    }
}

// MARK: - Quantities

extension ValueSyntax {
    static func count(_ range: ClosedRange<Int>) -> ValueSyntax<Int> {
        .init("N") { text throws(ValueDefect) in
            guard let number = Int(text) else { throw ValueDefect("not a number") }
            if number < range.lowerBound { throw ValueDefect("less than \(range.lowerBound)") }
            if number > range.upperBound { throw ValueDefect("more than \(range.upperBound)") }
            return number
        }
    }

    static func concurrency(_ range: ClosedRange<Int>) -> ValueSyntax<Concurrency> {
        .init("N|auto", .words(["auto"]), text: \.word) { text throws(ValueDefect) in
            if text == "auto" { return .auto }
            do throws(ValueDefect) {
                return .atMost(try ValueSyntax<Int>.count(range).read(RawText(text)))
            } catch {
                throw ValueDefect(
                    error.reason, hint: "a number from \(range.lowerBound) to \(range.upperBound), or auto")
            }
        }
    }

    static var duration: ValueSyntax<Duration> {
        .init(
            "D", text: \.quantity,
            else: ValueDefect("not a duration", hint: "durations have units: 500ms, 90s, 5m, 2h, 3d, 1h30m")
        ) { Duration(quantity: $0) }
    }

    /// A duration that is at least a tenth of a second.
    static var interval: ValueSyntax<Duration> {
        .init("D", text: \.quantity) { text throws(ValueDefect) in
            let value = try duration.read(RawText(text))
            if value < .milliseconds(100) { throw ValueDefect("less than 100ms") }
            return value
        }
    }

    static var rate: ValueSyntax<Rate> {
        .init(
            "N/s", text: \.quantity,
            else: ValueDefect("not a rate", hint: "rates are a number in a time: 20/s, 90/m, 500/h")
        ) { Rate(quantity: $0) }
    }

    static func time(_ direction: PointInTime.Direction) -> ValueSyntax<PointInTime> {
        .init(
            "TIME",
            else: direction == .past
                ? ValueDefect("not a time", hint: "times are 2026-11-21T09:15:00Z, 2026-11-21, now, -2h, +5m")
                : ValueDefect("not a time to come", hint: "times are 2026-11-21T09:15:00Z, 2026-11-21, now, 2h, +5m")
        ) { PointInTime(quantity: $0, direction: direction) }
    }
}

extension Concurrency {
    fileprivate var word: String {
        switch self {
        case .auto: "auto"
        case .atMost(let count): "\(count)"
        }
    }
}
