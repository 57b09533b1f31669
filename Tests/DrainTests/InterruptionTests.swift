import CSystem
import Testing

@testable import Drain

/// The signal handler, in a process of its own.
struct InterruptionTests {
    @Test func `a signal ignored before the handler is ignored after the handler`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            signal(SIGINT, SIG_IGN)
            // A second call must not take the handler for the previous disposition.
            Interruption.install()
            Interruption.install()
            raise(SIGINT)
            Interruption.uninstall()
            raise(SIGINT)
            if Interruption.received.count == 1 { exit(7) }
        }
    }

    @Test func `a signal that ended the process before the handler ends the process after the handler`() async {
        await #expect(processExitsWith: .signal(SIGTERM)) {
            // The tests may have been started with SIGTERM ignored.
            signal(SIGTERM, SIG_DFL)
            for _ in 0..<2 {
                Interruption.install()
                raise(SIGTERM)
                Interruption.uninstall()
            }
            // Without the handler, uninstalling changes no disposition.
            Interruption.uninstall()
            raise(SIGTERM)
        }
    }

    @Test func `SIGHUP interrupts once, however often the end of a session sends the signal`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            signal(SIGHUP, SIG_DFL)
            Interruption.install()
            for _ in 0..<3 { raise(SIGHUP) }
            if Interruption.received != (1, SIGHUP) { exit(1) }
            raise(SIGTERM)
            raise(SIGHUP)
            if Interruption.received == (2, SIGTERM) { exit(7) }
        }
    }

    @Test func `SIGHUP stays ignored under the handler, as under nohup`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            signal(SIGHUP, SIG_IGN)
            Interruption.install()
            raise(SIGHUP)
            if Interruption.received.count > 0 { exit(1) }
            Interruption.uninstall()
            raise(SIGHUP)
            exit(7)
        }
    }

    @Test func `a wait of hours lasts until its deadline`() {
        let start = ContinuousClock.now
        var now = start
        Interruption.sleep(until: start + .seconds(3 * 3600 + 1), now: { now }) { milliseconds in
            now += .milliseconds(milliseconds)
            return false
        }
        #expect(now - start == .seconds(3 * 3600 + 1))
    }

    @Test func `a signal ends a wait of hours`() {
        let start = ContinuousClock.now
        var (now, waits) = (start, 0)
        Interruption.sleep(until: start + .seconds(3 * 3600), now: { now }) { milliseconds in
            now += .milliseconds(milliseconds)
            waits += 1
            return waits == 2
        }
        #expect(waits == 2 && now - start < .seconds(3 * 3600))
    }
}
