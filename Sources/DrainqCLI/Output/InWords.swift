import Policy

/// Times and durations for people, in one or two units: `in 5m`, `3h ago`, `1.2s`.
enum InWords {
    static func moment(_ moment: Timestamp, from now: Timestamp) -> String {
        let distance = moment - now
        if distance >= .seconds(-1), distance <= .milliseconds(1) { return "now" }
        return distance > .zero ? "in \(rough(distance))" : "\(rough(.zero - distance)) ago"
    }

    /// Returns a time that is over: `3h ago`. A time ahead, of a clock that was set back since, is `3 Dec 03:10 UTC`.
    static func past(_ moment: Timestamp, from now: Timestamp) -> String {
        moment <= now + .seconds(60) ? self.moment(min(moment, now), from: now) : utc(moment, at: now)
    }

    /// Returns the time of day with its zone, with the day if that is not today: `03:01 UTC`, `Thu 21:10 UTC`.
    static func utc(_ moment: Timestamp, at now: Timestamp) -> String { "\(clock(moment, at: now)) UTC" }

    /// Returns the time of day in UTC, with the day if that is not today: `03:01`, `Thu 21:10`, `24 Nov 03:57`.
    static func clock(_ moment: Timestamp, at now: Timestamp) -> String {
        let (text, today) = (moment.rfc3339, now.rfc3339.prefix(10))
        let time = text.dropFirst(11).prefix(5)
        if text.prefix(10) == today { return String(time) }
        let days = Int(saturating: (Double(moment.microseconds) / 86_400_000_000).rounded(.down))
        if now > moment, now - moment < .seconds(6 * 86_400) {
            let names = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
            return "\(names[(days % 7 + 7) % 7]) \(time)"
        }
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let month = Int(text.dropFirst(5).prefix(2)).flatMap { (1...12).contains($0) ? months[$0 - 1] : nil } ?? ""
        let day = Int(text.dropFirst(8).prefix(2)) ?? 0
        let year = text.prefix(4) == today.prefix(4) ? "" : " \(text.prefix(4))"
        return "\(day) \(month)\(year) \(time)"
    }

    /// Returns both forms of a time: `2026-11-21T09:20:00Z (in 5m)`.
    static func both(_ time: Timestamp, from now: Timestamp) -> String {
        let seconds = Timestamp(microseconds: time.microseconds -| time.microseconds % 1_000_000)
        return "\(seconds.rfc3339) (\(moment(time, from: now)))"
    }

    /// Returns a number with its noun: `1 operation`, `3 operations`.
    static func count(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

    /// Returns a number with a comma between thousands: `12,340`.
    static func grouped(_ number: Int) -> String {
        let digits = Array("\(number.magnitude)")
        let groups = stride(from: digits.count, to: 0, by: -3).reversed().map { String(digits[max(0, $0 - 3)..<$0]) }
        return (number < 0 ? "-" : "") + groups.joined(separator: ",")
    }

    /// Returns a number with its noun and verb: `1 operation is`, `3 operations are`.
    static func are(_ count: Int, _ noun: String, _ plural: String? = nil) -> String {
        count == 1 ? "1 \(noun) is" : "\(grouped(count)) \(plural ?? noun + "s") are"
    }

    /// Returns a duration in at most two units, the smaller one rounded down.
    static func rough(_ distance: Duration) -> String {
        let seconds = distance.inSeconds
        if seconds < 10 { return short(distance) }
        let whole = Int(saturating: seconds.rounded())
        let (days, hours, minutes) = (whole / 86_400, whole / 3600 % 24, whole / 60 % 60)
        if days > 0 { return days >= 7 || hours == 0 ? "\(days)d" : "\(days)d \(hours)h" }
        if hours > 0 { return minutes == 0 ? "\(hours)h" : "\(hours)h \(minutes)m" }
        return minutes > 0
            ? (whole % 60 == 0 || minutes >= 10 ? "\(minutes)m" : "\(minutes)m \(whole % 60)s") : "\(whole)s"
    }

    /// Returns a duration in one unit: `12ms`, `1.2s`, `75s`.
    static func short(_ duration: Duration) -> String {
        let milliseconds = duration.inSeconds * 1000
        if milliseconds < 1000 { return "\(Int(saturating: milliseconds.rounded()))ms" }
        let tenths = Int(saturating: (milliseconds / 100).rounded())
        return tenths % 10 == 0 || tenths >= 1000 ? "\(tenths / 10)s" : "\(tenths / 10).\(tenths % 10)s"
    }
}
