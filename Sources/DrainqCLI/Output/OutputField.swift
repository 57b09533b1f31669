/// A field of an object that `--json` prints, as drainq-json(5) describes it.
struct OutputField: Hashable, Sendable {
    var name: String
    var kind: Kind
    var isOptional = false
    /// The description: lower case, no period.
    var meaning: String

    init(_ name: String, _ kind: Kind, _ meaning: String) {
        (self.name, self.kind, self.meaning) = (name, kind, meaning)
    }

    static func maybe(_ name: String, _ kind: Kind, _ meaning: String) -> OutputField {
        var field = OutputField(name, kind, meaning)
        field.isOptional = true
        return field
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
        case object([OutputField])
        /// An object whose names are not fixed.
        case map(Kind)
        case list(Kind)

        static func object<Object: JSONObject>(_ object: Object.Type) -> Kind {
            .object(object.fields.map(\.documented))
        }
    }
}
