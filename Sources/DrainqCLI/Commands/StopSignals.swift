import CSystem
import Dispatch
import Synchronization

/// SIGINT and SIGTERM while something waits: they call a closure instead of ending the process.
final class StopSignals {
    private static let numbers = [SIGINT, SIGTERM]
    private let sources: [any DispatchSourceSignal]
    private let flag: Flag

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    /// - Parameter stop: called on a queue of its own for each signal that comes.
    init(_ stop: @escaping @Sendable () -> Void) {
        let flag = Flag()
        let queue = DispatchQueue(label: "drainq.signals")
        let registered = DispatchSemaphore(value: 0)
        sources = Self.numbers.map { number in
            #if !os(Linux)
                signal(number, SIG_IGN)
            #endif
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { @Sendable in
                flag.isSet.store(true, ordering: .sequentiallyConsistent)
                stop()
            }
            source.setRegistrationHandler { @Sendable in registered.signal() }
            source.activate()
            return source
        }
        // Registered elsewhere and later: a signal in between still ends the process, rather than being lost.
        for _ in Self.numbers { registered.wait() }
        self.flag = flag
    }

    /// Whether a signal has come.
    var received: Bool { flag.isSet.load(ordering: .sequentiallyConsistent) }

    /// The signals end the process again.
    func restore() {
        for source in sources { source.cancel() }
        for number in Self.numbers { signal(number, SIG_DFL) }
    }
}
