import Dispatch
import Drain
import Policy
import Synchronization

/// The line that says how far a run is: on standard error, rewritten in place at a terminal, a line now and then elsewhere.
///
/// In place it moves by itself, also while attempts take their time, and is there only after the run has lasted a moment.
final class Progress: Sendable {
    /// For less work than this nobody needs to wait with a line.
    static let threshold = 5
    /// So soon nothing is drawn: a short run would only flicker.
    private static let patience: Duration = .milliseconds(300)
    private static let interval: DispatchTimeInterval = .milliseconds(200)

    private let isInPlace: Bool
    /// At a terminal where nobody has asked for more.
    private let isAutomatic: Bool
    private let started = ContinuousClock.now
    private let state: Mutex<State>

    private struct State {
        var count: ProgressCount
        var isShown = false
        /// Somebody else writes to the terminal.
        var isClear = false
        var isFinished = false
        var lastShown: ContinuousClock.Instant?
    }

    /// What `--progress` says; `nil` for none. `auto` is at a terminal, where nothing else is written for each attempt.
    init?(_ command: ParsedCommand) {
        let wanted = command.text(.progress) ?? "never"
        isAutomatic = wanted == "auto"
        switch wanted {
        case "always": isInPlace = Terminal.isOnStandardError && Messages.format == .text
        case "auto":
            guard Terminal.isOnStandardError, !command.flag(.quiet), !command.flag(.verbose), !command.flag(.json),
                Messages.format == .text
            else { return nil }
            isInPlace = true
        default: return nil
        }
        let stays = command.flag(.untilEmpty) || command.isGiven(.wait)
        state = Mutex(State(count: ProgressCount(countsWhatIsLeft: stays)))
        if isInPlace { tickLater() }
    }

    /// Whether it is instead of a line for each attempt that needs nobody.
    var standsForAttempts: Bool {
        isAutomatic && state.withLock { $0.count.total > Self.threshold }
    }

    /// To be called after `clear`, and after what was said then.
    func take(_ event: RunEvent) {
        state.withLock { state in
            state.count.take(event)
            state.isClear = false
            if !isInPlace { tell(&state) }
        }
    }

    /// Makes room for a line of its own, until the next event is taken.
    func clear() {
        state.withLock { state in
            erase(&state)
            state.isClear = true
        }
    }

    func finish() {
        state.withLock { state in
            erase(&state)
            state.isFinished = true
        }
    }

    // MARK: - In place

    private func tickLater() {
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.interval) { [self] in
            let isFinished = state.withLock { state in
                if !state.isFinished { draw(&state) }
                return state.isFinished
            }
            if !isFinished { tickLater() }
        }
    }

    private func draw(_ state: inout State) {
        let lasted = ContinuousClock.now - started
        guard lasted > Self.patience, !state.isClear, state.count.total > Self.threshold else { return }
        // While the run waits for what becomes due there is nothing to count.
        guard state.count.done < state.count.total else { return erase(&state) }
        // One column is left free: a line that fills the last one may wrap.
        Messages.transient(state.count.line(after: lasted, width: Terminal.columnsOfMessages - 1))
        state.isShown = true
    }

    private func erase(_ state: inout State) {
        if state.isShown { Messages.transient("") }
        state.isShown = false
    }

    // MARK: - Line by line

    private func tell(_ state: inout State) {
        guard state.count.total > Self.threshold else { return }
        let now = ContinuousClock.now
        if let last = state.lastShown, now - last < .seconds(1), state.count.done < state.count.total { return }
        state.lastShown = now
        Messages.notice(state.count.line(after: now - started, width: .max))
    }
}

/// How many a run has attempted of how many.
struct ProgressCount: Hashable, Sendable {
    private(set) var total = 0
    private var delivered = 0
    private var deferred = 0
    private var held = 0
    private var failed = 0
    /// Whether the run goes on with what is due beyond its limit.
    private let countsWhatIsLeft: Bool

    init(countsWhatIsLeft: Bool) {
        self.countsWhatIsLeft = countsWhatIsLeft
    }

    var done: Int { delivered + deferred + held + failed }

    mutating func take(_ event: RunEvent) {
        switch event {
        case .chosen(let count, let leftDue): choose(count, leftDue: leftDue)
        case .attempted(let attempt), .gaveUp(let attempt): take(attempt.record.outcome)
        default: break
        }
    }

    /// So many are about to be attempted; so many more are due beyond the limit.
    mutating func choose(_ count: Int, leftDue: Int) {
        total = done + count + (countsWhatIsLeft ? leftDue : 0)
    }

    mutating func take(_ outcome: Outcome) {
        switch outcome {
        case .delivered: delivered += 1
        case .deferred: deferred += 1
        case .held: held += 1
        case .failed: failed += 1
        }
        total = max(total, done)
    }

    /// `12 of 40 done (10 delivered, 2 deferred), 8/s, 4s left`, or what of it fits.
    func line(after lasted: Duration, width: Int) -> String {
        let counts = [(deferred, "deferred"), (held, "held"), (failed, "failed")].filter { $0.0 > 0 }
        var pace = ""
        var left = ""
        let seconds = lasted / .seconds(1)
        if done > 0, seconds > 0.5 {
            let rate = Double(done) / seconds
            pace = rate < 10 ? ", \((rate * 10).rounded() / 10)/s" : ", \(Int(rate))/s"
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
