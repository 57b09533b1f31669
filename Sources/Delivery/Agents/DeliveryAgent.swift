import CSystem
import Policy
import Synchronization

/// The main loop of a delivery agent: makes attempts for the run at the other end of descriptor 0. Two programs are
/// agents: `drainq-urlsession`, and the hidden command `drainq agent`, whose transport is libcurl.
///
/// An agent keeps no state on disk and may be killed at any moment. It ends when its input ends.
package enum DeliveryAgent {
    /// Reads frames from descriptor 0 and answers them until it is closed. Writes the number of each begun attempt to
    /// descriptor 1.
    ///
    /// - Parameter memoryLimit: the memory in bytes beyond which the agent dies, unless the administrator allows less.
    ///   So a large answer costs an attempt, not the machine. RLIMIT_DATA counts written memory; RLIMIT_AS would also
    ///   count reserved memory.
    package static func main(memoryLimit: UInt = 1 << 30, _ makeTransport: MakeTransport) -> Never {
        _ = csystem_die_with_parent()
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        restrict(to: rlim_t(memoryLimit))

        let outlet = Outlet(descriptor: 0)
        outlet.send(.ready())
        var follower: RedirectFollower?
        var inbox = FrameBuffer()
        // Files with bodies, in the order of their frames.
        var files: [OpenFile] = []
        var space = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            follower?.proceed(until: 0)
            var descriptor: Int32 = -1
            let count = csystem_receive_descriptor(0, &space, space.count, &descriptor)
            if count < 0, errno == EINTR { continue }
            if count <= 0 { leave(0) }
            if descriptor >= 0 { files.append(OpenFile(descriptor) { close($0) }) }
            inbox.append(space[..<count])
            var frames: [Frame] = []
            do throws(FrameError) {
                while let frame = try inbox.next() { frames.append(frame) }
            } catch {
                leave(EX_PROTOCOL)
            }
            noteBeginnings(in: frames)
            for frame in frames {
                switch frame {
                case .setup(let concurrency):
                    follower = RedirectFollower(concurrency: concurrency, makeTransport) { outlet.send($0) }
                    outlet.send(.opened(defect: follower?.defect))
                case .attempt(let ticket, var request):
                    if request.bodyPart != nil {
                        if files.isEmpty { leave(EX_PROTOCOL) }
                        request.bodyPart?.file = files.removeFirst()
                    }
                    follower?.start(request, ticket: ticket)
                case .cancel(let ticket): follower?.cancel(ticket: ticket)
                case .ready, .opened, .report: leave(EX_PROTOCOL)
                }
            }
        }
    }

    /// Writes the attempts to descriptor 1 before any of their requests leaves: if this process dies, only these
    /// attempts are in doubt. A pipe takes 512 numbers as a whole or not at all.
    private static func noteBeginnings(in frames: [Frame]) {
        var numbers = frames.compactMap { if case .attempt(let ticket, _) = $0 { Int64(ticket) } else { nil } }[...]
        while !numbers.isEmpty {
            let count = numbers.prefix(512).withUnsafeBytes { write(1, $0.baseAddress!, $0.count) }
            if count < 0, errno != EINTR { return }
            numbers = numbers.dropFirst(max(0, count) / 8)
        }
    }

    private static func restrict(to memoryLimit: rlim_t) {
        #if os(Linux)
            var memory = rlimit(rlim_cur: memoryLimit, rlim_max: memoryLimit)
            // For root, setrlimit(2) would raise a lower limit.
            getrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &memory)
            memory.rlim_max = min(memory.rlim_max, memoryLimit)
            memory.rlim_cur = min(memory.rlim_cur, memoryLimit)
            setrlimit(__rlimit_resource_t(RLIMIT_DATA.rawValue), &memory)
            var core = rlimit(rlim_cur: 0, rlim_max: 0)
            setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &core)
        #endif
        csystem_confine()
    }

    /// Ends the process with `_exit`: exit(3) crashes while transfers are in flight.
    private static func leave(_ status: Int32) -> Never {
        #if DEBUG
            csystem_flush_coverage()
        #endif
        _exit(status)
    }

    /// The connection to the run, shared by all reporting threads.
    private final class Outlet: Sendable {
        private let descriptor: Int32
        /// What the sent frames have said, and the buffer of the next frames.
        private let frames = Mutex((history: FrameHistory(), writer: FrameWriter()))

        init(descriptor: Int32) { self.descriptor = descriptor }

        func send(_ frame: Frame) { send([frame]) }

        /// Sends reports with one call, so that the run wakes up once.
        func send(_ reports: [(ticket: Int, report: AttemptReport)]) {
            send(reports.lazy.map { Frame.report(ticket: $0, $1) })
        }

        private func send(_ frames: some Sequence<Frame>) {
            self.frames.withLock { sent in
                for frame in frames { _ = sent.writer.append(frame, after: &sent.history) }
                send(sent.writer.bytes, sent.writer.count)
                sent.writer.clear()
            }
        }

        private func send(_ bytes: [UInt8], _ length: Int) {
            var sent = 0
            while sent < length {
                let count = bytes.withUnsafeBytes { bytes in
                    CSystem.send(descriptor, bytes.baseAddress! + sent, length - sent, noSignal)
                }
                if count >= 0 {
                    sent += count
                } else if errno != EINTR {
                    return  // The run has ended, so this process ends soon.
                }
            }
        }
    }
}
