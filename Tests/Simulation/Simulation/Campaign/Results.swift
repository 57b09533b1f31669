internal import Foundation

/// The results of a campaign's processes.
final class Results: @unchecked Sendable {
    private struct Share {
        var histories = 0
        var counts: [String: Int] = [:]
        var firsts: [String: Found] = [:]
    }

    private let options: CampaignOptions
    private let known: KnownDefects
    private let lock = NSLock()
    private let start = Date()
    private var told = Date()
    private var tally = Tally()
    private var shares: [String: Share] = [:]
    /// The line numbers in the file of the known defects whose example still breaks the sentence.
    private var confirmed: Set<Int> = []

    init(_ options: CampaignOptions, _ known: KnownDefects) {
        self.options = options
        self.known = known
    }

    func take(_ lines: [WorkerLine], of workload: Workload) {
        lock.withLock {
            for line in lines {
                switch line {
                case .begins: break
                case .found(let found): note(found)
                case .judges(let part): tally.add(part)
                case .ends(let part):
                    tally.add(part)
                    shares[workload.rawValue, default: Share()].histories += 1
                }
            }
            if !options.isJSON, Date().timeIntervalSince(told) > 10 {
                told = Date()
                FileHandle.standardError.write(Data("\(rate)\n".utf8))
            }
        }
    }

    func take(_ found: Found) {
        lock.withLock { note(found) }
    }

    /// Notes that the example of a known defect still breaks the sentence.
    func confirm(_ entry: KnownDefects.Entry) {
        lock.withLock { _ = confirmed.insert(entry.line) }
    }

    private func note(_ found: Found) {
        var share = shares[found.workload, default: Share()]
        share.counts[found.property, default: 0] += 1
        // Processes end in any order.
        if found.seed < share.firsts[found.property]?.seed ?? .max { share.firsts[found.property] = found }
        shares[found.workload] = share
        if options.isJSON, let line = try? JSONEncoder().encode(found) {
            FileHandle.standardOutput.write(line + Data("\n".utf8))
        }
    }

    /// The first history of each property that is broken without a known defect.
    var firsts: [Found] {
        let all = lock.withLock { shares.values.flatMap(\.firsts.values) }.filter { !known.contains($0) }
        let order = Dictionary(uniqueKeysWithValues: Workload.allCases.enumerated().map { ($1.rawValue, $0) })
        return Dictionary(grouping: all, by: \.property).values
            .compactMap { $0.min { ($0.seed, order[$0.workload] ?? 0) < ($1.seed, order[$1.workload] ?? 0) } }
            .sorted { $0.property < $1.property }
    }

    /// The known defects whose example no longer breaks the sentence.
    private var stale: [KnownDefects.Entry] { known.entries.filter { !confirmed.contains($0.line) } }

    var isGood: Bool { firsts.isEmpty && stale.isEmpty }

    private var rate: String {
        let seconds = max(0.001, Date().timeIntervalSince(start))
        return "\(tally.histories) histories, \(tally.bad) bad, \(tally.steps) system calls, "
            + String(
                format: "%.1f s, %.0f histories/s, %.0f calls/s, digest %016llx", seconds,
                Double(tally.histories) / seconds, Double(tally.steps) / seconds, tally.digest)
    }

    /// Returns a line `ok …` or `not ok …` for each workload, and the figures of all.
    func lines() throws -> [String] {
        if options.isJSON {
            tally.seconds = Date().timeIntervalSince(start)
            return [String(decoding: try JSONEncoder().encode(tally), as: UTF8.self)]
        }
        var lines: [String] = []
        for workload in options.workloads {
            let share = shares[workload.rawValue, default: Share()]
            let firsts = share.firsts.values.sorted { $0.property < $1.property }
            let isGood = firsts.allSatisfy(known.contains)
            var line = "\(isGood ? "ok" : "not ok") \(workload.rawValue): \(share.histories) histories"
            for found in firsts {
                let count = share.counts[found.property] ?? 0
                line += "\n    \(known.contains(found) ? "known" : "BROKEN"): \(found.property) in \(count), first in "
                line += "seed \(found.seed): \(found.sentence)"
            }
            lines.append(line)
        }
        for property in options.properties {
            let count = tally.sentences[property.rawValue] ?? Judging.Count()
            let all = max(1, count.judged + count.excused)
            lines.append(
                "\(property.rawValue): judged \(count.judged), excused \(count.excused) "
                    + "(\(count.excused * 100 / all) %)")
        }
        for entry in stale {
            lines.append(
                """
                not ok known defects, line \(entry.line): \(entry.example.workload.rawValue) \(entry.example.seed) no \
                longer breaks '\(entry.property.rawValue)'. If the defect is mended, remove the line; else give it \
                another seed.
                """)
        }
        return lines + [rate]
    }
}
