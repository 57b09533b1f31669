/// The command line of `simulate`.
package struct CampaignOptions: Sendable {
    package var workloads = Workload.allCases
    package var seeds: Range<UInt64> = 0..<100
    /// The number of processes that play at once.
    package var jobs = 2
    package var isJSON = false
    /// Whether to shrink the first history of each broken property and to print a story of the history.
    package var tells = false
    /// Whether each history has a power cut on a file system that keeps no order between directories.
    package var isWeak = false
    /// Whether to play the features and to judge the sentences with an open defect, too.
    package var isOpen = false
    /// The features of each history; `nil` for those that its seed draws.
    package var features: [Feature]?
    /// Whether to print the features and the open defects, and to play nothing.
    package var listsFeatures = false
    /// Whether to print every event of each history; with `tells`, of the shrunk histories.
    package var traces = false
    /// The file of known defects, which do not count; `nil` for none.
    package var known: String?
    /// The most plays that shrink a history.
    package var tries = 300
    /// Whether this process plays for a parent process and prints `WorkerLine`s.
    package var isWorker = false
    /// The processor that a worker stays on.
    package var processor = 0
    /// The property whose story this process tells to a parent process.
    package var told: Property?

    package static let usage = """
        usage: simulate [--workload NAME[,NAME…]|all] [--seeds A..<B|SEED] [--jobs N] [--known FILE] [--story] [--tries N]
                        [--weak] [--json] [--trace] [--open] [--feature NAME[,NAME…]] [--list-features]
        workloads: \(Workload.allCases.map(\.rawValue).joined(separator: " "))
        """

    /// Returns the plan of a history.
    func plan(_ workload: Workload, _ seed: UInt64) -> Plan {
        isWeak ? workload.weakPlan(seed: seed) : workload.plan(seed: seed, features: features, isOpen: isOpen)
    }

    /// The judged sentences.
    var properties: [Property] {
        Property.allCases.filter { isOpen || OpenDefects.sentences[$0] == nil }
    }

    /// The arguments by which another process plays the same histories.
    var shared: [String] {
        (isWeak ? ["--weak"] : []) + (isOpen ? ["--open"] : [])
            + (features.map { ["--feature", $0.map(\.rawValue).joined(separator: ",")] } ?? [])
    }

    /// Reads the arguments.
    package init(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        func value(of option: String) throws(UsageError) -> String {
            guard let value = rest.popFirst() else { throw UsageError("\(option): its value is missing") }
            return value
        }
        while let word = rest.popFirst() {
            switch word {
            case "--json": isJSON = true
            case "--story": tells = true
            case "--weak": isWeak = true
            case "--trace": traces = true
            case "--worker": isWorker = true
            case "--open": isOpen = true
            case "--list-features": listsFeatures = true
            case "--feature": features = try Self.features(value(of: word))
            case "--workload":
                let names = try value(of: word)
                if names != "all" { workloads = try Self.workloads(names) }
            case "--seeds": seeds = try Self.seeds(value(of: word))
            case "--jobs": jobs = try Self.number(value(of: word), of: word, 1...64)
            case "--tries": tries = try Self.number(value(of: word), of: word, 0...100_000)
            case "--processor": processor = try Self.number(value(of: word), of: word, 0...64)
            case "--known": known = try value(of: word)
            case "--tell":
                let name = try value(of: word)
                guard let property = Property(rawValue: name) else { throw UsageError("no property '\(name)'") }
                told = property
            default: throw UsageError("no option '\(word)'")
            }
        }
    }

    private static func features(_ names: String) throws(UsageError) -> [Feature] {
        var features: [Feature] = []
        for name in names.split(separator: ",") {
            guard let feature = Feature(rawValue: String(name)) else { throw UsageError("no feature '\(name)'") }
            features.append(feature)
        }
        return features
    }

    private static func workloads(_ names: String) throws(UsageError) -> [Workload] {
        var workloads: [Workload] = []
        for name in names.split(separator: ",", omittingEmptySubsequences: false) {
            guard let workload = Workload(rawValue: String(name)) else { throw UsageError("no workload '\(name)'") }
            workloads.append(workload)
        }
        return workloads
    }

    private static func seeds(_ text: String) throws(UsageError) -> Range<UInt64> {
        if let seed = UInt64(text), seed < .max { return seed..<seed + 1 }
        let ends = text.split(separator: "..<", omittingEmptySubsequences: false).map { UInt64($0) }
        guard ends.count == 2, let first = ends[0], let end = ends[1], first < end else {
            throw UsageError("--seeds: '\(text)' is neither a seed nor a range such as 0..<100")
        }
        return first..<end
    }

    private static func number(_ text: String, of option: String, _ bounds: ClosedRange<Int>) throws(UsageError) -> Int
    {
        guard let number = Int(text), bounds.contains(number) else {
            throw UsageError(
                "\(option): '\(text)' is not a number from \(bounds.lowerBound) to \(bounds.upperBound)")
        }
        return number
    }
}
