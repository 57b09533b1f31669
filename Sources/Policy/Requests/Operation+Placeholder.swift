extension Operation {
    /// What a placeholder stands for: `id`, `type`, `key`, `createdAt`, or a place in the payload, `payload.name.name`.
    ///
    /// Numbers as they are written, never through a Double; of a repeated name the last, as most servers read it.
    func value(of placeholder: String) throws(RequestError) -> String {
        switch placeholder {
        case "id": return header.id.description
        case "type": return header.type.description
        case "createdAt": return header.createdAt.rfc3339
        case "key":
            guard let key = header.key else { throw .missingValue(placeholder: placeholder) }
            return key
        default: return try payloadValue(placeholder)
        }
    }

    private func payloadValue(_ placeholder: String) throws(RequestError) -> String {
        guard !body.isEmpty else { throw .missingValue(placeholder: placeholder) }
        let document: JSONDocument
        do throws(JSONSyntaxError) {
            document = try JSONDocument(body)
        } catch {
            throw .unusableValue(placeholder: placeholder, reason: "cannot be read: \(error)")
        }
        let path = placeholder.split(separator: ".", omittingEmptySubsequences: false).dropFirst().map(String.init)
        switch document.value(at: JSONPointer(tokens: path)) {
        case nil: throw .missingValue(placeholder: placeholder)
        case .string(let text): return text
        case .number(let text): return text
        case .bool(let value): return value ? "true" : "false"
        case .null, .array, .object:
            throw .unusableValue(placeholder: placeholder, reason: "is neither text nor a number nor true or false")
        }
    }
}
