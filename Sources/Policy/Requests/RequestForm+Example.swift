extension RequestForm {
    /// What an operation must have so that its request can be made, as written in the templates: `{key}`,
    /// `{payload.user.id}`. In order, each once.
    package var needed: [String] {
        var words: [String] = []
        for word in neededWords where !words.contains("{\(word.text)}") { words.append("{\(word.text)}") }
        return words
    }

    /// Returns an operation that has a value for each word of the templates.
    package func example(of type: TypeName) -> Operation {
        var payload = ExampleValue()
        for case .payload(let pointer) in neededWords { payload.add(pointer.tokens[...]) }
        return Operation(
            header: OperationHeader(
                id: OperationID("example")!, type: type, createdAt: Timestamp(microseconds: 0),
                contentType: "application/json", key: "example"),
            body: Array(payload.json.utf8))
    }
}

/// A JSON value with members at given places.
private struct ExampleValue {
    private var members: [String: ExampleValue] = [:]

    mutating func add(_ tokens: ArraySlice<String>) {
        if let first = tokens.first { members[first, default: ExampleValue()].add(tokens.dropFirst()) }
    }

    var json: String {
        if members.isEmpty { return #""example""# }
        let texts = members.sorted { $0.key < $1.key }.map { "\(JSONText.quoted($0.key)):\($0.value.json)" }
        return "{\(texts.joined(separator: ","))}"
    }
}
