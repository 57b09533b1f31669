import Policy
import Testing

@testable import DrainqCLI
@testable import DrainqCLITests

/// Checks the output of the program against the table of objects, and remembers the fields seen.
final class OutputWitness {
    private var seen: Set<String> = []

    /// Checks that every line is an object of the command, with documented fields only.
    func check(_ finished: Finished, by command: String) {
        #expect(!finished.lines.isEmpty, "\(command) prints nothing: \(finished.error)")
        for line in finished.lines { check(line, by: command) }
    }

    func check(_ line: String, by command: String) {
        let candidates = OutputObject.table.filter { $0.printedBy.contains(command) }
        guard let value = try? JSONValue(Array(line.utf8)), case .object(let members) = value else {
            Issue.record("\(command): no object: \(line)")
            return
        }
        var complaints: [[String]] = []
        for object in candidates {
            var fields: Set<String> = []
            let found = Self.complaints(members, object.fields, object.title, &fields)
            if found.isEmpty {
                seen.formUnion(fields)
                return
            }
            complaints.append(found)
        }
        Issue.record("\(command): \(complaints.min { $0.count < $1.count } ?? ["prints no object"]): \(line)")
    }

    /// Fields of the table not printed so far, as `title.field`.
    var unseen: [String] {
        OutputObject.table.flatMap { Self.paths($0.fields, $0.title) }.filter { !seen.contains($0) }.sorted()
    }

    private static func paths(_ fields: [OutputField], _ prefix: String) -> [String] {
        fields.flatMap { ["\(prefix).\($0.name)"] + paths($0.kind.inner, "\(prefix).\($0.name)") }
    }

    private static func complaints(
        _ members: [JSONName: JSONValue], _ fields: [OutputField], _ path: String, _ seen: inout Set<String>
    ) -> [String] {
        var complaints = Set(members.keys.map(\.text)).subtracting(fields.map(\.name)).map {
            "\(path).\($0) is not documented"
        }
        for field in fields {
            let path = "\(path).\(field.name)"
            if let value = members[JSONName(field.name)] {
                seen.insert(path)
                complaints += Self.complaints(value, field.kind, path, &seen)
            } else if !field.isOptional {
                complaints.append("\(path) is missing")
            }
        }
        return complaints
    }

    private static func complaints(
        _ value: JSONValue, _ kind: OutputField.Kind, _ path: String, _ seen: inout Set<String>
    ) -> [String] {
        switch (kind, value) {
        case (.anything, _), (.text, .string), (.number, .number), (.flag, .bool): return []
        case (.count, .number(let text)) where Int(text) != nil: return []
        case (.time, .string(let text)) where text.hasSuffix("Z") && Timestamp(rfc3339: text) != nil: return []
        case (.word(let words), .string(let text)) where words.contains(text): return []
        case (.object(let fields), .object(let members)): return complaints(members, fields, path, &seen)
        case (.map(let kind), .object(let members)):
            return members.values.flatMap { complaints($0, kind, path, &seen) }
        case (.list(let kind), .array(let elements)): return elements.flatMap { complaints($0, kind, path, &seen) }
        default: return ["\(path) is no \(kind): \(value)"]
        }
    }
}
