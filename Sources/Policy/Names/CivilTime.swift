/// A moment as date and time of day in the proleptic Gregorian calendar, UTC.
///
/// The arithmetic is Howard Hinnant's `days_from_civil` and its inverse, on years that begin in March: exact, without
/// tables and without loops, because a run over a million names does it a million times.
struct CivilTime: Hashable, Sendable {
    var year: Int
    var month: Int
    var day: Int
    var hour: Int
    var minute: Int
    var second: Int
    var microsecond: Int

    init(_ moment: Timestamp) {
        let total = Int(clamping: moment.microseconds)
        let seconds = total.flooredQuotient(by: 1_000_000)
        let days = seconds.flooredQuotient(by: 86_400)
        let rest = seconds - days * 86_400
        // The product of the earliest moments overflows; the difference does not.
        microsecond = total &- seconds &* 1_000_000
        hour = rest / 3600
        minute = rest / 60 % 60
        second = rest % 60

        let shifted = days + 719_468
        let era = shifted.flooredQuotient(by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// Returns `nil` if there is no such day or time of day. Leap seconds do not exist here.
    init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int, microsecond: Int) {
        guard (1...12).contains(month), day >= 1, day <= Self.days(inMonth: month, of: year),
            (0...23).contains(hour), (0...59).contains(minute), (0...59).contains(second),
            (0...999_999).contains(microsecond)
        else { return nil }
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
        self.microsecond = microsecond
    }

    var timestamp: Timestamp {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = shiftedYear.flooredQuotient(by: 400)
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second
        return Timestamp(microseconds: Int64(clamping: seconds *| 1_000_000 +| microsecond))
    }

    static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int {
    /// Returns the quotient rounded towards negative infinity. `divisor` must be positive.
    func flooredQuotient(by divisor: Int) -> Int {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
