/// The transfers waiting for a connection of another transfer, their scout. Over HTTP/2 the connection serves all of
/// them.
///
/// libcurl's own wait (CURLOPT_PIPEWAIT) does not count towards the connect time-out: transfers to a silent address
/// would fail one after the other, each after the full time-out.
struct CurlScouts {
    /// The scouts, by origin.
    private var scouts: [ObjectIdentifier: CurlTransfer] = [:]
    private var waiting: [(transfer: CurlTransfer, since: ContinuousClock.Instant)] = []
    /// Upper bound on a transfer's wait: a scout that takes longer probably gets no connection.
    private static let longest = Duration.milliseconds(250)

    /// Queues a transfer that may share a connection, and returns `true`, if another transfer to its origin (the
    /// scout) is connecting. Otherwise returns `false`, and makes it the scout if `isUnknown`: no answer has shown that
    /// the origin speaks HTTP/2.
    mutating func queueBehindScout(_ transfer: CurlTransfer, isUnknown: Bool) -> Bool {
        let origin = ObjectIdentifier(transfer.origin)
        if scouts[origin] == nil {
            if isUnknown { scouts[origin] = transfer }
            return false
        }
        waiting.append((transfer, .now))
        return true
    }

    /// Notes that a transfer is making a connection. Later transfers to its origin wait for the connection.
    mutating func note(_ transfer: CurlTransfer) {
        let origin = ObjectIdentifier(transfer.origin)
        if scouts[origin] == nil { scouts[origin] = transfer }
    }

    /// Removes and returns the transfers that need not wait any more, with their waiting times: their scout has its
    /// connection, has ended, or takes too long. `isUnderWay`: whether a transfer has not ended.
    mutating func dequeueReady(_ isUnderWay: (CurlTransfer) -> Bool) -> [(transfer: CurlTransfer, waited: Duration)] {
        if scouts.isEmpty { return [] }
        scouts = scouts.filter { !$0.value.hasBegun && isUnderWay($0.value) }
        if waiting.isEmpty { return [] }
        var ready: [(CurlTransfer, Duration)] = []
        let now = ContinuousClock.now
        waiting.removeAll { transfer, since in
            let waited = since.duration(to: now)
            let isOver = scouts[ObjectIdentifier(transfer.origin)] == nil || waited >= Self.longest
            if isOver, isUnderWay(transfer) { ready.append((transfer, waited)) }
            return isOver || !isUnderWay(transfer)
        }
        return ready
    }
}
