/// One kind of object that `--json` prints, as drainq-json(5) describes it. Its fields are those that encode a
/// `JSONObject`. Objects with foreign bytes are written another way, and a test compares them with this.
struct OutputObject: Hashable, Sendable {
    /// The version of all objects. Fields may be added to a version, and none changes its meaning.
    static let schema = JSONLine.schema

    /// The title of the object: lower case, no period.
    var title: String
    /// The commands that print the object, as written after `drainq`.
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
        var isOptional = false
        /// The description: lower case, no period.
        var meaning: String

        init(_ name: String, _ kind: Kind, _ meaning: String) {
            (self.name, self.kind, self.meaning) = (name, kind, meaning)
        }

        static func maybe(_ name: String, _ kind: Kind, _ meaning: String) -> Field {
            var field = Field(name, kind, meaning)
            field.isOptional = true
            return field
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
    /// The fields of the objects inside the value.
    var inner: [OutputObject.Field] {
        switch self {
        case .object(let fields): fields
        case .map(let kind), .list(let kind): kind.inner
        case .text, .word, .time, .count, .number, .flag, .anything: []
        }
    }
}
