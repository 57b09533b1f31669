import Drain
import Policy

/// The line that says how far a run is: on standard error, rewritten in place at a terminal, a line now and then elsewhere.
struct Progress {
    /// For less work than this nobody needs to wait with a line.
    static let threshold = 5

    private let isInPlace: Bool
    private var total = 0
    private var delivered = 0
    private var deferred = 0
    private var failed = 0
    private var isShown = false
    private let started = ContinuousClock.now
    private var lastShown: ContinuousClock.Instant?

    /// What `--progress` says; `nil` for none. `auto` is at a terminal, where nothing else is written for each attempt.
    init?(_ command: ParsedCommand) {
        switch command.text(.progress) ?? "never" {
        case "always": isInPlace = Terminal.isOnStandardError && Messages.format == .text
        case "auto":
            guard Terminal.isOnStandardError, !command.flag(.quiet), !command.flag(.verbose), !command.flag(.json),
                Messages.format == .text
            else { return nil }
            isInPlace = true
        default: return nil
        }
    }

    mutating func take(_ event: RunEvent) {
        switch event {
        case .chosen(let count, let leftDue): total = max(total, done + count + leftDue)
        case .attempted(let attempt), .gaveUp(let attempt):
            switch attempt.record.outcome {
            case .delivered: delivered += 1
            case .deferred: deferred += 1
            case .failed: failed += 1
            case .held: break
            }
        default: return
        }
        show()
    }

    /// Makes room for a line of its own.
    mutating func clear() {
        guard isShown, isInPlace else { return }
        Messages.transient("")
        isShown = false
    }

    mutating func finish() {
        clear()
    }

    private var done: Int { delivered + deferred + failed }

    private mutating func show() {
        guard total > Self.threshold else { return }
        let now = ContinuousClock.now
        let pause: Duration = isInPlace ? .milliseconds(100) : .seconds(1)
        if let lastShown, now - lastShown < pause, done < total { return }
        lastShown = now
        let text = line(at: now)
        if isInPlace { Messages.transient(text) } else { Messages.notice(text) }
        isShown = true
    }

    /// `12 of 40 done (10 delivered, 2 deferred), 8/s, 4s left`
    private func line(at now: ContinuousClock.Instant) -> String {
        var parts = ["\(delivered) delivered"]
        if deferred > 0 { parts.append("\(deferred) deferred") }
        if failed > 0 { parts.append("\(failed) failed") }
        var text = "\(done) of \(total) done (\(parts.joined(separator: ", ")))"
        let seconds = (now - started) / .seconds(1)
        if done > 0, seconds > 0.5 {
            let rate = Double(done) / seconds
            text += rate < 10 ? ", \((rate * 10).rounded() / 10)/s" : ", \(Int(rate))/s"
            if done < total { text += ", \(InWords.short(.seconds(Double(total - done) / rate))) left" }
        }
        return text
    }
}
