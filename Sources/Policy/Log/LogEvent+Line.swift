/// The form of an event in the log: a line of JSON, whose first two members are `at` and `event`.
extension LogEvent {
    /// A member of the object, by its name. The table writes and reads every line, and drainq-json(5) prints it.
    package struct Field: Sendable {
        package enum Value: Sendable {
            case text(any WritableKeyPath<LogEvent, String?> & Sendable)
            case number(any WritableKeyPath<LogEvent, Int?> & Sendable)
            case time(any WritableKeyPath<LogEvent, Timestamp?> & Sendable)
        }

        package let name: String
        package let value: Value
        /// The meaning of the field: lower case, no period.
        package let meaning: String
    }

    /// The members of every line but `at`, `event` and `ids`.
    package static let fields: [Field] = [
        Field(name: "destination", value: .text(\.destination), meaning: "the destination"),
        Field(name: "type", value: .text(\.type), meaning: "the type of the operations, if all have the same"),
        Field(name: "command", value: .text(\.command), meaning: "the operator's command"),
        Field(name: "user", value: .text(\.user), meaning: "the user that gave it"),
        Field(name: "cause", value: .text(\.cause), meaning: "the cause in words"),
        Field(name: "status", value: .number(\.status), meaning: "the status of the answer that is the cause"),
        Field(name: "error", value: .text(\.error), meaning: "the name of the error that is the cause"),
        Field(name: "rule", value: .text(\.rule), meaning: "the rule that decided, with the beginning of the answer"),
        Field(name: "ruleCode", value: .text(\.ruleCode), meaning: "the kind of the rule, unless it is about answers"),
        Field(
            name: "ended", value: .text(\.ended),
            meaning: "what ended an incident: a `delivery`, or that it is `forgotten`: an operator released the "
                + "destination, or no route and no operation names it any more"),
        Field(name: "since", value: .time(\.since), meaning: "the beginning of what has ended, or was noticed"),
        Field(
            name: "count", value: .number(\.count),
            meaning: "the number of operations or files, or of failures in a row"),
        Field(
            name: "waiting", value: .number(\.waiting),
            meaning: "the number of operations that wait for a destination that is down or held"),
        Field(name: "delivered", value: .number(\.delivered), meaning: "operations that were delivered"),
        Field(name: "deferred", value: .number(\.deferred), meaning: "operations that were deferred"),
        Field(name: "failed", value: .number(\.failed), meaning: "operations that failed for good"),
        Field(name: "held", value: .number(\.held), meaning: "operations whose destination is held"),
        Field(name: "durationMs", value: .number(\.durationMs), meaning: "the duration of the run in milliseconds"),
        Field(name: "exitStatus", value: .number(\.exitStatus), meaning: "the exit status of the run"),
        Field(
            name: "configuration", value: .text(\.configuration),
            meaning: "a digest of the configuration that the run had"),
    ]

    /// The line with its line break, at most `longestLine` bytes: texts are cut, and ids that do not fit left out.
    package var line: [UInt8] {
        var whole = self
        whole.ids = Array(ids.prefix(Self.mostIDs))
        var line = whole.json
        while line.count >= Self.longestLine, !whole.ids.isEmpty {
            whole.ids.removeLast()
            line = whole.json
        }
        return line + [UInt8(ascii: "\n")]
    }

    private var json: [UInt8] {
        var members = [
            Self.member("at", JSONText.quoted(at.rfc3339)), Self.member("event", JSONText.quoted(kind.rawValue)),
        ]
        for field in Self.fields {
            let text: String? =
                switch field.value {
                case .text(let path): self[keyPath: path].map { JSONText.quoted(Self.cut($0)) }
                case .number(let path): self[keyPath: path].map { "\($0)" }
                case .time(let path): self[keyPath: path].map { JSONText.quoted($0.rfc3339) }
                }
            if let text { members.append(Self.member(field.name, text)) }
        }
        if !ids.isEmpty {
            members.append(Self.member("ids", "[\(ids.map { JSONText.quoted(Self.cut($0)) }.joined(separator: ","))]"))
        }
        return Array("{\(members.joined(separator: ","))}".utf8)
    }

    private static func member(_ name: String, _ value: String) -> String { "\"\(name)\":\(value)" }

    private static func cut(_ text: String) -> String {
        text.utf8.count <= longestText ? text : String(decoding: text.utf8.prefix(longestText), as: UTF8.self) + "…"
    }

    /// The largest number of a line. Many programs read no larger integer of JSON exactly.
    package static let largestNumber = 1 << 53

    /// Reads a line. Returns `nil` for no event of this version: the line is torn, a newer version wrote it, or it has
    /// a number that is no integer from 0 to `largestNumber`.
    package init?(line: some Collection<UInt8>) {
        // try?: a torn line is expected after a power cut.
        guard let document = try? JSONDocument(Array(line)) else { return nil }
        func value(_ name: String) -> JSONValue? { document.value(at: JSONPointer(tokens: [name])) }
        func text(_ name: String) -> String? {
            if case .string(let text)? = value(name) { text } else { nil }
        }
        guard let at = text("at").flatMap({ Timestamp(rfc3339: $0) }), let kind = text("event").flatMap(Kind.init)
        else { return nil }
        self.init(kind, at: at)
        for field in Self.fields {
            switch field.value {
            case .text(let path): self[keyPath: path] = text(field.name)
            case .number(let path):
                guard case .number(let digits)? = value(field.name) else { continue }
                guard let number = Int(digits), 0...Self.largestNumber ~= number else { return nil }
                self[keyPath: path] = number
            case .time(let path): self[keyPath: path] = text(field.name).flatMap { Timestamp(rfc3339: $0) }
            }
        }
        let list = document.elements(at: JSONPointer(tokens: ["ids"]), most: Self.mostIDs) ?? []
        ids = list.compactMap { element in
            if case .string(let id)? = element.value(at: JSONPointer(tokens: [])) { id } else { nil }
        }
    }
}
