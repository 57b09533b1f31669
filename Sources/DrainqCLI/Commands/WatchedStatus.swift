import Dispatch
import Policy

/// `status --watch`: the status again and again, until a signal comes or nobody reads it any more.
///
/// At a terminal each one takes the place of the one before; elsewhere a blank line stands between two. SIGINT and SIGTERM
/// end it with status 0: that is how one stops watching.
func watch(_ queue: OpenQueue, every interval: Duration, asJSON: Bool) throws {
    let stopped = DispatchSemaphore(value: 0)
    let signals = StopSignals { stopped.signal() }
    defer { signals.restore() }
    var isFirst = true
    while !signals.received {
        let now = Timestamp.now()
        let status = try QueueStatus(of: queue, at: now)
        // Windows change their size.
        let terminal = Terminal.forResults(queue.environment)
        let lines = StatusReport(status: status, now: now, terminal: terminal).lines
        if asJSON {
            JSONLine.write(status)
        } else if terminal.columns != nil {
            standardOutput.write(Terminal.clear + terminal.visible(lines).map { $0 + "\n" }.joined())
        } else {
            if !isFirst { standardOutput.line("") }
            lines.forEach(standardOutput.line)
        }
        isFirst = false
        standardOutput.flush()
        // A terminal that is gone is an error of the write where its signal is ignored.
        if standardOutput.isClosed { return }
        if stopped.wait(timeout: .now() + interval.inSeconds) == .success { return }
    }
}
