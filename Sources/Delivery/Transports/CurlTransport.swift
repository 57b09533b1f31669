import CCurl
import Foundation
import Policy
import Synchronization

/// Attempts made by libcurl's multi interface, in a delivery agent, on one thread of its own that waits for sockets.
///
/// Every attempt that is started is reported once, on that thread: with its answer, with its failure, or as cancelled.
/// What differs from URLSession, besides all that URLSession refuses:
/// - `timeouts.connect` is exact, for every request: name, connection, proxy and TLS together. Idle time counts from
///   then on.
/// - The body of a request that arrives on a stale connection is sent again, as a whole.
/// - An answer with trailers, endless headers or a swelling body is an answer or an error, never a death.
/// - Header names go out as they were given, and fields of one name as several.
/// - What is refused by the library itself (a key that does not fit its certificate, say) ends as what it means.
final class CurlTransport: Sendable {
    private enum Order: Sendable {
        case start(OutgoingRequest, ticket: Int)
        case cancel(ticket: Int)
    }

    private let multi: Handle
    private let orders = Mutex<[Order]>([])
    private let report: @Sendable (_ ticket: Int, AttemptReport) -> Void

    /// What is driven by one thread, and woken up by all.
    private struct Handle: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// `nil` if there is no memory for it; libcurl must be there (`Libcurl.defect`).
    init?(concurrency: Int, report: @escaping @Sendable (_ ticket: Int, AttemptReport) -> Void) {
        guard let pointer = ccurl_multi_init() else { return nil }
        // Left to itself it keeps four times as many as transfers are under way, which at the end is none.
        ccurl_multi_set_number(pointer, CURLMOPT_MAXCONNECTS, max(1, concurrency) + 8)
        multi = Handle(pointer: pointer)
        self.report = report
        Thread.detachNewThread { [self] in drive() }
    }

    /// Starts an attempt.
    func start(_ request: OutgoingRequest, ticket: Int) {
        give(.start(request, ticket: ticket))
    }

    /// Ends an attempt and reports it as cancelled, unless it has been reported.
    func cancel(ticket: Int) {
        give(.cancel(ticket: ticket))
    }

    private func give(_ order: Order) {
        orders.withLock { $0.append(order) }
        ccurl_multi_wakeup(multi.pointer)
    }

    // MARK: - The thread

    private func drive() {
        var transfers: [Int: CurlTransfer] = [:]
        while true {
            for order in orders.withLock({ orders in exchange(&orders, with: []) }) {
                switch order {
                case .start(let request, let ticket): begin(request, ticket, &transfers)
                case .cancel(let ticket): end(ticket, .failure(.cancelled, detail: ""), &transfers)
                }
            }
            var running: Int32 = 0
            ccurl_multi_perform(multi.pointer, &running)
            var code: Int32 = 0
            while let handle = ccurl_multi_next_ended(multi.pointer, &code) {
                let transfer = CurlTransfer.of(handle)
                end(transfer.ticket, transfer.result(code), &transfers)
            }
            ccurl_multi_poll(multi.pointer, endIdle(&transfers).pollMilliseconds)
        }
    }

    private func begin(_ request: OutgoingRequest, _ ticket: Int, _ transfers: inout [Int: CurlTransfer]) {
        do throws(CurlRefusal) {
            let transfer = try CurlTransfer(request, ticket: ticket)
            transfers[ticket] = transfer
            let code = ccurl_multi_add(multi.pointer, transfer.handle)
            if code != 0 { end(ticket, .failure(.other, detail: "libcurl takes no transfer (\(code))"), &transfers) }
        } catch {
            report(ticket, AttemptReport(result: error.result, duration: .zero))
        }
    }

    private func end(_ ticket: Int, _ result: AttemptReport.Result, _ transfers: inout [Int: CurlTransfer]) {
        guard let transfer = transfers.removeValue(forKey: ticket) else { return }
        ccurl_multi_remove(multi.pointer, transfer.handle)
        report(ticket, transfer.report(result))
    }

    /// Ends what has been idle for too long, and says how long nothing else will have been.
    private func endIdle(_ transfers: inout [Int: CurlTransfer]) -> Duration {
        var next = Duration.seconds(3600)
        let now = ContinuousClock.now
        for (ticket, transfer) in transfers {
            guard let patience = transfer.patience else { continue }
            if patience <= now {
                let limit = transfer.request.timeouts.request.inSeconds
                let silence = "nothing was sent or received for \(limit) s"
                end(ticket, transfer.wholeAnswer.map { .answer($0) } ?? .failure(.timeout, detail: silence), &transfers)
            } else {
                next = min(next, now.duration(to: patience))
            }
        }
        return next
    }
}

private func exchange<Value>(_ place: inout Value, with new: Value) -> Value {
    defer { place = new }
    return place
}
