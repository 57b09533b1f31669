import CSystem

/// Overlaps the calls for several files where the directory is slow to answer, as over a network, where each call takes a
/// round trip. A directory that answers at once is used from the thread that asks: there the threads would only cost.
///
/// Calls for different files depend on each other in nothing, so the crash table argues for each of them as for one alone:
/// a crash finds some of them made and others not, as it would if they were made one after the other.
final class FileWorkers {
    /// How many files are worked on at once at most.
    private static let width = 32
    /// A directory is slow if its calls for one file take longer than this on average.
    private static let slow = Duration.microseconds(500)
    /// The mean of the last ones. Each counts for no more than twice `slow`, so that most of them have to be: a moment
    /// without a processor says nothing.
    private var typical = Duration.zero

    /// Whether the directory is slow, as far as is known.
    var isWorthwhile: Bool { typical > Self.slow }

    /// Returns what `body` returns for each element, in their order. `body` may be called from several threads at once, for
    /// different elements; what they share it guards.
    func map<Element, Result>(_ elements: [Element], _ body: (Element) -> Result) -> [Result] {
        var results: [Result] = []
        results.reserveCapacity(elements.count)
        for (done, element) in elements.enumerated() {
            if isWorthwhile, elements.count - done > 1 { return results + overlapped(Array(elements[done...]), body) }
            results.append(alone { body(element) })
        }
        return results
    }

    /// Returns what `body` returns, which is all that there is to do.
    func alone<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let start = ContinuousClock.now
        defer { took(ContinuousClock.now - start) }
        return try body()
    }

    private func overlapped<Element, Result>(_ elements: [Element], _ body: (Element) -> Result) -> [Result] {
        var outcomes = [(result: Result, time: Duration)?](repeating: nil, count: elements.count)
        outcomes.withUnsafeMutableBufferPointer { outcomes in
            withoutActuallyEscaping({ (index: Int) in
                let start = ContinuousClock.now
                let result = body(elements[index])
                outcomes[index] = (result, ContinuousClock.now - start)
            }) { work in
                let job = Job(work)
                withExtendedLifetime(job) {
                    csystem_overlap(
                        elements.count, Self.width, { Job.at($0).work($1) }, Unmanaged.passUnretained(job).toOpaque())
                }
            }
        }
        // The kernel lets one at a time change a directory: the others' times have their waiting for it in them.
        took(outcomes.map { $0!.time }.min()!)
        return outcomes.map { $0!.result }
    }

    private func took(_ time: Duration) {
        typical = typical * 7 / 8 + min(time, Self.slow * 2) / 8
    }
}

/// What C's threads are given.
private final class Job {
    let work: (Int) -> Void

    init(_ work: @escaping (Int) -> Void) { self.work = work }

    static func at(_ address: UnsafeMutableRawPointer?) -> Job {
        Unmanaged.fromOpaque(address!).takeUnretainedValue()
    }
}
