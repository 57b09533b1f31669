import Dispatch
import Drain
import Policy
import Synchronization

/// The progress of a run on standard error: the last line of a terminal, or a line each second elsewhere.
///
/// At a terminal the line appears after a moment, stays below all messages, and disappears at the end.
final class Progress: Sendable {
    /// The choice whether there is a display.
    enum Choice: String, CaseIterable {
        case auto, always, never
    }

    /// The number of operations above which there is a progress line.
    static let threshold = 5
    /// The time before the line first appears. In a shorter run it would only flicker.
    private static let firstLineDelay: Duration = .milliseconds(300)
    private static let interval: DispatchTimeInterval = .milliseconds(200)

    private let isInPlace: Bool
    /// Whether the options let the line replace messages, see `replacesAttemptLines`.
    private let mayReplaceAttemptLines: Bool
    private let started = now()
    private let state: Mutex<State>

    private static func now() -> ContinuousClock.Instant { RunClock.ofProcess.instant() }

    private struct State {
        var count: ProgressCount
        var isFinished = false
        var lastShown: ContinuousClock.Instant?
    }

    /// Makes the display for `--progress`; `nil` for none. `auto` is a line at a terminal that can replace it,
    /// and none elsewhere.
    ///
    /// - Parameter stays: whether the run makes more than one pass.
    init?(_ choice: Choice, _ global: GlobalOptions, stays: Bool, _ environment: [String: String]) {
        let isTerminal =
            Terminal.isOnStandardError && Messages.format == .text && Terminal.obeysEscapes(environment)
        switch choice {
        case .always: isInPlace = isTerminal
        case .auto:
            guard isTerminal, !global.verbosity.isQuiet, !global.isJSON else { return nil }
            isInPlace = true
        case .never: return nil
        }
        mayReplaceAttemptLines = choice == .auto && !global.verbosity.isVerbose
        state = Mutex(State(count: ProgressCount(countsWhatIsLeft: stays)))
        if isInPlace { tickLater() }
    }

    /// Whether the line replaces the messages of attempts that neither failed nor held their operation.
    var replacesAttemptLines: Bool {
        mayReplaceAttemptLines && state.withLock { $0.count.total > Self.threshold }
    }

    func count(_ event: RunEvent) {
        state.withLock { state in
            state.count.add(event)
            if !isInPlace { writeLine(&state) }
        }
    }

    /// Removes the line.
    func finish() {
        state.withLock { $0.isFinished = true }
        if isInPlace { Messages.setFooter("") }
    }

    // MARK: - In place

    private func tickLater() {
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.interval) { [self] in
            let isFinished = state.withLock { state in
                if !state.isFinished { Messages.setFooter(line(state.count)) }
                return state.isFinished
            }
            if !isFinished { tickLater() }
        }
    }

    /// Returns the line; empty while there is nothing to show.
    private func line(_ count: ProgressCount) -> String {
        let lasted = Self.now() - started
        guard lasted > Self.firstLineDelay, count.total > Self.threshold, count.done < count.total else { return "" }
        // One column stays free: a line that fills the last column may wrap.
        return count.line(after: lasted, width: Terminal.columnsOfMessages - 1)
    }

    // MARK: - Line by line

    private func writeLine(_ state: inout State) {
        guard state.count.total > Self.threshold else { return }
        let now = Self.now()
        if let last = state.lastShown, now - last < .seconds(1), state.count.done < state.count.total { return }
        state.lastShown = now
        Messages.notice(state.count.line(after: now - started, width: .max))
    }
}

/// The number of operations that a run has attempted, and the number it will attempt.
struct ProgressCount: Hashable, Sendable {
    private(set) var total = 0
    private var delivered = 0
    private var deferred = 0
    private var held = 0
    private var failed = 0
    /// Whether the run continues with the due operations beyond its limit.
    private let countsWhatIsLeft: Bool

    init(countsWhatIsLeft: Bool) { self.countsWhatIsLeft = countsWhatIsLeft }

    var done: Int { delivered + deferred + held + failed }

    mutating func add(_ event: RunEvent) {
        switch event {
        case .chosen(let count, let leftDue): choose(count, leftDue: leftDue)
        case .attempted(let attempt), .settledUnsent(let attempt): add(attempt.record.outcome)
        default: break
        }
    }

    /// Sets the number of operations about to be attempted, and of those due beyond the limit.
    mutating func choose(_ count: Int, leftDue: Int) { total = done + count + (countsWhatIsLeft ? leftDue : 0) }

    mutating func add(_ outcome: Outcome) {
        switch outcome {
        case .delivered: delivered += 1
        case .deferred: deferred += 1
        case .held: held += 1
        case .failed: failed += 1
        }
        total = max(total, done)
    }

    /// Returns `12 of 40 done (10 delivered, 2 deferred), 8.0/s, 3.5s left`, or the parts that fit.
    func line(after lasted: Duration, width: Int) -> String {
        let counts = [(deferred, "deferred"), (held, "held"), (failed, "failed")].filter { $0.0 > 0 }
        var pace = ""
        var left = ""
        let seconds = lasted / .seconds(1)
        if done > 0, seconds > 0.5 {
            let rate = Double(done) / seconds
            pace = rate < 10 ? ", \((rate * 10).rounded() / 10)/s" : ", \(Int(saturating: rate))/s"
            if done < total { left = ", \(InWords.rough(.seconds(Double(total - done) / rate))) left" }
        }
        let long = ["\(delivered) delivered"] + counts.map { "\($0.0) \($0.1)" }
        let short = counts.map { ", \($0.0) \($0.1)" }.joined()
        let waiting = deferred > 0 ? ", \(deferred) deferred" : ""
        let forms = [
            "\(done) of \(total) done (\(long.joined(separator: ", ")))\(pace)\(left)",
            "\(done) of \(total)\(short)\(pace)\(left)", "\(done) of \(total)\(short)\(left)",
            "\(done) of \(total)\(waiting)\(left)", "\(done) of \(total)\(left)",
        ]
        let room = width - Messages.name.count
        return forms.first { $0.displayWidth <= room } ?? "\(done) of \(total)".truncated(to: room)
    }
}
