extension Script.Rule: CustomStringConvertible {
    /// The text that reads as this rule.
    ///
    /// Leaves out what no text can express: a repeated byte other than `x`. An empty `reason` is `reason=""`.
    package var description: String {
        var words: [String] = []
        if let method = condition.method { words.append(method) }
        if let path = condition.path { words.append(path) }
        words += condition.headers.map(Self.word)
        words += answer.words
        if times != 1 { words.append("*\(times)") }
        return words.joined(separator: " ")
    }

    fileprivate static func word(_ line: HeaderLine) -> String {
        "\(line.name):\(ScriptWord.quoted(line.value.utf8))"
    }
}

extension Answer {
    fileprivate var words: [String] {
        var words: [String] = []
        var ending: Ending? = self.ending
        var framing: Framing? = self.framing
        if case .verbatim(let bytes) = form {
            words.append("raw=\(ScriptWord.quoted(bytes))")
        } else if let word = self.ending.wordBeforeAnyByte, status == 204 {
            words.append(word)
            ending = nil
        } else {
            words.append("\(status)")
        }
        if let reason { words.append("reason=\(ScriptWord.quoted(reason.utf8))") }
        words += headers.map(Script.Rule.word)
        if form == .endlessHeaders { words.append("endless=headers") }
        switch body {
        case .bytes(let bytes): if !bytes.isEmpty { words.append("body=\(ScriptWord.quoted(bytes))") }
        case .repeated(_, let count): words.append("size=\(count)")
        case .endless: words.append("endless")
        }
        if case .wrongLength(let missing) = framing, missing >= 0, ending == .close(at: .end) {
            words.append("truncate=\(missing)")
            (framing, ending) = (nil, nil)
        }
        if let word = framing?.word { words.append(word) }
        words += trailers.map { "trailer=\(ScriptWord.quoted("\($0.name):\($0.value)".utf8))" }
        if delay > .zero { words.append("delay=\(delay.spelled)") }
        if let pace {
            words.append("drip\(pace.onlyBody ? "-body" : "")=\(pace.bytes)/\(pace.interval.spelled)")
        }
        if let word = ending?.word { words.append(word) }
        return words
    }
}

extension Answer.Framing {
    fileprivate var word: String? {
        switch self {
        case .length: nil
        case .wrongLength(let difference): "length=\(difference < 0 ? "" : "+")\(difference)"
        case .chunked: "chunked"
        case .malformedChunks: "bad-chunks"
        case .untilClose: "until-close"
        }
    }
}

extension Answer.Ending {
    fileprivate var wordBeforeAnyByte: String? {
        switch self {
        case .close(at: .bytes(0)): "close"
        case .reset(at: .bytes(0)): "reset"
        case .stall(at: .bytes(0)): "silence"
        case .open, .close, .reset, .stall: nil
        }
    }

    fileprivate var word: String? {
        switch self {
        case .open: nil
        case .close(let position): "close=\(position.word)"
        case .reset(let position): "reset=\(position.word)"
        case .stall(let position): "stall=\(position.word)"
        }
    }
}

extension Answer.Position {
    fileprivate var word: String {
        switch self {
        case .bytes(let count): "\(count)"
        case .body(let count): "body+\(count)"
        case .end: "end"
        }
    }
}
