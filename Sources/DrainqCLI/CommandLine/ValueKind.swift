package import Policy

/// What an option's value is: its placeholder in documents, its grammar for the parser, its candidates for completions.
package enum ValueKind: Hashable, Sendable {
    case flag
    case text(String)
    /// A JSON Pointer (RFC 6901).
    case pointer
    case file(String)
    case directory(String)
    case count(ClosedRange<Int>)
    case duration
    /// A duration that is at least a tenth of a second.
    case interval
    case time(PointInTime.Direction)
    case choice([String])
    case typeName
    case destination
    case operationID
    case header
    case rate
    /// What an attempt met, see `AnswerPattern`.
    case answer

    /// The word that stands for the value; `nil` where there is none.
    package var placeholder: String? {
        switch self {
        case .flag: nil
        case .text(let word), .file(let word), .directory(let word): word
        case .pointer: "POINTER"
        case .count: "N"
        case .duration, .interval: "D"
        case .time: "TIME"
        case .choice(let words): words.joined(separator: "|")
        case .typeName: "TYPE"
        case .destination: "DESTINATION"
        case .operationID: "ID"
        case .header: "HEADER"
        case .rate: "N/s"
        case .answer: "STATUS|ERROR"
        }
    }

    /// Why `value` is not of this kind, `nil` when it is.
    func defect(of value: String) -> Defect? {
        switch self {
        case .flag:
            nil
        case .text, .file, .directory, .destination:
            value.isEmpty ? Defect("it is empty") : value.utf8.contains(0) ? Defect("it has a NUL in it") : nil
        case .pointer:
            JSONPointer(value) == nil ? Defect("not a JSON Pointer", hint: "pointers are such as /result/items") : nil
        case .count(let range):
            Self.defect(ofCount: value, in: range)
        case .duration:
            Duration(quantity: value) == nil
                ? Defect("not a duration", hint: "durations have units: 500ms, 90s, 5m, 2h, 3d, 1h30m") : nil
        case .interval:
            ValueKind.duration.defect(of: value)
                ?? (Duration(quantity: value)! < .milliseconds(100) ? Defect("less than 100ms") : nil)
        case .time(let direction):
            PointInTime(quantity: value, direction: direction) == nil
                ? Defect("not a time", hint: "times are 2026-11-21T09:15:00Z, 2026-11-21, now, -2h, +5m") : nil
        case .choice(let words):
            words.contains(value)
                ? nil
                : Defect(
                    "not one of " + words.joined(separator: ", "),
                    hint: nearest(to: value, in: words).map { "did you mean \($0)?" })
        case .typeName:
            TypeName(value) == nil
                ? Defect("not a type", hint: "types are 1 to 64 of A-Z a-z 0-9 _ - and . but do not begin with a dot")
                : nil
        case .operationID:
            OperationID(value) == nil ? Defect("not an id", hint: "ids are 1 to 64 of A-Z a-z 0-9 _ -") : nil
        case .rate:
            Rate(quantity: value) == nil
                ? Defect("not a rate", hint: "rates are a number in a time: 20/s, 90/m, 500/h") : nil
        case .answer:
            AnswerPattern(filter: value) == nil
                ? Defect(
                    "neither a status nor an error",
                    hint: nearest(to: value, in: AnswerPattern.errorNames).map { "did you mean \($0)?" }
                        ?? "statuses are 503, 500-599 or 5xx; 'drainq explain' names the errors")
                : nil
        case .header:
            HeaderField(argument: value) == nil ? Defect("not a header", hint: "headers are 'Name: value'") : nil
        }
    }

    private static func defect(ofCount value: String, in range: ClosedRange<Int>) -> Defect? {
        guard let number = Int(value) else { return Defect("not a number") }
        if number < range.lowerBound { return Defect("less than \(range.lowerBound)") }
        if number > range.upperBound { return Defect("more than \(range.upperBound)") }
        return nil
    }

    struct Defect {
        var reason: String
        var hint: String?

        init(_ reason: String, hint: String? = nil) {
            self.reason = reason
            self.hint = hint
        }
    }
}

extension HeaderField {
    /// Reads `Name: value`: the name is a token (RFC 9110 §5.1), the value is trimmed and has no control characters but tabs.
    package init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":") else { return nil }
        let name = argument[..<colon].utf8
        let blank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let rest = argument[argument.index(after: colon)...].utf8.drop(while: blank)
        let value = rest.prefix(rest.count - rest.reversed().prefix(while: blank).count)
        guard !name.isEmpty, name.allSatisfy(\.isTokenByte),
            value.allSatisfy({ ($0 >= 0x20 || $0 == 0x09) && $0 != 0x7F })
        else { return nil }
        self.init(name: String(argument[..<colon]), value: String(decoding: value, as: UTF8.self))
    }
}

extension UInt8 {
    /// A byte of a `token`, RFC 9110 §5.6.2.
    fileprivate var isTokenByte: Bool {
        switch self {
        case 0x41...0x5A, 0x61...0x7A, 0x30...0x39: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(self)
        }
    }
}
