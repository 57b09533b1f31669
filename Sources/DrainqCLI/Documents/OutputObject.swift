/// One kind of object that `--json` prints: the manual is made from these, and what the program prints is held against
/// them. A field that is not here must not be printed, and one that is not optional must be.
struct OutputObject: Hashable, Sendable {
    /// The version of all of them: fields may be added to it, and none changes its meaning.
    static let schema = JSONLine.schema

    /// The title of the object: lower case, no period.
    var title: String
    /// The commands that print it, as written after `drainq`.
    var printedBy: [String]
    var fields: [Field]

    init(_ title: String, by printedBy: [String], _ fields: [Field]) {
        self.title = title
        self.printedBy = printedBy
        self.fields = [Field("schema", .count, "the version of this format, \(Self.schema)")] + fields
    }

    struct Field: Hashable, Sendable {
        var name: String
        var kind: Kind
        var isOptional: Bool
        /// Lower case, no period.
        var meaning: String

        init(_ name: String, _ kind: Kind, _ meaning: String) {
            self.init(name: name, kind: kind, isOptional: false, meaning: meaning)
        }

        private init(name: String, kind: Kind, isOptional: Bool, meaning: String) {
            self.name = name
            self.kind = kind
            self.isOptional = isOptional
            self.meaning = meaning
        }

        /// A field that is left out where there is nothing to say, and never null.
        static func maybe(_ name: String, _ kind: Kind, _ meaning: String) -> Field {
            Field(name: name, kind: kind, isOptional: true, meaning: meaning)
        }
    }

    indirect enum Kind: Hashable, Sendable {
        case text
        /// One of these texts.
        case word([String])
        /// RFC 3339, UTC.
        case time
        /// A whole number.
        case count
        case number
        case flag
        case anything
        case object([Field])
        /// An object whose names are not fixed.
        case map(Kind)
        case list(Kind)
    }
}

extension OutputObject.Kind {
    /// As the manual has it.
    var words: String {
        switch self {
        case .text: "text"
        case .word(let words):
            words.dropLast(2).map { "`\($0)`, " }.joined() + words.suffix(2).map { "`\($0)`" }.joined(separator: " or ")
        case .time: "time"
        case .count: "whole number"
        case .number: "number"
        case .flag: "true or false"
        case .anything: "any value"
        case .object: "object"
        case .map(.anything): "object"
        case .map(let kind): "object of \(kind.words)s"
        case .list(.object), .list(.map): "array of objects"
        case .list(.list): "array of arrays"
        case .list(let kind): "array of \(kind.words)s"
        }
    }

    /// The fields of what is in it.
    var inner: [OutputObject.Field] {
        switch self {
        case .object(let fields): fields
        case .map(let kind), .list(let kind): kind.inner
        case .text, .word, .time, .count, .number, .flag, .anything: []
        }
    }
}

extension ManualWriter {
    /// All of drainq-json(5).
    mutating func outputs() {
        lines += [
            #".\" Made from Sources/DrainqCLI/Documents; DRAINQ_RECORD=1 swift test --filter DocumentTests"#,
            ".Dd November 22, 2026", ".Dt DRAINQ-JSON 5", ".Os", ".Sh NAME", ".Nm drainq-json",
            ".Nd what drainq prints as JSON", ".Sh DESCRIPTION",
        ]
        prose(
            """
            With --json a command of drainq prints an object on each line, as soon as there is one. Every such object has \
            `schema`, the version of its format, which is \(OutputObject.schema) for all of them: fields may be added, and \
            none changes its meaning. Members that do not apply are omitted, and no member is null. Times are RFC 3339 in UTC.
            """)
        objects()
        lines += [".Sh SEE ALSO", ".Xr drainq 1 ,", ".Xr jq 1 ,", ".Xr drainq-queue 5"]
    }

    /// A list for each object, and in it one for each object within. What has been told is pointed to.
    private mutating func objects() {
        lines.append(".Sh OBJECTS")
        var told: [(fields: [OutputObject.Field], name: String)] = []
        for object in OutputObject.table {
            let title = object.title.prefix(1).uppercased() + object.title.dropFirst()
            // `An` alone is a macro.
            lines.append(".Ss \\&\(title)")
            prose("Printed by \(object.printedBy.map { "`drainq \($0)`" }.joined(separator: ", ")).")
            var fields = object.fields.filter { $0.name != "schema" }
            if let base = told.first(where: { fields.count > $0.fields.count && fields.starts(with: $0.fields) }) {
                prose("It has the fields of \(base.name), and:")
                fields.removeFirst(base.fields.count)
            }
            list(fields, &told)
            told.append((fields, "`\(title)`"))
        }
    }

    private mutating func list(
        _ fields: [OutputObject.Field], _ told: inout [(fields: [OutputObject.Field], name: String)]
    ) {
        lines.append(".Bl -tag -width \"idempotencyKey\" -compact")
        for field in fields {
            lines.append(".It Li \(field.name)")
            var words = "\(field.kind.words)\(field.isOptional ? ", optional" : ""): \(field.meaning)"
            let inner = field.kind.inner
            let before = told.first { $0.fields == inner }
            if let before, !inner.isEmpty { words += "; with the fields of \(before.name)" }
            prose(words)
            if before == nil, !inner.isEmpty {
                list(inner, &told)
                told.append((inner, "`\(field.name)` above"))
            }
        }
        lines.append(".El")
    }
}
