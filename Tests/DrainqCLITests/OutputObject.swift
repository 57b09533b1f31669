@testable import DrainqCLI

/// One kind of object that `--json` prints, as drainq-json(5) describes it. Its fields are those that encode a
/// `JSONObject`. Objects with foreign bytes are written another way, and `JSONOutputTests` compares them with this.
struct OutputObject: Hashable, Sendable {
    typealias Field = OutputField

    /// The title of the object: lower case, no period.
    var title: String
    /// The commands that print the object, as written after `drainq`.
    var printedBy: [String]
    var fields: [Field]

    init(_ title: String, by printedBy: [String], _ fields: [Field]) {
        self.title = title
        self.printedBy = printedBy
        self.fields = [Field("schema", .count, "the version of this format, \(JSONLine.schema)")] + fields
    }

    init<Object: JSONObject>(_ title: String, by printedBy: [String], _ object: Object.Type) {
        self.init(title, by: printedBy, object.fields.map(\.documented))
    }
}

extension OutputField.Kind {
    /// The fields of the objects inside the value.
    var inner: [OutputField] {
        switch self {
        case .object(let fields): fields
        case .map(let kind), .list(let kind): kind.inner
        case .text, .word, .time, .count, .number, .flag, .anything: []
        }
    }
}
