import Policy

/// The last 24 hours of a destination in quarters of an hour, from the log.
struct DayStrip {
    /// A quarter of an hour.
    struct Quarter: Hashable {
        var start: Timestamp
        var delivered = 0
        var deferred = 0
        var isDown = false
        var isHeld = false
    }

    static let count = 96
    static let length = Duration.seconds(900)

    private(set) var quarters: [Quarter]

    /// Makes the strip of a day that ends at `now`.
    init(endingAt now: Timestamp) {
        let start = now - Self.length * Self.count
        quarters = (0..<Self.count).map { Quarter(start: start + Self.length * $0) }
    }

    /// The number of deliveries of the day.
    var delivered: Int { quarters.reduce(0) { $0 + $1.delivered } }

    mutating func add(_ event: LogEvent) {
        switch event.kind {
        case .attempts:
            guard let index = index(of: event.at) else { return }
            quarters[index].delivered += event.delivered ?? 0
            quarters[index].deferred += (event.deferred ?? 0) + (event.held ?? 0)
        case .up: if let since = event.since { mark(from: since, to: event.at, \.isDown) }
        case .released: if let since = event.since { mark(from: since, to: event.at, \.isHeld) }
        default: break
        }
    }

    /// Marks the quarters that a state lasted, with those in which it began and ended.
    mutating func mark(from start: Timestamp, to end: Timestamp, _ state: WritableKeyPath<Quarter, Bool>) {
        for index in quarters.indices where quarters[index].start <= end && quarters[index].start + Self.length > start
        {
            quarters[index][keyPath: state] = true
        }
    }

    private func index(of time: Timestamp) -> Int? {
        guard let first = quarters.first?.start, time >= first else { return nil }
        let index = Int(saturating: ((time - first) / Self.length).rounded(.down))
        return min(index, Self.count - 1)
    }

    // MARK: - The picture

    /// The strip as a picture: the height of a bar grows with the deliveries, and each has its time and figure as text.
    func picture(_ label: String) -> HTML {
        let most = max(1, quarters.map(\.delivered).max() ?? 1)
        let bars = quarters.enumerated().map { index, quarter -> HTML in
            let kind = quarter.kind
            let height = kind.isFull ? 32 : quarter.delivered == 0 ? 4 : 6 + 26 * quarter.delivered / most
            let time = String(quarter.start.rfc3339.dropFirst(11).prefix(5))
            return """
                <rect class="\(kind.rawValue)" x="\(index * 7)" y="\(32 - height)" width="5" height="\(height)" rx="1">\
                <title>\(time) \(quarter.words)</title></rect>
                """
        }
        return """
            <svg class="strip" viewBox="0 0 672 32" role="img" aria-label="\(label)" preserveAspectRatio="none">\(bars)</svg>
            """
    }

    /// The times below the strip.
    var axis: HTML {
        let times = [0, 24, 48, 72].map { quarters[$0].start.rfc3339.dropFirst(11).prefix(5) }
        let marks = times.map { time -> HTML in "<span>\(String(time))</span>" }
        return "<p class=\"axis\" aria-hidden=\"true\">\(marks)<span>now</span></p>"
    }
}

extension DayStrip.Quarter {
    fileprivate enum Kind: String {
        case held, down, slow, ok, quiet

        /// Whether the bar has the full height: a state, not a number.
        var isFull: Bool { self == .held || self == .down }
    }

    fileprivate var kind: Kind {
        if isHeld { return .held }
        if isDown { return .down }
        if delivered > 0 { return .ok }
        return deferred > 0 ? .slow : .quiet
    }

    fileprivate var words: String {
        var words = isHeld ? ["held"] : isDown ? ["down"] : []
        if delivered > 0 { words.append("\(delivered) delivered") }
        if deferred > 0 { words.append("\(deferred) deferred") }
        return words.isEmpty ? "nothing to do" : words.joined(separator: ", ")
    }
}
