import Policy

/// Some of what an attempt can meet: a status, a range of them, or an error, as `classify` of a route names them; and
/// `5xx` for all statuses of a class.
struct AnswerPattern: Hashable, Sendable {
    private let match: ClassificationOverride.Match

    init?(_ text: String) {
        let digits = text.utf8
        if digits.count == 3, digits.dropFirst().allSatisfy({ $0 | 0x20 == UInt8(ascii: "x") }),
            let first = digits.first, (UInt8(ascii: "1")...UInt8(ascii: "5")).contains(first)
        {
            let lowest = Int(first - UInt8(ascii: "0")) * 100
            match = .statuses(lowest...lowest + 99)
            return
        }
        guard let match = ClassificationOverride.Match(text) else { return nil }
        self.match = match
    }

    func matches(_ record: AttemptRecord) -> Bool {
        switch match {
        case .statuses(let range): record.status.map(range.contains) ?? false
        case .error(let error): record.error == error.rawValue
        case .canonical(let status): record.error == status.rawValue
        }
    }
}
