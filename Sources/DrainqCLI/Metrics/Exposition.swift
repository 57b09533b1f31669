import Policy

/// Metrics in the text format of Prometheus, version 0.0.4. The samples of a family stand together.
struct Exposition {
    private(set) var text = ""
    /// The labels of every sample.
    private let common: [(name: String, value: String)]
    private var family = ""

    init(common: [(name: String, value: String)]) { self.common = common }

    /// Begins a family. The samples that follow belong to it.
    mutating func begin(_ family: MetricFamily) {
        self.family = family.name
        text += "# HELP \(family.name) \(Self.escaped(family.help, quotes: false))\n"
        text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
    }

    mutating func sample(_ value: Int, _ labels: (name: String, value: String)...) {
        sample("\(value)", labels)
    }

    /// Adds a time in seconds since 1970, as Prometheus counts time.
    mutating func sample(_ moment: Timestamp, _ labels: (name: String, value: String)...) {
        sample("\(Duration.microseconds(moment.microseconds).inSeconds)", labels)
    }

    mutating func sample(_ duration: Duration, _ labels: (name: String, value: String)...) {
        sample("\(duration.inSeconds)", labels)
    }

    private mutating func sample(_ value: String, _ labels: [(name: String, value: String)]) {
        let pairs = (common + labels).map { "\($0.name)=\"\(Self.escaped($0.value, quotes: true))\"" }
        text += "\(family){\(pairs.joined(separator: ","))} \(value)\n"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped.append(contentsOf: "\\\\".unicodeScalars)
            case "\n": escaped.append(contentsOf: "\\n".unicodeScalars)
            case "\"" where quotes: escaped.append(contentsOf: "\\\"".unicodeScalars)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }
}
