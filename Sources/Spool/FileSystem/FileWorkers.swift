/// Runs the calls for several files at once, on threads, if the directory is slow to answer, as over a network, where
/// each call takes a round trip. Uses the caller's thread alone for a fast directory, where threads would only cost.
///
/// Calls for different files do not depend on each other, so the crash table argues for each call as for a lone call: a
/// crash finds some calls made and others not, as if they had been made in succession.
final class FileWorkers {
    /// The most files that are worked on at once.
    private static let width = 32
    /// The mean time of a file's calls above which a directory is slow.
    private static let slow = Duration.microseconds(500)
    /// The moving mean of the last times. Each counts for at most twice `slow`, so the mean exceeds `slow` only if most
    /// are slow: a moment without a processor proves nothing.
    private var typical = Duration.zero
    private let system: SystemCalls

    init(_ system: SystemCalls) { self.system = system }

    /// Whether the directory is slow, as far as is known.
    var isWorthwhile: Bool { typical > Self.slow }

    /// Returns what `body` returns for each element, in order. May call `body` from several threads at once, for
    /// different elements; `body` must guard what those calls share.
    func map<Element, Result>(_ elements: [Element], _ body: (Element) -> Result) -> [Result] {
        var results: [Result] = []
        results.reserveCapacity(elements.count)
        for (done, element) in elements.enumerated() {
            if isWorthwhile, elements.count - done > 1 {
                return done == 0 ? overlapped(elements, body) : results + overlapped(Array(elements[done...]), body)
            }
            results.append(alone { body(element) })
        }
        return results
    }

    /// Returns what `body` returns. Its time counts towards the mean.
    func alone<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        let start = system.elapsed()
        defer { took(system.elapsed() - start) }
        return try body()
    }

    private func overlapped<Element, Result>(_ elements: [Element], _ body: (Element) -> Result) -> [Result] {
        var results = [Result?](repeating: nil, count: elements.count)
        var times = [Duration](repeating: .zero, count: elements.count)
        results.withUnsafeMutableBufferPointer { results in
            times.withUnsafeMutableBufferPointer { times in
                system.overlap(elements.count, Self.width) { index in
                    let start = system.elapsed()
                    results[index] = body(elements[index])
                    times[index] = system.elapsed() - start
                }
            }
        }
        // The kernel changes a directory for one call at a time: the times of the other calls include their wait.
        took(times.min()!)
        return results.map { $0! }
    }

    private func took(_ time: Duration) {
        let change = min(time, Self.slow + Self.slow).attoseconds - typical.attoseconds
        typical = Duration(attoseconds: typical.attoseconds + change / 8)
    }
}
