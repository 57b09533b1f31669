import Policy

/// Transfers that wait while another one to the same origin makes a connection, which over HTTP/2 serves all of them.
///
/// libcurl could be told to wait (CURLOPT_PIPEWAIT). It does not count that time, so that transfers to an address that is
/// silent would fail one after the other, each after the whole time for a connection.
struct CurlScouts {
    /// The transfers that make connections, by origin.
    private var scouts: [String: CurlTransfer] = [:]
    private var waiting: [(transfer: CurlTransfer, since: ContinuousClock.Instant)] = []
    /// Upper bound on the time that a transfer waits: what takes longer is probably no connection.
    private static let longest = Duration.milliseconds(250)

    /// Whether a transfer that may share a connection has to wait. Else it is the one that others wait for, where
    /// `isUnknown`: no request to the origin has an answer.
    mutating func holds(_ transfer: CurlTransfer, isUnknown: Bool) -> Bool {
        let origin = transfer.request.url.origin
        if scouts[origin] == nil {
            if isUnknown { scouts[origin] = transfer }
            return false
        }
        waiting.append((transfer, .now))
        return true
    }

    /// Notes that a transfer is making a connection. The next ones to its origin wait for it.
    mutating func note(_ transfer: CurlTransfer) {
        let origin = transfer.request.url.origin
        if scouts[origin] == nil { scouts[origin] = transfer }
    }

    /// Takes out the transfers that do not wait any more, with the time that they waited: their scout has its connection, or
    /// has ended, or takes too long. `isUnderWay`: whether a transfer has not ended.
    mutating func release(_ isUnderWay: (CurlTransfer) -> Bool) -> [(transfer: CurlTransfer, waited: Duration)] {
        if scouts.isEmpty { return [] }
        scouts = scouts.filter { !$0.value.hasBegun && isUnderWay($0.value) }
        if waiting.isEmpty { return [] }
        var released: [(CurlTransfer, Duration)] = []
        let now = ContinuousClock.now
        waiting.removeAll { transfer, since in
            let waited = since.duration(to: now)
            let isOver = scouts[transfer.request.url.origin] == nil || waited >= Self.longest
            if isOver, isUnderWay(transfer) { released.append((transfer, waited)) }
            return isOver || !isUnderWay(transfer)
        }
        return released
    }
}
