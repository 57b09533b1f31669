@testable import DrainqCLI

extension ManualWriter {
    /// Returns the whole of drainq-json(5).
    static var outputs: String {
        var writer = ManualWriter()
        writer.outputs()
        return writer.text
    }

    private mutating func outputs() {
        lines += [
            #".\" Made from Tests/DrainqCLITests/OutputObject+Table.swift; DRAINQ_RECORD=1 swift test --filter DocumentTests"#,
            ".Dd November 22, 2026", ".Dt DRAINQ-JSON 5", ".Os", ".Sh NAME", ".Nm drainq-json",
            ".Nd JSON output of drainq", ".Sh DESCRIPTION",
        ]
        prose(
            """
            With --json a command of drainq prints an object on each line, as soon as the object exists. Every such \
            object has `schema`, the version of its format, which is \(JSONLine.schema) for all of them: fields \
            may be added, and existing fields keep their meaning. Members that do not apply are omitted, and no member \
            is null. Times are RFC 3339 in UTC.
            """)
        objects()
        lines += [".Sh SEE ALSO", ".Xr drainq 1 ,", ".Xr jq 1 ,", ".Xr drainq-queue 5"]
    }

    /// Adds a list for each object, and nested lists for inner objects. Does not repeat fields described before.
    private mutating func objects() {
        lines.append(".Sh OBJECTS")
        var described: [(fields: [OutputField], name: String)] = []
        for object in OutputObject.table {
            let title = object.title.prefix(1).uppercased() + object.title.dropFirst()
            // mdoc reads `An` alone as a macro.
            lines.append(".Ss \\&\(title)")
            prose("Printed by \(object.printedBy.map { "`drainq \($0)`" }.joined(separator: ", ")).")
            var fields = object.fields.filter { $0.name != "schema" }
            if let base = described.first(where: { fields.count > $0.fields.count && fields.starts(with: $0.fields) }) {
                prose("It has the fields of \(base.name), and:")
                fields.removeFirst(base.fields.count)
            }
            list(fields, &described)
            described.append((fields, "`\(title)`"))
        }
    }

    private mutating func list(
        _ fields: [OutputField], _ described: inout [(fields: [OutputField], name: String)]
    ) {
        lines.append(".Bl -tag -width \"idempotencyKey\" -compact")
        for field in fields {
            lines.append(".It Li \(field.name)")
            var words = "\(field.kind.words)\(field.isOptional ? ", optional" : ""): \(field.meaning)"
            let inner = field.kind.inner
            let before = described.first { $0.fields == inner }
            if let before, !inner.isEmpty { words += "; with the fields of \(before.name)" }
            prose(words)
            if before == nil, !inner.isEmpty {
                list(inner, &described)
                described.append((inner, "`\(field.name)` above"))
            }
        }
        lines.append(".El")
    }
}

extension OutputField.Kind {
    /// The kind in the words of the manual.
    fileprivate var words: String {
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
}
