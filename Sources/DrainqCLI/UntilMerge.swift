// Stand-ins for what the room Policy brings (`Timestamp(rfc3339:)`, `escapedForDisplay`). Delete this file on merge.

import Policy

extension Timestamp {
    init?(rfc3339 text: some StringProtocol) {
        let parts = text.uppercased().split(separator: "T", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].utf8.count >= 9 else { return nil }
        let date = parts[0].split(separator: "-").compactMap { Int($0) }
        let clock = parts[1].prefix(8).split(separator: ":").compactMap { Int($0) }
        guard date.count == 3, clock.count == 3, parts[0].utf8.count == 10 else { return nil }
        guard (1...12).contains(date[1]), (1...31).contains(date[2]), clock[0] < 24, clock[1] < 60, clock[2] < 61 else {
            return nil
        }
        let year = date[1] > 2 ? date[0] : date[0] - 1
        let dayOfYear = (153 * (date[1] + (date[1] > 2 ? -3 : 9)) + 2) / 5 + date[2] - 1
        let days = year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
        var seconds = days * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2]
        var rest = parts[1].dropFirst(8)
        if rest.first == "." { rest = rest.dropFirst().drop { $0.isNumber } }
        if rest != "Z" {
            guard rest.count == 6, let hours = Int(rest.prefix(3)), let minutes = Int(rest.suffix(2)) else {
                return nil
            }
            seconds -= hours * 3_600 + (rest.first == "-" ? -minutes : minutes) * 60
        }
        self.init(microseconds: Int64(seconds) * 1_000_000)
    }
}

extension String {
    var escapedForDisplay: String {
        var text = ""
        for scalar in unicodeScalars {
            switch scalar.value {
            case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069:
                text += "\\u{\(String(scalar.value, radix: 16))}"
            default:
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
