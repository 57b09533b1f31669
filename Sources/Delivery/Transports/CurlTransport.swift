import CCurl
package import Policy

/// Makes attempts by libcurl's multi interface, in a delivery agent, on the thread that also reads the run's frames.
///
/// Reports every started attempt once, on the same thread: with its answer, with its failure, or as cancelled.
/// Differences from URLSession, besides the requests refused by URLSession:
/// - `timeouts.connect` is exact for every request: name, connection, proxy and TLS together. Idle time counts from
///   then on.
/// - An attempt is one request: if libcurl would repeat the request, the attempt ends as `reset`.
/// - A connection is checked before a request leaves. A kept connection that has ended or has unread input is closed,
///   and the attempt continues on a fresh connection; so does one whose server had closed its connection before the
///   request arrived. HTTP/1.1 connections take turns, see `CurlConnections`.
/// - Trailers, endless headers or a swelling body end in an answer or an error, never in the agent's death.
/// - Header names are sent as given, and fields of the same name stay separate.
/// - A refusal by the library itself (a key that does not fit its certificate, say) is reported by its meaning.
package final class CurlTransport: AgentTransport {
    private let multi: OpaquePointer
    private let report: TransportReport
    private var transfers: [Int: CurlTransfer] = [:]
    private let sockets = CurlSockets()
    private var connections: CurlConnections
    private var handles: CurlHandles
    private var scouts = CurlScouts()
    private var fileNames = CurlFileNames()
    /// Whether libcurl has been given transfers since it last continued the transfers.
    private var haveBegun = false
    /// The transfers that libcurl has not connected, as far as is known.
    private var connecting: [CurlTransfer] = []
    /// No connected transfer is idle for too long before this time.
    private var nextIdle = ContinuousClock.now + CurlTransport.longestWait
    private static let longestWait = Duration.seconds(3600)
    /// The ended attempts not reported yet.
    private var ended: [(ticket: Int, report: AttemptReport)] = []
    /// The longest time between two calls of libcurl while it connects, or has an answer and more to send. Only a call
    /// lets it try a host's next address or notice a closed stream, and it does not always ask for a call.
    private static let asking = Duration.milliseconds(100)

    package init(concurrency: Int, report: @escaping TransportReport) throws(UnavailableTransport) {
        if let defect = Libcurl.defect { throw UnavailableTransport(reason: defect) }
        guard let pointer = ccurl_multi_init() else {
            throw UnavailableTransport(reason: "libcurl has no memory to begin with")
        }
        // By default libcurl keeps four times as many connections as there are transfers, and at the end none.
        ccurl_multi_set_number(pointer, CURLMOPT_MAXCONNECTS, max(1, concurrency) + 8)
        multi = pointer
        connections = CurlConnections(concurrency: concurrency, sockets: sockets)
        handles = CurlHandles(concurrency: concurrency)
        self.report = report
    }

    /// Starts an attempt. Sends nothing before `proceed`.
    package func start(_ request: OutgoingRequest, ticket: Int) {
        var request = fileNames.named(request)
        let origin = connections.origin(of: request)
        if connections.lookForStray(of: origin) { request.freshConnection = true }
        request.needsHTTP1 = connections.needsHTTP1(request, to: origin)
        do throws(CurlRefusal) {
            let transfer = try CurlTransfer(request, to: origin, ticket: ticket, sockets: sockets, handles: &handles)
            if Libcurl.hasConnectionHooks {
                if let taken = connections.take(for: request, to: origin) {
                    transfer.cache = taken.cache
                    transfer.likelySocket = taken.socket
                } else if connections.mayShare(request, to: origin) {
                    transfer.mayShare = true
                    connections.noteShared(transfer.length, of: origin)
                }
            }
            transfers[ticket] = transfer
            if !waitBehindScout(transfer) { add(transfer) }
        } catch {
            report([(ticket, AttemptReport(result: error.result, duration: .zero))])
        }
    }

    /// Lets a transfer wait for the connection that another one opens, if it may share it. Returns whether it waits.
    private func waitBehindScout(_ transfer: CurlTransfer) -> Bool {
        guard transfer.mayShare else { return false }
        return scouts.queueBehindScout(transfer, isUnknown: !connections.isMultiplexed(transfer.origin))
    }

    /// Gives libcurl the transfers that have waited long enough.
    private func addReady() {
        for transfer in connecting where transfer.mayShare && !transfer.hasBegun {
            if isUnderWay(transfer), connections.mayBeMultiplexed(transfer.origin) { scouts.note(transfer) }
        }
        for (transfer, waited) in scouts.dequeueReady(isUnderWay) {
            transfer.subtractWait(waited)
            add(transfer)
        }
    }

    /// Whether a transfer has not ended.
    private func isUnderWay(_ transfer: CurlTransfer) -> Bool { transfers[transfer.ticket] === transfer }

    private func add(_ transfer: CurlTransfer) {
        transfer.isGiven = true
        haveBegun = true
        connecting.append(transfer)
        let code = ccurl_multi_add(multi, transfer.handle)
        if code == 0 { return }
        end(transfer.ticket, .failure(.shortage, detail: "libcurl takes no transfer (\(code))"))
    }

    /// Takes what has come for the attempts, then ends an attempt and reports its answer or, without an answer, its
    /// cancellation; does nothing if already reported.
    package func cancel(ticket: Int) {
        proceed()
        end(ticket, transfers[ticket]?.resultSoFar ?? .failure(.cancelled, detail: ""))
        tell()
    }

    /// Continues the started attempts until `descriptor` is readable. Reports ended attempts before each wait.
    package func proceed(until descriptor: Int32) {
        var patience = Duration.zero
        repeat {
            proceed()
            addReady()
            patience = endIdle()
            tell()
        } while !wait(for: descriptor, atMost: patience)
    }

    /// Waits for libcurl or for `descriptor`. Returns whether the descriptor is readable. A standstill of the process
    /// counts for no transfer.
    private func wait(for descriptor: Int32, atMost patience: Duration) -> Bool {
        let start = ContinuousClock.now
        let isReadable = ccurl_multi_poll(multi, descriptor, patience.pollMilliseconds)
        let still = Standstill.duration(of: start.duration(to: .now), planned: patience)
        if still > .zero { for transfer in transfers.values { transfer.addStandstill(still) } }
        return isReadable
    }

    /// Continues the started attempts without a wait.
    private func proceed() {
        var running: Int32 = 0
        sockets.performCount += 1
        let wasEndless = perform(&running)
        var code: Int32 = 0
        while let handle = ccurl_multi_next_ended(multi, &code) {
            let transfer = CurlTransfer.of(handle)
            if wasEndless, code != 0 { transfer.noteEndless() }
            if transfer.hasMetStray { connections.noteStray(of: transfer.origin) }
            if transfer.lacksHTTP1(code) { connections.noteLackOfHTTP1(of: transfer.origin) }
            if transfer.restart(after: code) {
                ccurl_multi_remove(multi, handle)
                add(transfer)
            } else {
                // Some servers close each a few milliseconds after an answer. Without TLS a new one is cheap.
                if transfer.origin.isPlain, transfer.hasLostKeptConnection(code) {
                    connections.noteStray(of: transfer.origin)
                }
                end(transfer.ticket, transfer.result(code), isRegular: code == 0)
            }
        }
    }

    /// Lets libcurl continue the transfers. Returns whether a server sent without end.
    private func perform(_ running: inout Int32) -> Bool {
        if sockets.havePaused {
            sockets.havePaused = false
            for transfer in transfers.values { transfer.resume() }
        }
        if !haveBegun { return ccurl_multi_perform(multi, &running) }
        haveBegun = false
        return sockets.sendTogether { ccurl_multi_perform(multi, &running) }
    }

    private func tell() {
        // A report may start the next hop of a redirect, and the hop may end at once.
        while !ended.isEmpty {
            let news = ended
            ended = []
            report(news)
        }
    }

    /// Ends an attempt. `isRegular`: libcurl ended the transfer, without an error.
    private func end(_ ticket: Int, _ result: AttemptReport.Result, isRegular: Bool = false) {
        guard let transfer = transfers.removeValue(forKey: ticket) else { return }
        ccurl_multi_remove(multi, transfer.handle)
        connections.noteVersion(of: transfer)
        if transfer.mayShare { connections.noteShared(-transfer.length, of: transfer.origin) }
        if let cache = transfer.cache {
            transfer.socket.map(sockets.acknowledge)
            transfer.cache = nil
            connections.giveBack(cache, of: transfer)
        }
        if isRegular, let handle = transfer.leaveHandle() { handles.giveBack(handle) }
        ended.append((ticket, transfer.report(result)))
    }

    /// Ends the attempts idle for too long. Returns the time until the next attempt may be.
    private func endIdle() -> Duration {
        let now = ContinuousClock.now
        connecting.removeAll { transfer in
            guard isUnderWay(transfer) else { return true }
            guard let patience = transfer.patience else { return false }
            nextIdle = min(nextIdle, patience)
            return true
        }
        var next = connecting.isEmpty ? Self.longestWait : Self.asking
        for transfer in transfers.values where transfer.hasEarlyAnswer {
            next = Self.asking
            sockets.havePaused = true
        }
        if nextIdle <= now { endIdle(at: now) }
        return min(next, now.duration(to: nextIdle))
    }

    /// Looks at all connected transfers, and ends those that have been idle for too long.
    private func endIdle(at now: ContinuousClock.Instant) {
        nextIdle = now + Self.longestWait
        for (ticket, transfer) in transfers {
            guard let patience = transfer.patience else { continue }
            if patience <= now {
                let limit = transfer.request.timeouts.request.inSeconds
                let silence = "nothing was sent or received for \(limit) s"
                end(ticket, transfer.resultSoFar ?? .failure(.timeout, detail: silence))
            } else {
                nextIdle = min(nextIdle, patience)
            }
        }
    }
}
