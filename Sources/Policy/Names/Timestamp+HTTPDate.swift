/// The text of a time in HTTP fields (RFC 9110 §5.6.7).
extension Timestamp {
    /// Parses all three forms: `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and
    /// `Sun Nov  6 08:49:37 1994`. The name of a weekday is necessary, but not checked against the date. A year of two
    /// digits is the nearest year to `now`, at most 50 years ahead. A leap second `:60` is the second before it.
    package init?(httpDate text: some StringProtocol, now: Timestamp) {
        let words = text.pieces(at: " ").filter { !$0.isEmpty }
        guard text.utf8.count <= 40, let first = words.first else { return nil }
        var parsed: (day: Int?, month: Int?, year: Int?, time: Substring)?
        if words.count == 6, words[5] == "GMT", first.ends(with: ","), Self.weekdays.contains(String(first.upTo(","))) {
            parsed = (
                Self.number(words[1], digits: 2), Self.month(words[2]), Self.number(words[3], digits: 4),
                words[4]
            )
        } else if words.count == 4, words[3] == "GMT", first.ends(with: ","),
            Self.longWeekdays.contains(String(first.upTo(",")))
        {
            let date = words[1].pieces(at: "-")
            guard date.count == 3 else { return nil }
            let year = Self.number(date[2], digits: 2).map { Self.year(of: $0, now: now) }
            parsed = (Self.number(date[0], digits: 2), Self.month(date[1]), year, words[2])
        } else if words.count == 5, Self.weekdays.contains(String(first)) {
            let day = Self.number(words[2], digits: words[2].utf8.count == 1 ? 1 : 2)
            parsed = (day, Self.month(words[1]), Self.number(words[4], digits: 4), words[3])
        }
        guard let parsed, let day = parsed.day, let month = parsed.month, let year = parsed.year else { return nil }
        let clock = parsed.time.pieces(at: ":").map { Self.number($0, digits: 2) ?? -1 }
        guard clock.count == 3, clock[2] <= 60,
            let civil = CivilTime(
                year: year, month: month, day: day, hour: clock[0], minute: clock[1], second: min(clock[2], 59),
                microsecond: 0)
        else { return nil }
        self = civil.timestamp
    }

    private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let longWeekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func month(_ text: some StringProtocol) -> Int? {
        months.firstIndex(of: String(text)).map { $0 + 1 }
    }

    private static func number(_ text: some StringProtocol, digits: Int) -> Int? {
        guard text.utf8.count == digits else { return nil }
        return Array(text.utf8).withUnsafeBufferPointer { $0.decimal(at: 0, digits: digits) }
    }

    private static func year(of twoDigits: Int, now: Timestamp) -> Int {
        let thisYear = CivilTime(now).year
        let year = thisYear - thisYear % 100 + twoDigits
        if year > thisYear + 50 { return year - 100 }
        return year <= thisYear - 50 ? year + 100 : year
    }
}
