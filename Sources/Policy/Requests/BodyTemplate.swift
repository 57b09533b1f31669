/// An envelope around payloads: `{"event": {payload}, "sent": "{createdAt}"}`.
///
/// `{payload}` is replaced by the payload byte for byte; `{payload.name}`, `{id}`, `{type}`, `{key}` and `{createdAt}` by
/// texts escaped as the inside of a JSON string. Every other brace stands for itself.
package struct BodyTemplate: Hashable, Sendable {
    private enum Part: Hashable {
        case text(String)
        case payload
        case value(String)
    }

    package let text: String
    private let parts: [Part]

    package init(text: String) {
        self.text = text
        var parts: [Part] = []
        var plain = ""
        var rest = Substring(text)
        while let open = rest.firstIndex(of: "{") {
            plain += rest[..<open]
            rest = rest[open...].dropFirst()
            let name = rest.prefix { $0 != "}" }
            if name.endIndex < rest.endIndex, let part = Self.part(String(name)) {
                parts += [.text(plain), part]
                plain = ""
                rest = rest[name.endIndex...].dropFirst()
            } else {
                plain += "{"
            }
        }
        self.parts = parts + [.text(plain + rest)]
    }

    /// What a callable function is sent.
    static let callable = BodyTemplate(text: #"{"data":{payload}}"#)

    private static func part(_ name: String) -> Part? {
        switch name {
        case "payload": .payload
        case "id", "type", "key", "createdAt": .value(name)
        case _ where name.hasPrefix("payload.") && !name.contains(where: "{\"\n".contains): .value(name)
        default: nil
        }
    }

    /// The body that the envelope makes of an operation.
    func expanded(for operation: Operation) throws(RequestError) -> [UInt8] {
        var body: [UInt8] = []
        for part in parts {
            switch part {
            case .text(let text): body += text.utf8
            case .payload:
                let payload = try operation.payload
                body += payload.bytes[payload.range]
            case .value(let name): body += JSONValue.quoted(try operation.value(of: name)).utf8.dropFirst().dropLast()
            }
        }
        return body
    }

    /// Why a text cannot be an envelope; `nil` if it makes JSON of every payload.
    ///
    /// Tried with values that only fit where they belong: an array for a payload (not inside of quotes, not as a name), a
    /// letter that is no escape, no digit and no word for a text (only inside of quotes).
    /// An empty one makes no body at all, for requests whose payload is in the address alone.
    package static func problem(in text: String) -> RouteProblem? {
        if text.isEmpty { return nil }
        let sample = BodyTemplate(text: text).parts.map { part in
            switch part {
            case .text(let text): text
            case .payload: "[\"\"]"
            case .value: "x"
            }
        }.joined()
        do throws(JSONSyntaxError) {
            _ = try JSONDocument(Array(sample.utf8))
            return nil
        } catch {
            return RouteProblem(
                reason: "the template is not JSON with its placeholders filled in: \(error.reason)",
                hint:
                    "{payload} stands where a value stands; {payload.NAME} {id} {type} {key} {createdAt} inside of quotes"
            )
        }
    }
}

extension Operation {
    /// The body as the one JSON value that it has to be where this is asked for.
    var payload: JSONDocument {
        get throws(RequestError) {
            if body.isEmpty { throw .notJSON(reason: "is empty, and the route needs JSON") }
            do throws(JSONSyntaxError) {
                return try JSONDocument(body)
            } catch {
                throw .notJSON(reason: "is not JSON, which the route needs: \(error)")
            }
        }
    }
}
