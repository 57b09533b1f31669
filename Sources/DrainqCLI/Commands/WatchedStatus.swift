import Drain
import Policy

/// Prints the status at intervals (`status --watch`), until a signal arrives or standard output is closed.
///
/// At a terminal each status replaces the one before; elsewhere a blank line stands between two, except in JSON. The
/// time, the queue and the run that is at work stand above it. A signal is the usual end, with status 0.
func watch(_ queue: OpenQueue, every interval: Duration, asJSON: Bool) throws {
    let clock = RunClock.ofProcess
    Interruption.install()
    defer { Interruption.uninstall() }
    var isFirst = true
    var work = WatchedWork()
    while clock.signals().count == 0 {
        let now = Timestamp.now()
        let status = try QueueStatus(of: queue, at: now)
        // The window may have a new size.
        let terminal = Terminal.forResults(queue.environment)
        let head = [
            "\(now.rfc3339.prefix(19))Z  \(escapedForDisplay(status.queue))", work.sentence(of: status, at: now),
        ]
        let lines =
            head.compactMap(\.self).flatMap { terminal.wrapped($0) }
            + StatusReport(status: status, now: now, terminal: terminal).lines
        if asJSON {
            JSONLine.write(status)
        } else if terminal.obeysEscapes {
            standardOutput.write(Terminal.clear + terminal.visible(lines).map { $0 + "\n" }.joined())
        } else {
            if !isFirst { standardOutput.line("") }
            lines.forEach(standardOutput.line)
        }
        isFirst = false
        standardOutput.flush()
        // If SIGHUP is ignored, only a failed write shows that the terminal is gone.
        if standardOutput.isClosed { return }
        clock.sleep(clock.instant() + interval)
    }
}
