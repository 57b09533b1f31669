/// A set of attempt results, by their names in the configuration: statuses, a network error, or a function's code.
package enum AnswerPattern: Hashable, Sendable {
    case statuses(ClosedRange<Int>)
    case error(NetworkError)
    /// The code of a callable function in `error.status`.
    case canonical(CanonicalStatus)

    package func matches(_ cause: Cause) -> Bool {
        switch self {
        case .statuses(let range): cause.status.map(range.contains) ?? false
        case .error(let error): cause.error == error.rawValue
        case .canonical(let status): cause.error == status.rawValue
        }
    }
}

extension AnswerPattern: CustomStringConvertible {
    /// Reads `404`, `500-599`, `5xx` for the statuses of a class, the name of a network error or a canonical status
    /// (`NOT_FOUND`), as a configuration writes it. `nil` for anything else, for a status outside 100–599, and for
    /// `cancelled`, which no answer can mean.
    package init?(_ text: some StringProtocol) {
        if let error = NetworkError(rawValue: String(text)) {
            guard error != .cancelled else { return nil }
            self = .error(error)
            return
        }
        if let canonical = CanonicalStatus(rawValue: String(text)) {
            self = .canonical(canonical)
            return
        }
        let digits = text.utf8
        if digits.count == 3, digits.dropFirst().allSatisfy({ $0 | 0x20 == UInt8(ascii: "x") }),
            let first = digits.first, (UInt8(ascii: "1")...UInt8(ascii: "5")).contains(first)
        {
            let lowest = Int(first - UInt8(ascii: "0")) * 100
            self = .statuses(lowest...lowest + 99)
            return
        }
        let ends = text.pieces(at: "-")
        guard (1...2).contains(ends.count), ends.allSatisfy({ $0.utf8.count == 3 && $0.utf8.first != 0x2B }),
            let first = Int(ends[0]), let last = Int(ends[ends.count - 1]),
            first <= last, first >= 100, last <= 599
        else { return nil }
        self = .statuses(first...last)
    }

    package var description: String {
        switch self {
        case .statuses(let range): range.shortDescription
        case .error(let error): error.rawValue
        case .canonical(let canonical): canonical.rawValue
        }
    }

    /// The number of statuses in a range; 0 for an error or a code. The smaller width is the narrower pattern.
    var width: Int {
        if case .statuses(let range) = self { range.count } else { 0 }
    }

    /// The names of all patterns that are not statuses.
    package static let errorNames =
        NetworkError.allCases.map(\.rawValue).filter { Self($0) != nil } + CanonicalStatus.allCases.map(\.rawValue)

    /// Returns the names in `errorNames` that attempts on the route can meet.
    package static func errorNames(on route: Route) -> [String] {
        switch route.protocol {
        case .callable: errorNames
        case .plain: errorNames.filter { CanonicalStatus(rawValue: $0) == nil }
        }
    }
}

extension ClosedRange<Int> {
    /// `404` or `500-599`.
    var shortDescription: String { lowerBound == upperBound ? "\(lowerBound)" : "\(lowerBound)-\(upperBound)" }
}
