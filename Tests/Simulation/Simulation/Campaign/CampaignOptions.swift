/// The command line of `simulate`.
package struct CampaignOptions: Sendable {
    package var workloads = Workload.allCases
    package var seeds: Range<UInt64> = 0..<100
    /// The number of processes that play at once.
    package var jobs = 2
    package var isJSON = false
    /// Whether to shrink the first history of each broken property and to print it as a story.
    package var tells = false
    /// Whether to print every event of each history.
    package var traces = false
    /// Whether this is a process that plays for another one, and prints every line as JSON.
    package var isWorker = false

    package static let usage = """
        usage: simulate [--workload NAME|all] [--seeds A..<B] [--jobs N] [--json] [--story] [--trace]
        workloads: \(Workload.allCases.map(\.rawValue).joined(separator: " "))
        """

    /// Reads the arguments. `nil` if they are not valid.
    package init?(_ arguments: [String]) {
        var rest = arguments[...]
        while let word = rest.popFirst() {
            switch word {
            case "--json": isJSON = true
            case "--story": tells = true
            case "--trace": traces = true
            case "--worker": isWorker = true
            case "--workload":
                guard let name = rest.popFirst() else { return nil }
                if name == "all" { continue }
                guard let workload = Workload(rawValue: name) else { return nil }
                workloads = [workload]
            case "--seeds":
                guard let text = rest.popFirst(), let range = Self.range(text) else { return nil }
                seeds = range
            case "--jobs":
                guard let count = rest.popFirst().flatMap({ Int($0) }), (1...64).contains(count) else { return nil }
                jobs = count
            default: return nil
            }
        }
    }

    private static func range(_ text: String) -> Range<UInt64>? {
        if let count = UInt64(text) { return count..<count + 1 }
        let parts = text.split(separator: "..<", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = UInt64(parts[0]), let end = UInt64(parts[1]), first <= end else {
            return nil
        }
        return first..<end
    }
}
