/// The number of attempts that one run may have in flight to one destination if `--concurrency` is `auto`. The number
/// grows as long as the server answers without taking longer for each.
///
/// A round is as many deliveries as the limit allows attempts, of attempts begun in the round. After each round:
/// - If the attempts took about as long as at a lower limit, and as many were in flight as the limit allows, the limit
///   grows: by half of itself until a round or a refusal has spoken against growth (slow start), then by one.
/// - If they took more than `slower` times as long, requests wait for each other at the server: the limit stays. If
///   they took more than `tooSlow` times as long, the limit falls by a quarter, but not below `initial`.
///
/// A refusal for lack of room (429, 503, Retry-After, a time-out) halves the limit at once, down to one; once for all
/// attempts that began before the server could have felt the lower limit. The destination's state remembers explicit
/// refusals as its `Overload`: the limit stays below the overload until it is time to try again.
///
/// Rounds are compared by the lower quartile of their durations: a few slow requests and new connections are not a sign
/// of a queue. Additive increase and multiplicative decrease share a server fairly between clients that do not know
/// each other (Chiu and Jain 1989); runs at one queue know their number, and divide the server's capacity.
package struct AdaptiveConcurrency: Hashable, Sendable {
    /// The state of the limit when an attempt began.
    package struct Start: Hashable, Sendable {
        fileprivate let number: Int
        fileprivate let round: Int
        /// The number of attempts in flight, including this attempt.
        fileprivate let inFlight: Int
    }

    private struct Refusal: Hashable, Sendable {
        var limit = 0
        var next = 0
    }

    /// The limit at the beginning. Slow answers do not lower the limit further.
    package static let initial = 5
    /// The highest limit of all runs at a queue together.
    package static let highest = 64
    /// Above this number of whole quarters of the usual duration the limit stops growing: from 1.75 times on.
    private static let slower = 6
    /// Above this number of quarters the limit falls: from 2.25 times on.
    private static let tooSlow = 8

    /// The number of attempts that may be in flight.
    package private(set) var limit: Int
    /// The number of runs that share the destination.
    private var runs = 1
    /// Whether a round has ended since the number of runs changed. Until then, other runs may exceed their share.
    private var hasShared = false
    /// The number of attempts begun, and the number of the last attempt whose delivery was noted.
    private var begun = 0
    private var counted = 0
    private var round = 0
    /// The limit at the last refusal, and the first round after the refusal.
    private var lastRefusal = Refusal()
    private var isStarting = true
    /// Whether as many attempts were in flight in this round as the limit allows.
    private var wasReached = false
    /// The durations of the deliveries of this round.
    private var durations: [Duration] = []
    /// The lower quartile of the fastest round since the last round at the initial limit.
    private var baseline: Duration?

    /// Creates the limit of one of `runs` runs that share a destination with this known `overload`.
    package init(runs: Int = 1, overload: Overload? = nil, at now: Timestamp) {
        self.runs = max(1, runs)
        limit = Self.initial
        keep(below: overload, at: now)
    }

    /// Notes the beginning of an attempt. `inFlight` attempts are then in flight.
    package mutating func begin(inFlight: Int) -> Start {
        begun += 1
        if inFlight >= limit { wasReached = true }
        return Start(number: begun, round: round, inFlight: inFlight)
    }

    /// Notes a delivery; of the operations of one attempt, only the first counts. Returns an overload that is over
    /// because the server sustained as many attempts; `nil` otherwise.
    package mutating func delivered(
        _ start: Start, after duration: Duration, overload: Overload?, at now: Timestamp
    ) -> Overload? {
        guard start.round == round, start.number != counted else { return nil }
        counted = start.number
        durations.append(duration)
        guard durations.count >= max(limit, Self.initial) else { return nil }
        let sustained = overload.flatMap { wasReached && limit * runs >= $0.inFlight ? $0 : nil }
        adapt()
        keep(below: sustained == nil ? overload : nil, at: now)
        return sustained
    }

    /// Notes a refusal for lack of room. Returns the number of attempts of all runs that were too many; `nil` if
    /// unknown because the other runs may not have made room yet for this run.
    package mutating func noteRefusal(of start: Start) -> Int? {
        if start.round >= lastRefusal.next {
            isStarting = false
            lastRefusal.limit = limit
            limit = max(1, limit / 2)
            beginRound()
            lastRefusal.next = round
        }
        guard runs == 1 || hasShared else { return nil }
        // One refusal does not prove that half as many are too many.
        return max(start.inFlight, lastRefusal.limit / 2 + 1) * runs
    }

    /// Divides the server's capacity again if the number of runs has changed.
    package mutating func share(with runs: Int, overload: Overload?, at now: Timestamp) {
        let runs = max(1, runs)
        guard runs != self.runs else { return }
        if runs > self.runs {
            limit = max(min(limit, Self.initial), limit * self.runs / runs)
        } else {
            isStarting = isStarting || overload == nil
        }
        self.runs = runs
        hasShared = false
        beginRound()
        keep(below: overload, at: now)
    }

    /// Keeps the limit below a known overload, and within this run's share of `highest`.
    package mutating func keep(below overload: Overload?, at now: Timestamp) {
        limit = min(limit, max(Self.initial, Self.highest / runs))
        if let overload { limit = max(1, min(limit, overload.sustainable(at: now) / runs)) }
    }

    private mutating func adapt() {
        hasShared = true
        let usual = durations.sorted()[durations.count / 4]
        // Does not compare at the initial limit: a server that has become slower altogether is not crowded.
        if limit <= Self.initial || baseline.map({ usual < $0 }) ?? true { baseline = usual }
        let times = baseline.map { $0 > .zero ? Int(usual * 4 / $0) : 4 } ?? 4
        if times > Self.tooSlow {
            isStarting = false
            limit = max(min(limit, Self.initial), limit - limit / 4)
        } else if times > Self.slower {
            isStarting = false
        } else if wasReached {
            limit = isStarting ? limit + max(1, limit / 2) : limit + 1
        }
        beginRound()
    }

    private mutating func beginRound() {
        round += 1
        wasReached = false
        durations = []
    }
}
