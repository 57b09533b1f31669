import CSystem
import Dispatch
import Synchronization

/// A handler of SIGINT, SIGTERM and, unless ignored, SIGHUP. From `init` to `restore` they only call a closure.
final class StopSignals {
    private let sources: [any DispatchSourceSignal]
    private let flag: Flag
    private let before: SignalDispositions

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    /// - Parameter stop: called for each signal, on a queue of its own.
    init(_ stop: @escaping @Sendable () -> Void) {
        let flag = Flag()
        let queue = DispatchQueue(label: "drainq.signals")
        let registered = DispatchSemaphore(value: 0)
        let numbers = SignalDispositions.askingToEnd
        before = SignalDispositions(of: numbers)
        sources = numbers.map { number in
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
        // They are registered later, on another thread. Until then a signal ends the process and is not lost.
        for _ in numbers { registered.wait() }
        self.flag = flag
    }

    var received: Bool { flag.isSet.load(ordering: .sequentiallyConsistent) }

    /// Gives the signals the effect that they had before.
    func restore() {
        for source in sources { source.cancel() }
        before.restore()
    }
}
