internal import Foundation

/// The defects that the simulation has found and nobody has mended yet (`Tests/Simulation/known.txt`). A sentence
/// broken by a known defect does not count as broken.
struct KnownDefects {
    struct Entry {
        /// The workload in which the defect breaks the sentence; `nil` for all.
        var workload: Workload?
        var property: Property
        /// A history that breaks the sentence.
        var example: (workload: Workload, seed: UInt64)
        var words: String
        var line: Int
    }

    let entries: [Entry]

    init() { entries = [] }

    /// Reads the lines `WORKLOAD|* | PROPERTY | WORKLOAD SEED | WORDS`.
    init(_ text: String) throws(UsageError) {
        var entries: [Entry] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.isEmpty || line.first == "#" { continue }
            let cells = line.split(separator: "|", maxSplits: 3).map { $0.trimmingCharacters(in: .whitespaces) }
            let example = cells.count == 4 ? cells[2].split(separator: " ") : []
            let workload = cells.first.flatMap { Workload(rawValue: $0) }
            guard example.count == 2, workload != nil || cells[0] == "*", let property = Property(rawValue: cells[1]),
                let place = Workload(rawValue: String(example[0])), let seed = UInt64(example[1]), !cells[3].isEmpty
            else {
                throw UsageError(
                    "known defects, line \(index + 1): expected WORKLOAD or *, | PROPERTY | WORKLOAD SEED | WORDS")
            }
            entries.append(
                Entry(
                    workload: workload, property: property, example: (place, seed), words: cells[3], line: index + 1))
        }
        self.entries = entries
    }

    /// Whether a known defect explains a broken sentence.
    func contains(_ found: Found) -> Bool {
        entries.contains {
            $0.property.rawValue == found.property && ($0.workload.map { $0.rawValue == found.workload } ?? true)
        }
    }
}
