/// Prometheus' text format 0.0.4, parsed strictly. Beyond the specification, each family occurs once, with help and
/// type before its samples, and no series occurs twice.
struct ParsedExposition {
    struct Family {
        var help: String
        var type: String
        var samples: [(labels: [String: String], value: Double)] = []
    }

    struct Defect: Error, CustomStringConvertible {
        var description: String
    }

    private(set) var families: [String: Family] = [:]
    private(set) var order: [String] = []
    /// The labels of the samples of the last family.
    private var labelsInFamily: Set<[String: String]> = []

    // A literal in a function would be parsed for each line.
    private let help = /# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)/
    private let type = /# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)/
    private let series = /([a-zA-Z_:][a-zA-Z0-9_:]*)\{(.*)\} ([^ ]+)/
    private let label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,(?=.)|$)/

    init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Defect(description: "the last line has no end") }
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            do {
                try read(line)
            } catch let defect as Defect {
                throw Defect(description: "\(defect.description): \(line)")
            }
        }
    }

    /// The value of the series with exactly these labels, `queue` apart.
    func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        families[name]?.samples.first { sample in
            sample.labels.filter { $0.key != "queue" } == labels
        }?.value
    }

    private mutating func read(_ line: Substring) throws {
        if let match = line.wholeMatch(of: help) {
            let name = String(match.1)
            guard families[name] == nil else { throw Defect(description: "the family is there twice") }
            families[name] = Family(help: try unescaped(match.2, quotes: false), type: "")
            order.append(name)
            labelsInFamily = []
        } else if let match = line.wholeMatch(of: type) {
            guard order.last == String(match.1), families[String(match.1)]?.type == "" else {
                throw Defect(description: "the type does not follow its help")
            }
            families[String(match.1)]?.type = String(match.2)
        } else {
            try sample(line)
        }
    }

    private mutating func sample(_ line: Substring) throws {
        guard let match = line.wholeMatch(of: series) else {
            throw Defect(description: "no sample")
        }
        let name = String(match.1)
        guard order.last == name, families[name]?.type != "" else {
            throw Defect(description: "the sample is not in its family")
        }
        guard let value = Double(String(match.3)) else { throw Defect(description: "no number") }
        let labels = try labels(match.2)
        guard labelsInFamily.insert(labels).inserted else { throw Defect(description: "the series is there twice") }
        families[name]!.samples.append((labels, value))
    }

    private func labels(_ text: Substring) throws -> [String: String] {
        var labels: [String: String] = [:]
        var rest = text
        while !rest.isEmpty {
            guard let match = rest.prefixMatch(of: label) else {
                throw Defect(description: "no label")
            }
            guard labels.updateValue(try unescaped(match.2, quotes: true), forKey: String(match.1)) == nil else {
                throw Defect(description: "the label is there twice")
            }
            rest = rest[match.range.upperBound...]
        }
        return labels
    }

    private func unescaped(_ text: Substring, quotes: Bool) throws -> String {
        var result = ""
        var isEscaped = false
        for character in text {
            if isEscaped {
                switch character {
                case "\\": result += "\\"
                case "n": result += "\n"
                case "\"" where quotes: result += "\""
                default: throw Defect(description: "no escape")
                }
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else {
                result.append(character)
            }
        }
        if isEscaped { throw Defect(description: "an escape of nothing") }
        return result
    }
}
