package import Policy

/// A time as a person writes it: a moment, or a distance from now.
package enum PointInTime: Hashable, Sendable {
    case at(Timestamp)
    /// Signed: before now where it is negative.
    case after(Duration)

    /// Which way from now a distance without a sign goes: `--since 2h` looks back, `--expires 2h` forward.
    package enum Direction: Hashable, Sendable {
        case past
        case future
    }

    /// Reads RFC 3339 with its offset, a date alone (midnight UTC), `now`, and durations: `+5m`, `-2h`, or `2h` in `direction`.
    package init?(quantity text: some StringProtocol, direction: Direction) {
        if text == "now" {
            self = .after(.zero)
        } else if let moment = Timestamp(rfc3339: String(text)) ?? Timestamp(rfc3339: text + "T00:00:00Z") {
            self = .at(moment)
        } else {
            let backwards: Bool? =
                switch text.utf8.first {
                case UInt8(ascii: "-"): true
                case UInt8(ascii: "+"): false
                default: nil
                }
            guard let distance = Duration(quantity: text.dropFirst(backwards == nil ? 0 : 1)) else { return nil }
            self = .after(backwards ?? (direction == .past) ? .zero - distance : distance)
        }
    }

    package func timestamp(now: Timestamp) -> Timestamp {
        switch self {
        case .at(let moment): moment
        case .after(let distance): now + distance
        }
    }
}
