extension Template {
    /// Returns why the template cannot be used although each of its words can; `nil` if it can. A JSON template must
    /// make JSON of every payload.
    ///
    /// Tests the template with values that fit only in their own place: an array for a JSON value (not as a name, not
    /// behind a digit), and for a text a letter that is no escape, digit or word (only between quotes). `isLined`: it
    /// may make several values, one a line.
    func problem(for use: TemplateUse, isLined: Bool = false) -> RouteProblem? {
        switch use {
        case .body(.json): return text.isEmpty ? nil : problemOfJSON(isLined: isLined)
        case .batch:
            let items = placeholders.filter { $0.word == .items }
            if items == [Placeholder(word: .items, place: .jsonValue)] { return problemOfJSON(isLined: false) }
            return RouteProblem(
                reason: "has no {items} of its own: a batch is written there, once and outside of quotes",
                hint: #"for example '{"records": [{items}]}'"#)
        case .key, .idempotencyKey, .type:
            return text.isEmpty ? RouteProblem(reason: "is empty", hint: "leave it out, or name a value") : nil
        case .url, .header, .body, .setting, .proxy, .file: return nil
        }
    }

    private func problemOfJSON(isLined: Bool) -> RouteProblem? {
        let sample = parts.flatMap { part -> [UInt8] in
            switch part {
            case .text(let text): text
            case .value(let placeholder) where placeholder.word == .items: Array("[],[]".utf8)
            case .value(let placeholder) where placeholder.place == .jsonValue: Array(#"[""]"#.utf8)
            case .secret(_, _, .jsonValue): Array(#"[""]"#.utf8)
            case .value, .secret, .base64: Array("x".utf8)
            }
        }
        let documents = isLined ? sample.split(separator: 0x0A).map(Array.init) : [sample]
        for document in documents {
            do throws(JSONSyntaxError) {
                _ = try JSONDocument(document)
            } catch {
                return RouteProblem(
                    reason: "the template is not JSON with its placeholders filled in: \(error.reason)",
                    hint: "a placeholder stands for a JSON value outside of quotes, and for text between them; "
                        + "for another body than JSON set the header Content-Type")
            }
        }
        return nil
    }
}
