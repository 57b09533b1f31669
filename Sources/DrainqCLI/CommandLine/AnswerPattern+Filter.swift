import Policy

/// The answers that `--status` filters by: everything that `classify` names, and `5xx` for all statuses of a class.
extension AnswerPattern {
    init?(filter text: String) {
        let digits = text.utf8
        if digits.count == 3, digits.dropFirst().allSatisfy({ $0 | 0x20 == UInt8(ascii: "x") }),
            let first = digits.first, (UInt8(ascii: "1")...UInt8(ascii: "5")).contains(first)
        {
            let lowest = Int(first - UInt8(ascii: "0")) * 100
            self = .statuses(lowest...lowest + 99)
        } else {
            self.init(text)
        }
    }

    func matches(_ record: AttemptRecord) -> Bool {
        switch self {
        case .statuses(let range): record.status.map(range.contains) ?? false
        case .error(let error): record.error == error.rawValue
        case .canonical(let status): record.error == status.rawValue
        }
    }
}
