/// A parser of a rule, word by word.
struct RuleReading {
    private let text: String
    private var condition = Script.Condition()
    private var answer: Answer?
    private var times: Int?

    init(text: String) {
        self.text = text
    }

    func rule() throws(ScriptError) -> Script.Rule {
        guard let answer else { throw ScriptError(rule: text, word: "", problem: .noAnswer) }
        return Script.Rule(answer, when: condition, times: times ?? 1)
    }

    mutating func take(_ word: ScriptWord) throws(ScriptError) {
        if word.name.hasPrefix("*"), word.separator == .none {
            guard let count = Int(word.name.dropFirst()), count > 0 else {
                throw error(word, .notA("a count such as *3"))
            }
            if times != nil { throw error(word, .repeated) }
            times = count
        } else if var answer {
            if try !changeMessage(word, &answer), try !changeCourse(word, &answer) {
                if word.separator == .none, Answer(word.name) != nil { throw error(word, .repeated) }
                if isCondition(word) { throw error(word, .conditionAfterAnswer) }
                throw error(word, .unknown(nearest: nearest(word.name, among: Self.changes)))
            }
            self.answer = answer
        } else if word.name == "raw", word.separator == .equals {
            answer = Answer(200)
            answer?.form = .verbatim(word.value)
        } else if word.separator == .none, let first = Answer(word.name) {
            answer = first
        } else if !takeCondition(word) {
            if word.separator == .none, word.name.utf8.allSatisfy({ (48...57).contains($0) }) {
                throw error(word, .notA("a status from 100 to 999"))
            }
            let known = Self.answers.contains { $0 == word.name } || Self.changes.contains(word.name)
            throw error(
                word, known ? .noAnswer : .unknown(nearest: nearest(word.name, among: Self.answers)))
        }
    }

    private static let answers = ["silence", "reset", "close", "raw"]
    private static let changes = [
        "reason", "body", "size", "endless", "chunked", "trailer", "bad-chunks", "length", "truncate", "until-close",
        "delay", "drip", "drip-body", "close", "reset", "stall", "retry-after", "type", "location",
    ]

    private func isCondition(_ word: ScriptWord) -> Bool {
        word.name.hasPrefix("/") || (word.separator == .none && isMethod(word.name))
    }

    private func isMethod(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { (65...90).contains($0) || $0 == 0x2D }
    }

    private mutating func takeCondition(_ word: ScriptWord) -> Bool {
        if word.name.hasPrefix("/"), condition.path == nil {
            condition.path = word.text
        } else if word.separator == .colon, !word.name.isEmpty {
            condition.headers.append(HeaderLine(word.name, word.string))
        } else if word.separator == .none, isMethod(word.name), condition.method == nil {
            condition.method = word.name
        } else {
            return false
        }
        return true
    }

    /// Applies a word about the content or the framing of the message. Returns false if the word is not one.
    private func changeMessage(_ word: ScriptWord, _ answer: inout Answer) throws(ScriptError) -> Bool {
        if word.separator == .colon {
            if word.name.isEmpty { throw error(word, .notA("a header such as Name:value")) }
            answer.headers.append(HeaderLine(word.name, word.string))
            return true
        }
        switch word.name {
        case "retry-after": answer.headers.append(HeaderLine("Retry-After", try value(word)))
        case "type": answer.headers.append(HeaderLine("Content-Type", try value(word)))
        case "location": answer.headers.append(HeaderLine("Location", try value(word)))
        case "reason": answer.reason = try value(word)
        case "body":
            _ = try value(word)
            answer.body = .bytes(word.value)
        case "size":
            guard let size = byteCount(try value(word)) else { throw error(word, .notA("a size such as 10 or 64KB")) }
            answer.body = .repeated(UInt8(ascii: "x"), count: size)
        case "endless":
            switch word.separator == .none ? "body" : word.string {
            case "body": answer.body = .endless(UInt8(ascii: "x"))
            case "headers": answer.form = .endlessHeaders
            default: throw error(word, .notA("'body' or 'headers'"))
            }
        case "chunked":
            try noValue(word)
            answer.framing = .chunked
        case "bad-chunks":
            try noValue(word)
            answer.framing = .malformedChunks
        case "until-close":
            try noValue(word)
            answer.framing = .untilClose
        case "trailer":
            let parts = try value(word).split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else { throw error(word, .notA("a trailer such as Name:value")) }
            answer.trailers.append(HeaderLine(String(parts[0]), String(parts[1])))
            if answer.framing == .length { answer.framing = .chunked }
        case "length":
            let difference = try value(word)
            guard difference.hasPrefix("+") || difference.hasPrefix("-"), let difference = Int(difference) else {
                throw error(word, .notA("a difference such as +10 or -1"))
            }
            answer.framing = .wrongLength(by: difference)
        case "truncate":
            answer = answer.truncated(by: try count(word))
        default: return false
        }
        return true
    }

