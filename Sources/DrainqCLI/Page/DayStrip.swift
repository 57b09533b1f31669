import Drain
import Policy

/// The last 24 hours of a destination: a bar for the counts of each half hour, and a band for each state that lasted.
struct DayStrip {
    /// A state that lasted.
    enum Band: String, Hashable {
        case down
        /// Held or paused.
        case held
        /// No run came.
        case none

        var words: String {
            switch self {
            case .down: "down"
            case .held: "held or paused"
            case .none: "no run"
            }
        }
    }

    struct Span {
        var band: Band
        var from: Timestamp
        var to: Timestamp
    }

    /// The counts of half an hour.
    struct Counts {
        var delivered = 0
        var deferred = 0
        var failed = 0

        static func + (left: Counts, right: Counts) -> Counts {
            Counts(
                delivered: left.delivered +| right.delivered, deferred: left.deferred +| right.deferred,
                failed: left.failed +| right.failed)
        }
    }

    static let count = 48
    static let length = Duration.seconds(1800)
    /// The width of the picture, the height of the line on which bars stand, and the width of a half hour.
    private static let (width, base, step) = (720, 24, 15)

    let start: Timestamp
    private let now: Timestamp
    private(set) var bars: [Counts]
    var spans: [Span] = []

    /// Makes the strip of a day that ends with the half hour of `now`.
    init(endingAt now: Timestamp) {
        self.now = now
        let last = DayLog.halfHour(now)
        start = Timestamp(microseconds: Int64(last + 1 - Self.count) * 1_800_000_000)
        bars = Array(repeating: Counts(), count: Self.count)
    }

    mutating func add(_ row: DayLog.HalfHours) {
        let first = DayLog.halfHour(start)
        for counts in row.counts where bars.indices.contains(counts[0] - first) {
            let index = counts[0] - first
            bars[index] = bars[index] + Counts(delivered: counts[1], deferred: counts[2], failed: counts[3])
        }
    }

    /// Adds the spans in which no run came. A half hour with attempts had a run, although its time is lost.
    mutating func addTimesWithoutRuns(_ gaps: [(from: Timestamp, to: Timestamp)], attempted: Set<Int>) {
        for gap in gaps {
            var from = gap.from
            for half in DayLog.halfHour(gap.from)...DayLog.halfHour(gap.to) where attempted.contains(half) {
                let start = Timestamp(microseconds: Int64(half) * 1_800_000_000)
                if start > from { spans.append(Span(band: .none, from: from, to: start)) }
                from = start + Self.length
            }
            if gap.to > from { spans.append(Span(band: .none, from: from, to: gap.to)) }
        }
    }

    var total: Counts { bars.reduce(Counts(), +) }

    // MARK: - The picture

    private func x(_ time: Timestamp) -> Int {
        min(max(Int(saturating: ((time - start) / .seconds(120)).rounded()), 0), Self.width)
    }

    /// The strip as a picture, with its day in words. Kinds differ by shape, not only by colour.
    func picture(withTitles: Bool) -> HTML {
        let bands = spans.filter { $0.to > start }.map { ($0.band, x($0.from), x($0.to)) }
        var svg: HTML = ""
        let line = quietLine(bands.map { ($0.1, $0.2) })
        if !line.isEmpty { svg += "<path class=\"q\" d=\"\(line)\"/>" }
        for (band, from, to) in bands {
            let width = max(6, to - from)
            switch band {
            case .down: svg += "<path class=\"down\" d=\"M\(from) 2h\(width)v22h-\(width)z\"/>"
            case .held: svg += "<path class=\"held\" d=\"M\(from) 5h\(width)M\(from) 21h\(width)\"/>"
            case .none: svg += "<path class=\"none\" d=\"M\(from) 3h\(width)v20h-\(width)z\"/>"
            }
        }
        for (kind, path) in paths(bands.map { ($0.1, $0.2) }) where !path.isEmpty {
            svg += "<path class=\"\(kind)\" d=\"\(path)\"/>"
        }
        if withTitles { svg += titles }
        return """
            <svg viewBox="0 0 \(Self.width) 32" preserveAspectRatio="none" role="img" aria-label="\(label)">\
            <use href="#g"/>\(svg)</svg>
            """
    }

    /// The line on which bars stand: runs came.
    private func quietLine(_ bands: [(Int, Int)]) -> String {
        var (line, at) = ("", 0)
        for (from, to) in bands.sorted(by: { $0 < $1 }) + [(x(now), Self.width)] {
            if from > at { line += "M\(at) \(Self.base + 1)H\(from)" }
            at = max(at, to)
        }
        return line
    }

    private func paths(_ bands: [(Int, Int)]) -> [(String, String)] {
        let most = max(1, bars.map(\.delivered).max() ?? 1)
        var (delivered, deferred, failed) = ("", "", "")
        for (index, bar) in bars.enumerated() {
            let middle = index * Self.step + 7
            if bar.failed > 0 { failed += "M\(middle) 27v5" }
            if bands.contains(where: { $0.0 - 2 <= middle && middle <= $0.1 + 2 }) { continue }
            if bar.delivered > 0, bar.delivered >= bar.deferred {
                delivered += "M\(middle) \(Self.base)v-\(5 + 17 *| bar.delivered / most)"
            } else if bar.deferred > 0 {
                deferred += "M\(middle) \(Self.base)v-20"
            }
        }
        return [("ok", delivered), ("late", deferred), ("bad", failed)]
    }

    private var titles: HTML {
        var titles: HTML = ""
        for hour in 0..<24 {
            let (from, to) = (start + Self.length * (2 * hour), start + Self.length * (2 * hour + 2))
            var words = Self.words(bars[2 * hour] + bars[2 * hour + 1])
            words += spans.filter { $0.from < to && $0.to > from }.map(\.band.words)
            let text = words.isEmpty ? "nothing to send" : words.joined(separator: ", ")
            let time = "\(from.rfc3339.dropFirst(11).prefix(5)) to \(to.rfc3339.dropFirst(11).prefix(5)): \(text)"
            titles += "<path class=\"t\" d=\"M\(hour * 30) 0h30v32h-30z\"><title>\(time)</title></path>"
        }
        return titles
    }

    private static func words(_ counts: Counts) -> [String] {
        [(counts.delivered, "delivered"), (counts.deferred, "put off"), (counts.failed, "failed for good")]
            .filter { $0.0 > 0 }.map { "\(InWords.grouped($0.0)) \($0.1)" }
    }

    private var label: String {
        let counts = Self.words(total)
        let bands = spans.filter { $0.to > start }.map { span in
            "\(span.band.words) \(InWords.clock(max(span.from, start), at: now)) to "
                + (span.to >= now ? "now" : InWords.clock(span.to, at: now))
        }
        let text = (counts.isEmpty ? "nothing sent" : counts.joined(separator: ", "))
        return "24 hours: " + ([text] + bands).joined(separator: "; ")
    }

    /// The times above the strips, at six, twelve, eighteen and zero o'clock: the part of the width, and the hour.
    var ticks: [(part: Double, hour: String)] {
        (0..<24).compactMap { hour in
            let time =
                start + Self.length * (2 * hour) + (start.microseconds / 1_800_000_000 % 2 == 0 ? .zero : Self.length)
            let text = String(time.rfc3339.dropFirst(11).prefix(2))
            let part = (time - start) / .seconds(864)
            return ["00", "06", "12", "18"].contains(text) && part > 4 && part < 92 ? (part, text) : nil
        }
    }

    /// The vertical lines at these times.
    var grid: String { ticks.map { "M\(Int(saturating: ($0.part * 7.2).rounded())) 0v26" }.joined() }
}
