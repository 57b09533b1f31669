package import Policy

/// A time as users write it: a moment, or a duration from now.
package enum PointInTime: Hashable, Sendable {
    case at(Timestamp)
    /// A signed duration: a negative one is before now.
    case after(Duration)

    /// The direction of a duration without a sign: `--since 2h` looks back, `--expires 2h` forward.
    package enum Direction: Hashable, Sendable {
        case past
        case future
    }

    /// Reads RFC 3339 with offset, a date (midnight UTC), `now`, or a duration: `+5m`, `-2h`, or `2h` in `direction`. A
    /// time to come is not written as a duration before now.
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
            if backwards == true, direction == .future { return nil }
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