    /// Applies a word about the time of the bytes or the end of the connection. Returns false if the word is not one.
    private func changeCourse(_ word: ScriptWord, _ answer: inout Answer) throws(ScriptError) -> Bool {
        switch word.name {
        case "delay":
            guard let delay = Duration(spelled: try value(word)) else {
                throw error(word, .notA("a duration such as 250ms or 2s"))
            }
            answer.delay = delay
        case "drip", "drip-body":
            let parts = try value(word).split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 2, let bytes = byteCount(String(parts[0])), bytes > 0,
                let interval = Duration(spelled: String(parts[1]))
            else { throw error(word, .notA("bytes and a duration such as 10/100ms")) }
            answer.pace = Answer.Pace(bytes: bytes, every: interval, onlyBody: word.name == "drip-body")
        case "close": answer.ending = .close(at: try position(word))
        case "reset": answer.ending = .reset(at: try position(word))
        case "stall": answer.ending = .stall(at: try position(word))
        default: return false
        }
        return true
    }

    private func position(_ word: ScriptWord) throws(ScriptError) -> Answer.Position {
        if word.separator == .none || word.string == "end" { return .end }
        let text = word.string
        if text.hasPrefix("body+"), let count = byteCount(String(text.dropFirst(5))) { return .body(count) }
        guard let count = byteCount(text) else { throw error(word, .notA("a place such as 20, body+5 or end")) }
        return .bytes(count)
    }

    private func value(_ word: ScriptWord) throws(ScriptError) -> String {
        if word.separator == .none { throw error(word, .value(needed: true)) }
        return word.string
    }

    private func noValue(_ word: ScriptWord) throws(ScriptError) {
        if word.separator != .none { throw error(word, .value(needed: false)) }
    }

    private func count(_ word: ScriptWord) throws(ScriptError) -> Int {
        guard let count = byteCount(try value(word)) else { throw error(word, .notA("a number of bytes")) }
        return count
    }

    private func error(_ word: ScriptWord, _ problem: ScriptError.Problem) -> ScriptError {
        ScriptError(rule: text, word: word.text, problem: problem)
    }
}

extension Answer {
    /// Makes an answer from its first word; `nil` if no answer begins with the word.
    fileprivate init?(_ word: String) {
        switch word {
        case "silence": self = .silence
        case "reset": self = .reset
        case "close": self = .close
        default:
            guard word.utf8.count == 3, let status = Int(word), status >= 100 else { return nil }
            self.init(status)
        }
    }
}

/// Returns the known word that differs by at most two letters, or one in a word of fewer than five; `nil` if none does.
private func nearest(_ word: String, among known: [String]) -> String? {
    func distance(_ left: [Character], _ right: [Character]) -> Int {
        var row = Array(0...right.count)
        for (i, letter) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in right.enumerated() {
                let next = min(row[j] + 1, row[j + 1] + 1, diagonal + (letter == other ? 0 : 1))
                diagonal = row[j + 1]
                row[j + 1] = next
            }
        }
        return row[right.count]
    }
    let scored = known.map { (name: $0, distance: distance(Array(word.lowercased()), Array($0))) }
    guard let best = scored.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= (word.count < 5 ? 1 : 2) ? best.name : nil
}
