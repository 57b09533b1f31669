internal import Foundation

/// Plays many histories in several processes, and prints what they broke.
///
/// Each process plays some hundred histories and ends: the threads of killed processes stay until then.
package struct Campaign {
    private let options: CampaignOptions
    private let program: String
    private static let share: UInt64 = 100

    package init(_ options: CampaignOptions, program: String) {
        self.options = options
        self.program = program
    }

    /// The variable with which the order of sets and dictionaries is the same in every process. It is read when a
    /// program starts.
    package static let hashing = "SWIFT_DETERMINISTIC_HASHING"

    /// Plays, and returns the exit status: 0, or 1 if any sentence was broken.
    package func callAsFunction() throws -> Int32 {
        if options.isWorker { return play() }
        if options.traces { return trace() }
        let start = Date()
        var work: [(Workload, Range<UInt64>)] = []
        var first = options.seeds.lowerBound
        while first < options.seeds.upperBound {
            let end = min(first + Self.share, options.seeds.upperBound)
            for workload in options.workloads { work.append((workload, first..<end)) }
            first = end
        }
        let results = Results(options)
        try inParallel(work) { workload, seeds in try worker(workload, seeds, results) }
        results.finish(seconds: Date().timeIntervalSince(start))
        return results.hasFound ? 1 : 0
    }

    // MARK: - One process

    private func play() -> Int32 {
        var tally = Tally()
        for workload in options.workloads {
            for seed in options.seeds {
                let outcome = Simulation.play(workload.plan(seed: seed))
                tally.histories += 1
                tally.steps += outcome.steps
                tally.digest ^= outcome.digest &+ seed
                let breaches = Contract.broken(by: outcome.history)
                if !breaches.isEmpty { tally.bad += 1 }
                var told: Set<String> = []
                for breach in breaches where told.insert(breach.property).inserted {
                    Self.print(
                        Found(
                            workload: workload.rawValue, seed: seed, property: breach.property,
                            sentence: breach.sentence))
                }
            }
        }
        Self.print(tally)
        return 0
    }

    /// Prints every event of each history.
    private func trace() -> Int32 {
        for workload in options.workloads {
            for seed in options.seeds {
                let outcome = Simulation.play(workload.plan(seed: seed))
                var text = "\(workload.rawValue) \(seed): \(outcome.steps) calls\n"
                for (index, event) in outcome.history.events.enumerated() {
                    text += "\(index) +\(event.time) \(event.process) \(event.what)\n"
                }
                for file in outcome.history.left { text += "left \(file.path)\n" }
                for breach in Contract.broken(by: outcome.history) {
                    text += "BROKEN \(breach.property): \(breach.sentence)\n"
                }
                FileHandle.standardOutput.write(Data(text.utf8))
            }
        }
        return 0
    }

    private static func print(_ value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let line = try? encoder.encode(value) else { return }
        FileHandle.standardOutput.write(line + Data("\n".utf8))
    }

    // MARK: - Many

    private func worker(_ workload: Workload, _ seeds: Range<UInt64>, _ results: Results) throws {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = [
            "--worker", "--workload", workload.rawValue, "--seeds", "\(seeds.lowerBound)..<\(seeds.upperBound)",
        ]
        process.environment = ProcessInfo.processInfo.environment.merging([Self.hashing: "1"]) { $1 }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        results.take(data, workload, seeds, status: process.terminationStatus)
    }

    private func inParallel(
        _ work: [(Workload, Range<UInt64>)], _ body: @escaping @Sendable (Workload, Range<UInt64>) throws -> Void
    ) throws {
        let next = Next(work)
        let threads = (0..<options.jobs).map { _ in
            let thread = Thread {
                while let (workload, seeds) = next.take() {
                    do { try body(workload, seeds) } catch { next.fail(error) }
                }
                next.leave()
            }
            thread.start()
            return thread
        }
        next.wait(for: threads.count)
        if let error = next.error { throw error }
    }
}

/// The work that is left, for several threads.
private final class Next: @unchecked Sendable {
    private var work: ArraySlice<(Workload, Range<UInt64>)>
    private let condition = NSCondition()
    private var left = 0
    private(set) var error: (any Error)?

    init(_ work: [(Workload, Range<UInt64>)]) { self.work = work[...] }

    func take() -> (Workload, Range<UInt64>)? {
        condition.withLock { work.popFirst() }
    }

    func fail(_ error: any Error) {
        condition.withLock { self.error = error }
    }

    func leave() {
        condition.withLock {
            left += 1
            condition.signal()
        }
    }

    func wait(for count: Int) {
        condition.withLock { while left < count { condition.wait() } }
    }
}

/// What the processes have found, printed as it comes.
private final class Results: @unchecked Sendable {
    private let options: CampaignOptions
    private let lock = NSLock()
    private var tally = Tally()
    private var counts: [String: (count: Int, first: Found)] = [:]

    init(_ options: CampaignOptions) { self.options = options }

    var hasFound: Bool { !counts.isEmpty }

    func take(_ data: Data, _ workload: Workload, _ seeds: Range<UInt64>, status: Int32) {
        lock.withLock {
            let decoder = JSONDecoder()
            var isWhole = false
            for line in data.split(separator: UInt8(ascii: "\n")) {
                if let found = try? decoder.decode(Found.self, from: line) {
                    note(found)
                } else if let part = try? decoder.decode(Tally.self, from: line) {
                    tally.add(part)
                    isWhole = true
                }
            }
            if !isWhole {
                note(
                    Found(
                        workload: workload.rawValue, seed: seeds.lowerBound, property: "crash",
                        sentence: "the program ended with \(status) in one of the seeds \(seeds)"))
            }
        }
    }

    private func note(_ found: Found) {
        let key = "\(found.workload) \(found.property)"
        counts[key] = (count: (counts[key]?.count ?? 0) + 1, first: counts[key]?.first ?? found)
        if options.isJSON, let line = try? JSONEncoder().encode(found) {
            FileHandle.standardOutput.write(line + Data("\n".utf8))
        }
    }

    func finish(seconds: Double) {
        tally.seconds = seconds
        if options.isJSON {
            if let line = try? JSONEncoder().encode(tally) {
                FileHandle.standardOutput.write(line + Data("\n".utf8))
            }
            return
        }
        var text = ""
        for (key, value) in counts.sorted(by: { $0.key < $1.key }) {
            text += "\(key): \(value.count), first seed \(value.first.seed): \(value.first.sentence)\n"
        }
        text += "\(tally.histories) histories, \(tally.bad) bad, \(tally.steps) system calls, "
        text += String(
            format: "%.1f s, %.0f histories/s, digest %016llx\n", seconds, Double(tally.histories) / seconds,
            tally.digest)
        FileHandle.standardOutput.write(Data(text.utf8))
    }
}
