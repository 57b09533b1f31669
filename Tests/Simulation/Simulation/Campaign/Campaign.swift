internal import Foundation

/// Plays many histories in several processes, and prints what they broke.
///
/// Each process plays some hundred histories and ends, because the threads of killed processes stay until then.
package struct Campaign {
    private let options: CampaignOptions
    private let program: String
    private static let share: UInt64 = 100

    package init(_ options: CampaignOptions, program: String) {
        self.options = options
        self.program = program
    }

    /// The environment variable that gives sets and dictionaries the same order in every process. A program reads the
    /// variable when the program starts.
    package static let hashing = "SWIFT_DETERMINISTIC_HASHING"
    /// The environment of a worker: one heap for all threads, which take turns, that grows by 64 MiB (glibc).
    private static let environment = [hashing: "1", "MALLOC_ARENA_MAX": "1", "MALLOC_TOP_PAD_": "67108864"]

    /// Plays the campaign and returns the exit status: 0, or 1 if a history broke a sentence without a known defect, or
    /// if the example of a known defect breaks nothing any more.
    package func callAsFunction() throws -> Int32 {
        if options.isWorker {
            Processor.stay(on: options.processor)
            let worker = Worker(options: options)
            if let property = options.told {
                worker.tell(property)
            } else if options.traces {
                worker.trace()
            } else {
                try worker.play()
            }
            return 0
        }
        if options.listsFeatures {
            for line in OpenDefects.lines { print(line) }
            return 0
        }
        if options.traces, !options.tells { return try trace() }
        let known = try knownDefects()
        let results = Results(options, known)
        var work: [(Workload, Range<UInt64>)] = []
        var first = options.seeds.lowerBound
        while first < options.seeds.upperBound {
            let end = first + min(Self.share, options.seeds.upperBound - first)
            for workload in options.workloads { work.append((workload, first..<end)) }
            first = end
        }
        try inParallel(work) { work, job in try play(work.0, work.1, results, on: job) }
        try inParallel(known.entries) { entry, job in try confirm(entry, results, on: job) }
        for line in try results.lines() { print(line) }
        if options.tells, !options.isJSON {
            for found in results.firsts where Property(rawValue: found.property) != nil { print(try story(of: found)) }
        }
        return results.isGood ? 0 : 1
    }

    private func knownDefects() throws -> KnownDefects {
        guard let path = options.known else { return KnownDefects() }
        guard let data = FileManager.default.contents(atPath: path) else { throw UsageError("no file '\(path)'") }
        return try KnownDefects(String(decoding: data, as: UTF8.self))
    }

    // MARK: - Other processes

    /// Plays seeds in another process. If the process dies, notes the seed and plays the remaining seeds in a new
    /// process.
    private func play(
        _ workload: Workload, _ seeds: Range<UInt64>, _ results: Results, on processor: Int
    ) throws {
        var left = seeds
        while !left.isEmpty {
            let (output, end) = try child(of: workload, left, on: processor)
            let lines = try WorkerLine.lines(in: output)
            results.take(lines, of: workload)
            guard let end else { return }
            var last = left.lowerBound
            for case .begins(let seed) in lines { last = seed }
            results.take(
                Found(
                    workload: workload.rawValue, seed: last, property: "crash", sentence: "The program \(end).",
                    schedule: options.plan(workload, last).schedule.style.words))
            left = last + 1..<left.upperBound
        }
    }

    private func confirm(_ entry: KnownDefects.Entry, _ results: Results, on processor: Int) throws {
        let (workload, seed) = entry.example
        for case .found(let found) in try WorkerLine.lines(
            in: child(of: workload, seed..<seed + 1, on: processor).output)
        where found.property == entry.property.rawValue {
            results.confirm(entry)
        }
    }

    /// Returns the story of a broken sentence: the story of the shrunk history, or of the whole history if shrinking
    /// fails.
    private func story(of found: Found) throws -> String {
        guard let workload = Workload(rawValue: found.workload) else { return "" }
        let seeds = found.seed..<found.seed + 1
        let tell = (options.traces ? ["--trace"] : []) + ["--tell", found.property, "--tries"]
        var (story, end) = try child(of: workload, seeds, tell + ["\(options.tries)"])
        if end != nil { (story, end) = try child(of: workload, seeds, tell + ["0"]) }
        return "\n" + String(decoding: story, as: UTF8.self) + (end.map { "the story ends here: it \($0)" } ?? "")
    }

    private func trace() throws -> Int32 {
        for workload in options.workloads {
            let (output, end) = try child(of: workload, options.seeds, ["--trace"])
            FileHandle.standardOutput.write(output)
            if let end {
                FileHandle.standardError.write(Data("simulate: \(workload.rawValue): the program \(end)\n".utf8))
                return 1
            }
        }
        return 0
    }

    /// Lets another process play. Returns the output and how the process failed; `nil` if the process succeeded.
    private func child(
        of workload: Workload, _ seeds: Range<UInt64>, _ arguments: [String] = [], on processor: Int = 0
    ) throws -> (output: Data, end: String?) {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments =
            ["--worker", "--workload", workload.rawValue, "--seeds", "\(seeds.lowerBound)..<\(seeds.upperBound)"]
            + ["--processor", "\(processor)"] + options.shared + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(Self.environment) { $1 }
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        let status = process.terminationStatus
        if process.terminationReason == .uncaughtSignal { return (data, "was ended by signal \(status)") }
        return (data, status == 0 ? nil : "ended with status \(status)")
    }

    private func inParallel<Item: Sendable>(
        _ work: [Item], _ body: @escaping @Sendable (Item, _ job: Int) throws -> Void
    ) throws {
        let next = WorkList(work)
        let count = min(options.jobs, work.count)
        for job in 0..<count {
            Thread {
                while let item = next.take() {
                    do { try body(item, job) } catch { next.fail(error) }
                }
                next.leave()
            }.start()
        }
        next.wait(for: count)
        if let error = next.error { throw error }
    }
}
